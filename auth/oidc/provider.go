package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/outgoing"
)

const (
	callTimeout = 10 * time.Second // of one login's requests to the provider
	maxAnswer   = 1 << 20          // bytes of one of its answers
	maxCalls    = 32               // logins that ask it at the same time
	foundLasts  = time.Hour        // how long its description and keys are used
	retryEvery  = time.Second      // at most, while it does not answer
)

// Options say what a Provider needs of its server.
type Options struct {
	// Sealer seals what the browser keeps while somebody logs in.
	Sealer *auth.Master
	// Redirect returns the URL to which the provider sends people back.
	Redirect func() string
	Logger   *slog.Logger
}

// Provider is a configured provider. It is asked for the first time when somebody logs in,
// so it may be down when the server starts.
type Provider struct {
	config Config
	opts   Options
	rules  *rules
	client *http.Client
	calls  chan struct{} // holds a token for each login that asks the provider

	secret atomic.Pointer[string] // with which the provider knows this server

	mu    sync.Mutex // held while the description is being read: all that need it wait for one read
	found *found
	tried time.Time
}

// found is what a provider says of itself.
type found struct {
	provider *oidc.Provider
	endpoint oauth2.Endpoint
	namesIss bool // its answers name it (RFC 9207)
	at       time.Time
}

// New returns the provider of a configuration. The error names the member that is invalid,
// by its flag.
func New(c Config, o Options) (*Provider, error) {
	c.Rules, c.EmailDomains, c.Scopes = slices.Clone(c.Rules), slices.Clone(c.EmailDomains), slices.Clone(c.Scopes)
	if err := c.complete(); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: callTimeout, Control: outgoing.Control}).DialContext
	p := &Provider{
		config: c, opts: o, rules: newRules(&c), calls: make(chan struct{}, maxCalls),
		client: &http.Client{
			Transport: bounded{transport}, Timeout: callTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	p.SetSecret(c.ClientSecret)
	return p, nil
}

// SetSecret replaces the secret with which the provider knows this server.
func (p *Provider) SetSecret(secret string) { p.secret.Store(&secret) }

// Name returns the provider's name for people.
func (p *Provider) Name() string { return p.config.Name }

// Lifetime returns how long a login is valid.
func (p *Provider) Lifetime() time.Duration { return p.config.Lifetime }

// Rule returns the role and scope that the rule with a fingerprint grants, as long as there
// is one.
func (p *Provider) Rule(fingerprint string) (auth.Role, auth.Scope, bool) {
	return p.rules.of(fingerprint)
}

// bounded limits the bodies of answers.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// enter counts a login that asks the provider; leave ends it. Errors: Throttling.
func (p *Provider) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	select {
	case p.calls <- struct{}{}:
	default:
		return ctx, nil, fault.New(fault.Throttling, "%d people are logging in with %s at this moment; try again", maxCalls, p.config.Name)
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), callTimeout)
	return ctx, func() { cancel(); <-p.calls }, nil
}

// find returns what the provider says of itself, and reads that if it is unknown or old.
// Its keys are read again with it, and whenever a token is signed with an unknown one.
func (p *Provider) find(ctx context.Context) (*found, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch {
	case p.found != nil && now.Sub(p.found.at) < foundLasts:
		return p.found, nil
	case now.Sub(p.tried) < retryEvery:
		return nil, p.away()
	}
	p.tried = now
	f, err := p.discover(ctx)
	if err != nil {
		p.opts.Logger.Warn("the identity provider of the console cannot be used", "issuer", p.config.Issuer, "error", err)
		return nil, p.away()
	}
	f.at = now
	p.found = f
	return f, nil
}

// away returns the fault for a provider that does not answer as it should.
func (p *Provider) away() error {
	return fault.New(fault.InternalService, "%s (%s) cannot be reached or is not set up for this server; try again, or log in with an access key. The server's log says more", p.config.Name, p.config.Issuer)
}

func (p *Provider) discover(ctx context.Context) (*found, error) {
	provider, err := oidc.NewProvider(ctx, p.config.Issuer)
	var other *oidc.IssuerMismatchError
	if errors.As(err, &other) {
		return nil, fmt.Errorf("oidc-issuer: is %q, but the provider there names itself %q; write it in the same way", p.config.Issuer, other.Discovered)
	}
	if err != nil {
		return nil, err
	}
	var more struct {
		Keys     string   `json:"jwks_uri"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		NamesIss bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, err
	}
	f := &found{provider: provider, endpoint: provider.Endpoint(), namesIss: more.NamesIss}
	for _, e := range []struct{ member, url string }{
		{"authorization_endpoint", f.endpoint.AuthURL}, {"token_endpoint", f.endpoint.TokenURL}, {"jwks_uri", more.Keys},
	} {
		if _, err := checkURL(e.member, e.url); err != nil {
			return nil, err
		}
	}
	f.endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		f.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return f, nil
}

// oauth returns the configuration of the flow.
func (p *Provider) oauth(f *found) *oauth2.Config {
	c := &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: *p.secret.Load(), Endpoint: f.endpoint, RedirectURL: p.opts.Redirect(), Scopes: p.config.Scopes,
	}
	if c.ClientSecret == "" { // a public client has nothing to put in the header
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return c
}
