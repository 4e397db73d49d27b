package remote

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/placement"
)

// Config says which fleets and aliases a remote has, and how it is reached.
type Config struct {
	// Name is its name in explanations and metrics: 1 to 64 of a-z A-Z 0-9 _ -.
	Name string `yaml:"name"`
	// Region and Account are those of its ARNs. An alias's ARN has a region only.
	Region  string `yaml:"region"`
	Account string `yaml:"account"`
	// Endpoint is the base URL of a Muster; "" means AWS's endpoint of the region.
	Endpoint string `yaml:"endpoint"`
	// AccessKeyID and the first line of SecretFile sign requests. The file is read again
	// every few minutes. Without both, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
	// AWS_SESSION_TOKEN do.
	AccessKeyID string `yaml:"access_key_id"`
	SecretFile  string `yaml:"secret_file"`
	// CA is a file with certificates, in PEM, that are trusted in addition to the system's:
	// of a private authority, or the self-signed one of a Muster. It is read by Check, and
	// again when a certificate is not trusted.
	CA string `yaml:"ca"`
	// PricePerHour is what COST compares, in place of the cost of the fleet, which only
	// Anywhere fleets have.
	PricePerHour float64 `yaml:"price_per_hour"`
	// SendMatchmakerData sends the matchmaker data of matches as GameSessionData, where that is
	// empty: CreateGameSession has no member for it.
	SendMatchmakerData bool `yaml:"send_matchmaker_data"`
	// Timeout limits each request; default 5 s.
	Timeout time.Duration `yaml:"timeout"`
	// Poll is how often capacity is asked for while placements wait; otherwise it is asked
	// for six times less often. Default 5 s, at least 1 s.
	Poll time.Duration `yaml:"poll"`
	// RequestsPerSecond limits all requests to the remote; default 50.
	RequestsPerSecond float64 `yaml:"requests_per_second"`

	roots *x509.CertPool // the system's and those of CA; nil: the system's
}

// Within makes relative paths of files paths in a folder: that of the configuration's file.
func Within(folder string, all []Config) {
	for i := range all {
		for _, path := range []*string{&all[i].SecretFile, &all[i].CA} {
			if *path != "" && !filepath.IsAbs(*path) {
				*path = filepath.Join(folder, *path)
			}
		}
	}
}

// Bounds of what a configuration may say. No price of an hour or rate of requests that is meant
// is above them.
const (
	maxPrice        = 1e6
	maxRequests     = 1e5
	maxTimeout      = 5 * time.Minute
	maxPoll         = time.Hour
	defaultRequests = 50
)

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Check sets the defaults in place, and returns an error that names an invalid setting.
// home is the deployment that the remotes are remote from.
func Check(all []Config, home arn.Home) error {
	for i := range all {
		c := &all[i]
		if slices.ContainsFunc(all[:i], func(o Config) bool { return o.Name == c.Name }) {
			return fmt.Errorf("remotes: two are named %q", c.Name)
		}
		if slices.ContainsFunc(all[:i], func(o Config) bool { return o.Region == c.Region && o.Account == c.Account }) {
			return fmt.Errorf("remotes: %s: another one has region %s and account %s too", c.Name, c.Region, c.Account)
		}
		if err := c.check(home); err != nil {
			return fmt.Errorf("remotes: %q: %w", c.Name, err)
		}
	}
	return nil
}

func (c *Config) check(home arn.Home) error {
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Poll = cmp.Or(c.Poll, 5*time.Second)
	c.RequestsPerSecond = cmp.Or(c.RequestsPerSecond, defaultRequests)
	switch {
	case !nameForm.MatchString(c.Name):
		return errors.New("name: required, 1 to 64 of a-z A-Z 0-9 _ -")
	case !arn.ValidRegion(c.Region):
		return fmt.Errorf("region: %q does not look like us-east-1", c.Region)
	case !arn.ValidAccount(c.Account):
		return fmt.Errorf("account: %q does not have 12 digits", c.Account)
	case c.Region == home.Region && c.Account == home.Account:
		return fmt.Errorf("region and account: %s and %s are this server's own, so ARNs would not tell which fleets are whose; start one of the two with another --region or --account", c.Region, c.Account)
	case (c.AccessKeyID == "") != (c.SecretFile == ""):
		return errors.New("access_key_id and secret_file: give both or none")
	case !(c.PricePerHour >= 0 && c.PricePerHour <= maxPrice): // not a number, too
		return fmt.Errorf("price_per_hour: %v is not a price from 0 to %g; leave it out for the cost of the fleet", c.PricePerHour, maxPrice)
	case c.Timeout < 0 || c.Timeout > maxTimeout:
		return fmt.Errorf("timeout: %v is not above 0 and at most %v; leave it out for 5s", c.Timeout, maxTimeout)
	case c.Poll < time.Second || c.Poll > maxPoll:
		return fmt.Errorf("poll: %v is not from 1s to %v; leave it out for 5s", c.Poll, maxPoll)
	case !(c.RequestsPerSecond > 0 && c.RequestsPerSecond <= maxRequests):
		return fmt.Errorf("requests_per_second: %v is not above 0 and at most %g; leave it out for %d", c.RequestsPerSecond, maxRequests, defaultRequests)
	}
	if _, err := c.credentials(); err != nil {
		return err
	}
	if err := c.checkEndpoint(); err != nil {
		return err
	}
	roots, err := c.readCA()
	c.roots = roots
	return err
}

func (c *Config) checkEndpoint() error {
	if c.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return errors.New("endpoint: not an http:// or https:// URL without path, query and user")
	}
	return nil
}

// readCA returns the certificates to trust, nil for those of the system.
func (c *Config) readCA() (*x509.CertPool, error) {
	if c.CA == "" {
		return nil, nil
	}
	if strings.HasPrefix(c.Endpoint, "http://") {
		return nil, fmt.Errorf("ca: %s is not https://, so it shows no certificate; correct endpoint, or leave ca out", c.Endpoint)
	}
	text, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("ca: %s has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----", c.CA)
	}
	return roots, nil
}

// credentials returns the credentials now.
func (c *Config) credentials() (aws.Credentials, error) {
	if c.AccessKeyID == "" {
		k := aws.Credentials{
			AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
			Source: "environment",
		}
		if !k.HasKeys() {
			return k, errors.New("access_key_id and secret_file: give both, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
		}
		return k, nil
	}
	text, err := os.ReadFile(c.SecretFile)
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("secret_file: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	secret := strings.TrimSuffix(line, "\r")
	if secret == "" {
		return aws.Credentials{}, fmt.Errorf("secret_file: the first line of %s is empty", c.SecretFile)
	}
	return aws.Credentials{
		AccessKeyID: c.AccessKeyID, SecretAccessKey: secret, Source: "file", CanExpire: true, Expires: time.Now().Add(rereadSecret),
	}, nil
}

// rereadSecret is how often a file with a secret is read again.
const rereadSecret = 5 * time.Minute

// Retrieve implements aws.CredentialsProvider.
func (c *Config) Retrieve(context.Context) (aws.Credentials, error) { return c.credentials() }

// Open returns the remotes of configurations that Check has checked. It sends nothing.
func Open(all []Config, log *slog.Logger) placement.Remotes {
	var remotes placement.Remotes
	for _, c := range all {
		remotes = append(remotes, open(c, log))
	}
	return remotes
}
