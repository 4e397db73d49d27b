package registry

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
)

var (
	codeForm  = regexp.MustCompile(`^[A-Z_]{1,40}$`)
	paramForm = regexp.MustCompile(`([a-zA-Z]+)="([^"]*)"`)
)

// login is the name and password for a registry; zero means none.
type login struct{ name, password string }

func (l login) basic() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(l.name+":"+l.password))
}

// dockerHubKey is the name of Docker Hub in Docker's own files.
const dockerHubKey = "https://index.docker.io/v1/"

// credentials returns the login for a registry. Errors never quote the file.
func (c *Client) credentials(host string) (login, error) {
	if c.opts.Credentials == "" {
		return login{}, nil
	}
	raw, err := os.ReadFile(c.opts.Credentials)
	if err != nil {
		return login{}, &vague{"this server's credentials for registries cannot be read", err}
	}
	var file struct {
		Auths map[string]struct {
			Auth     string `json:"auth"`
			Username string `json:"username"`
			Password string `json:"password"`
		} `json:"auths"`
	}
	if json.Unmarshal(raw, &file) != nil {
		return login{}, &vague{"this server's credentials for registries cannot be read", fmt.Errorf("%s is not JSON in the form of Docker's config.json", c.opts.Credentials)}
	}
	keys := []string{host, "https://" + host}
	if host == dockerHub {
		keys = append(keys, dockerHubKey)
	}
	for _, key := range keys {
		entry, ok := file.Auths[key]
		if !ok {
			continue
		}
		if entry.Auth == "" {
			return login{entry.Username, entry.Password}, nil
		}
		plain, err := base64.StdEncoding.DecodeString(entry.Auth)
		name, password, ok := strings.Cut(string(plain), ":")
		if err != nil || !ok {
			return login{}, &vague{"this server's credentials for registry " + host + " cannot be read", fmt.Errorf("in %s they are not base64 of NAME:PASSWORD", c.opts.Credentials)}
		}
		return login{name, password}, nil
	}
	return login{}, nil
}

// authorize returns the Authorization that a registry's challenges demand.
func (a *asker) authorize(ctx context.Context, challenges []string) (string, error) {
	password := false
	for _, challenge := range challenges {
		scheme, rest, _ := strings.Cut(challenge, " ")
		switch strings.ToLower(scheme) {
		case "basic":
			if a.mine != (login{}) {
				return a.mine.basic(), nil
			}
			password = true
		case "bearer":
			params := map[string]string{}
			for _, p := range paramForm.FindAllStringSubmatch(rest, 8) {
				params[strings.ToLower(p[1])] = p[2]
			}
			return a.token(ctx, params["realm"], params["service"])
		}
	}
	if password {
		return "", refuse("registry %s demands a password, and this server has no credentials for it", a.ref.Host)
	}
	return "", refuse("registry %s demands a way to authenticate that Muster does not know", a.ref.Host)
}

// token gets a token for reading the image from the token server that the registry names.
func (a *asker) token(ctx context.Context, realm, service string) (string, error) {
	at, err := a.tokenServer(realm)
	if err != nil {
		return "", err
	}
	query := at.Query()
	query.Set("scope", "repository:"+a.ref.Repository+":pull")
	if service != "" {
		query.Set("service", service)
	}
	at.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return "", refuse("registry %s names a token server that is no URL", a.ref.Host)
	}
	authorization := ""
	// Anybody on the way may have named another host if the registry is reached in plain.
	if a.mine != (login{}) && (a.client.scheme(a.ref.Host) == "https" || at.Hostname() == hostname(a.ref.Host)) {
		authorization = a.mine.basic()
	}
	resp, err := a.send(req, authorization)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", a.answered(resp)
	}
	return a.readToken(resp)
}

// tokenServer parses the URL of a token server. It must be reached over TLS, unless it is
// the registry itself.
func (a *asker) tokenServer(realm string) (*url.URL, error) {
	at, err := url.Parse(realm)
	if err != nil || at.Host == "" || at.User != nil ||
		at.Scheme != "https" && (at.Scheme != "http" || a.client.scheme(a.ref.Host) != "http" || at.Hostname() != hostname(a.ref.Host)) {
		return nil, refuse("registry %s names a token server that is not https", a.ref.Host)
	}
	return at, nil
}

// readToken returns the Authorization that a token server's answer contains.
func (a *asker) readToken(resp *http.Response) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", unreachable(resp.Request.URL.Host, err)
	}
	var answer struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
	}
	if json.Unmarshal(raw, &answer) != nil || answer.Token+answer.Access == "" {
		return "", refuse("registry %s: its token server gave no token", a.ref.Host)
	}
	return "Bearer " + cmp.Or(answer.Token, answer.Access), nil
}

func hostname(hostPort string) string {
	name, _, _ := strings.Cut(hostPort, ":")
	return name
}
