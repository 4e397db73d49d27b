package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/contexts"
)

// Defaults of clientFlags.
const (
	usualEndpoint = "http://127.0.0.1:9080"
	usualRegion   = "us-east-1"
)

// clientFlags say which server to use, and with which key.
type clientFlags struct {
	Context     string `group:"server" placeholder:"NAME" help:"Server and key that 'muster login' keeps under this name (the current one, which 'muster context' shows)."`
	Endpoint    string `short:"e" aliases:"endpoint-url" group:"server" placeholder:"URL" help:"Base URL of the server (the context's, or http://127.0.0.1:9080)."`
	Region      string `group:"server" help:"Region to sign for (the context's, or us-east-1)."`
	Credentials string `group:"server" placeholder:"FILE" type:"existingfile" help:"File with an access key, such as admin-credentials in the server's data directory (the context's key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)."`
	Profile     string `group:"server" env:"AWS_PROFILE" placeholder:"NAME" help:"Profile of AWS's configuration files that has the key, and may have region and endpoint_url."`
	CA          string `name:"ca" group:"server" placeholder:"FILE" type:"existingfile" help:"PEM certificates to trust besides the system's (the context's)."`

	typed map[string]bool `kong:"-"` // the flags that are on the command line
}

// AfterApply is called by kong before Run.
func (f *clientFlags) AfterApply(k *kong.Context) error {
	f.typed = map[string]bool{}
	for _, p := range k.Path {
		if p.Flag != nil {
			f.typed[p.Flag.Name] = true
		}
	}
	return nil
}

// target is a server and how it is used; the first place that says something wins.
type target struct {
	contexts.Context
	token string // session token of the key; "" for keys that last
	whole bool   // nothing more is taken
}

// take takes what is not known so far.
func (t *target) take(from target) {
	if t.whole {
		return
	}
	t.Endpoint, t.Region, t.CA = cmp.Or(t.Endpoint, from.Endpoint), cmp.Or(t.Region, from.Region), cmp.Or(t.CA, from.CA)
	if t.AccessKeyID == "" {
		t.AccessKeyID, t.Secret, t.token = from.AccessKeyID, from.Secret, from.token
	}
	t.whole = from.whole
}

// target returns the server, by the order that docs/command-line.md describes.
func (f *clientFlags) target() (*target, error) {
	all, err := contexts.Read()
	if err != nil {
		return nil, err
	}
	t := &target{}
	if err := f.named(t, all, true); err != nil {
		return nil, err
	}
	if err := f.named(t, all, false); err != nil {
		return nil, err
	}
	t.take(target{Context: contexts.Context{Endpoint: os.Getenv("AWS_ENDPOINT_URL_GAMELIFT")}})
	if c, ok := all.Contexts[all.Current]; ok && (t.Endpoint == "" || same(t.Endpoint, c.Endpoint)) {
		t.take(target{Context: c, whole: true})
	}
	t.take(target{
		Context: contexts.Context{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY")},
		token:   os.Getenv("AWS_SESSION_TOKEN"),
	})
	if f.Profile != "" && !f.typed["profile"] {
		// AWS_PROFILE is often there for AWS alone: without a key of its own, or with AWS's region.
		if p, _ := readProfile(f.Profile); p != nil {
			if p.Endpoint == "" {
				p.Region = ""
			}
			t.take(*p)
		}
	}
	// AWS_CA_BUNDLE, too, is often there for AWS alone.
	if pem, err := os.ReadFile(os.Getenv("AWS_CA_BUNDLE")); err == nil && x509.NewCertPool().AppendCertsFromPEM(pem) {
		t.take(target{Context: contexts.Context{CA: string(pem)}})
	}
	t.take(target{Context: contexts.Context{Endpoint: usualEndpoint, Region: usualRegion}})
	t.Region = cmp.Or(t.Region, usualRegion)
	t.Endpoint = cmp.Or(t.Endpoint, usualEndpoint)
	return t, nil
}

// named takes what the command line says, or what variables do.
func (f *clientFlags) named(t *target, all *contexts.File, typed bool) error {
	said := func(name, value string) string {
		if f.typed[name] == typed {
			return value
		}
		return ""
	}
	own := target{Context: contexts.Context{Endpoint: said("endpoint", f.Endpoint), Region: said("region", f.Region)}}
	if file := said("credentials", f.Credentials); file != "" {
		k, err := readCredentials(file)
		if err != nil {
			return err
		}
		own.AccessKeyID, own.Secret, own.token = k.AccessKeyID, k.SecretAccessKey, k.SessionToken
	}
	if file := said("ca", f.CA); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read certificates: %w", err)
		}
		own.CA = string(pem)
	}
	t.take(own)
	if name := said("context", f.Context); name != "" {
		c, err := all.Named(name)
		if err != nil {
			return err
		}
		t.take(target{Context: c, whole: true})
	}
	if typed && f.typed["profile"] {
		p, err := readProfile(f.Profile)
		if err != nil {
			return err
		}
		t.take(*p)
	}
	return nil
}

// same reports whether two base URLs are of the same server.
func same(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/"))
}

// readProfile reads a profile of AWS's configuration files. A profile with a key is returned even
// if something else of it cannot be read.
func readProfile(name string) (*target, error) {
	env, err := awsconfig.NewEnvConfig()
	if err != nil {
		return nil, fmt.Errorf("read AWS's variables: %w", err)
	}
	p, err := awsconfig.LoadSharedConfigProfile(context.Background(), name, func(o *awsconfig.LoadSharedConfigOptions) {
		if env.SharedConfigFile != "" {
			o.ConfigFiles = []string{env.SharedConfigFile}
		}
		if env.SharedCredentialsFile != "" {
			o.CredentialsFiles = []string{env.SharedCredentialsFile}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the profile %s of AWS's configuration files: %w", name, err)
	}
	if !p.Credentials.HasKeys() {
		return nil, fmt.Errorf("the profile %s of AWS's configuration files has no aws_access_key_id and aws_secret_access_key, which a Muster server needs", name)
	}
	var pem []byte
	var unread error
	if p.CustomCABundle != "" {
		if pem, unread = os.ReadFile(p.CustomCABundle); unread != nil {
			unread = fmt.Errorf("read the ca_bundle of the profile %s: %w", name, unread)
		}
	}
	endpoint, ok, err := p.GetServiceBaseEndpoint(context.Background(), "GameLift")
	if err == nil && !ok {
		endpoint = p.BaseEndpoint
	}
	return &target{
		Context: contexts.Context{Endpoint: endpoint, Region: p.Region, CA: string(pem), AccessKeyID: p.Credentials.AccessKeyID, Secret: p.Credentials.SecretAccessKey},
		token:   p.Credentials.SessionToken,
	}, errors.Join(err, unread)
}

// ProvideClient is called by kong for commands whose Run takes a client.
func (f *clientFlags) ProvideClient() (*client.Client, error) {
	t, err := f.target()
	if err != nil {
		return nil, err
	}
	return t.client()
}

// client returns a client of the server.
func (t *target) client() (*client.Client, error) {
	c := &client.Client{Endpoint: t.Endpoint, Region: t.Region, Credentials: client.Credentials{
		AccessKeyID: t.AccessKeyID, SecretAccessKey: t.Secret, SessionToken: t.token,
	}}
	if t.CA != "" {
		config, err := trusting([]byte(t.CA))
		if err != nil {
			return nil, err
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = config
		c.HTTP = &http.Client{Transport: transport}
	}
	return c, nil
}

// trusting returns the configuration for trusting certificates besides the system's.
func trusting(pem []byte) (*tls.Config, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("read certificates: what --ca, the context or ca_bundle of the profile names has none; they are PEM, with -----BEGIN CERTIFICATE-----")
	}
	return &tls.Config{RootCAs: pool}, nil
}

// readCredentials reads a file in the form of AWS's tools, of which it uses the first profile,
// or with the lines that 'muster admin keys create' prints.
func readCredentials(file string) (client.Credentials, error) {
	f, err := os.Open(file)
	if err != nil {
		return client.Credentials{}, fmt.Errorf("read credentials: %w", err)
	}
	defer f.Close()
	return parseCredentials(f, file)
}

func parseCredentials(from io.Reader, name string) (client.Credentials, error) {
	values := map[string]string{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "=")
		if name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "export "))); ok && values[name] == "" {
			values[name] = strings.TrimSpace(value)
		}
	}
	c := client.Credentials{
		AccessKeyID: values["aws_access_key_id"], SecretAccessKey: values["aws_secret_access_key"], SessionToken: values["aws_session_token"],
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("read credentials: %w", err)
	}
	if c.AccessKeyID == "" || c.SecretAccessKey == "" {
		return c, fmt.Errorf("read credentials: %s has no aws_access_key_id and aws_secret_access_key", name)
	}
	return c, nil
}
