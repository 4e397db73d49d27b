package identity

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/musterhq/muster/internal/store"
)

// Kind is a kind of provider.
type Kind string

// The kinds of providers.
const (
	Steam           Kind = "steam"            // Token: ticket of GetAuthTicketForWebApi, hex
	Apple           Kind = "apple"            // Token: ID token; Nonce required
	Google          Kind = "google"           // Token: ID token
	Facebook        Kind = "facebook"         // Token: access token
	FacebookLimited Kind = "facebook_limited" // Token: ID token of Limited Login
	Epic            Kind = "epic"             // Token: EOS Connect ID token
	OIDC            Kind = "oidc"             // Token: ID token of any OpenID Connect provider
	Custom          Kind = "custom"           // Token: whatever the operator's webhook understands
)

// ProviderConfig configures how accounts of one provider are verified.
type ProviderConfig struct {
	// Name is used in paths and tokens: lower case letters, digits, _ and -.
	Name string `yaml:"name"`
	// Kind determines how tokens are checked; default: the same as Name.
	Kind Kind `yaml:"kind"`
	// ClientIDs are the audiences an ID token may have: only our own. Required for
	// the kinds with ID tokens.
	ClientIDs []string `yaml:"client_ids"`
	// AppID is the application at Steam or Facebook.
	AppID string `yaml:"app_id"`
	// Secret is Steam's publisher key or the key that signs requests to the custom
	// webhook; SecretFile names a file that contains it instead.
	Secret     string `yaml:"secret"`
	SecretFile string `yaml:"secret_file"`
	// Issuer is the iss of ID tokens; known for all kinds except oidc.
	Issuer string `yaml:"issuer"`
	// KeySetURL is where the issuer publishes its keys; default: the kind's, or
	// the one in the issuer's discovery document.
	KeySetURL string `yaml:"key_set_url"`
	// Algorithms that ID tokens may be signed with; default RS256, and ES256 for oidc.
	Algorithms []string `yaml:"algorithms"`
	// RequireNonce refuses ID tokens without a nonce; always set for apple.
	RequireNonce bool `yaml:"require_nonce"`
	// URL is the base URL of Steam's or Facebook's API, if it is not the usual
	// one, or the custom webhook.
	URL string `yaml:"url"`
	// AllowBanned accepts Steam accounts that VAC or the publisher has banned.
	AllowBanned bool `yaml:"allow_banned"`
	// AllowBorrowed accepts Steam accounts that play by family sharing.
	AllowBorrowed bool `yaml:"allow_borrowed"`
}

// proof is what a provider confirms.
type proof struct {
	Subject string
	Once    string    // text that must not be used as proof twice; "" = may be
	Expires time.Time // of Once
}

type provider struct {
	name   string
	verify func(context.Context, Credential) (proof, error)
	calls  chan struct{} // holds a token for each check in progress
}

const (
	maxCalls       = 64               // checks of one provider at a time
	callTimeout    = 5 * time.Second  // of one check
	providerLeeway = 60 * time.Second // by how much a provider's clock may differ
	maxAnswer      = 256 << 10        // bytes of a provider's answer
	maxSubject     = 255
)

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// Providers are the configured providers.
type Providers struct {
	client *http.Client
	named  atomic.Pointer[map[string]*provider]
}

func newProviders(configs []ProviderConfig, client *http.Client) (*Providers, error) {
	if client == nil {
		client = &http.Client{
			Timeout:       callTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	p := &Providers{client: client}
	return p, p.Reload(configs)
}

// Reload replaces the ways to log in other than as a guest. If there is an error, it
// names the invalid setting, and nothing has changed.
func (s *Providers) Reload(configs []ProviderConfig) error {
	named := map[string]*provider{}
	for _, c := range configs {
		if err := c.complete(); err != nil {
			return fmt.Errorf("players: provider %q: %w", c.Name, err)
		}
		if named[c.Name] != nil {
			return fmt.Errorf("players: provider %q is configured twice", c.Name)
		}
		named[c.Name] = &provider{name: c.Name, verify: c.verifier(s.client), calls: make(chan struct{}, maxCalls)}
	}
	s.named.Store(&named)
	return nil
}

// prove checks a credential with a provider, and returns the proof of its account.
func (s *Providers) prove(ctx context.Context, name string, c Credential) (proof, error) {
	p := (*s.named.Load())[name]
	if p == nil {
		return proof{}, refuse(ProviderDisabled, "there is no provider %q here", name)
	}
	return p.prove(ctx, c)
}

// prove checks a credential and the form of its subject, with limits on the number of
// concurrent checks and on their time.
func (p *provider) prove(ctx context.Context, c Credential) (proof, error) {
	select {
	case p.calls <- struct{}{}:
		defer func() { <-p.calls }()
	default:
		return proof{}, refuse(ProviderUnavailable, "too many logins with %s at a time; try again", p.name)
	}
	if c.Token == "" || len(c.Token) > maxToken {
		return proof{}, refuse(ProviderInvalid, "token: must have 1 to %d characters", maxToken)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := p.verify(ctx, c)
	if err != nil {
		return proof{}, err
	}
	bad := func(r rune) bool { return !unicode.IsGraphic(r) }
	if found.Subject == "" || len(found.Subject) > maxSubject || strings.ContainsFunc(found.Subject, bad) {
		return proof{}, refuse(ProviderInvalid, "%s gave no usable name for the account", p.name)
	}
	return found, nil
}

// complete fills in what the kind implies, and returns an error if the configuration is
// invalid.
func (c *ProviderConfig) complete() error {
	c.Kind = cmp.Or(c.Kind, Kind(c.Name))
	if !providerName.MatchString(c.Name) || c.Name == Guest || c.Name == "refresh" || c.Name == "logout" || c.Name == "ws-ticket" {
		return fmt.Errorf("name: must have 1 to 32 of a-z, 0-9, _ and -, and must not be guest, refresh, logout or ws-ticket")
	}
	if c.SecretFile != "" {
		text, err := os.ReadFile(c.SecretFile)
		if err != nil {
			return fmt.Errorf("secret_file: %w", err)
		}
		c.Secret = strings.TrimSpace(string(text))
	}
	return c.preset()
}

// verifier returns the function that checks the provider's credentials.
func (c *ProviderConfig) verifier(client *http.Client) func(context.Context, Credential) (proof, error) {
	r := &remote{config: *c, client: client}
	switch c.Kind {
	case Steam:
		return r.steam
	case Facebook:
		return r.facebook
	case Custom:
		return r.custom
	}
	return newIDTokens(*c, client).verify
}

// usedProof records a used token of a provider, until the token expires.
type usedProof struct {
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires"`
}

// proofs keeps the tokens of providers from being used twice.
type proofs struct {
	reuse   bool // allowed
	table   *store.Table[usedProof]
	expires *store.DueIndex[usedProof]
}

func newProofs(st *store.Store, reuse bool) *proofs {
	p := &proofs{reuse: reuse}
	p.table = store.NewTable(st, store.TableSpec[usedProof]{Name: "player_proof", Key: func(u *usedProof) string { return u.Hash }})
	p.expires = store.NewDueIndex(p.table, "expires", func(u *usedProof) time.Time { return u.Expires })
	return p
}

// once returns the row that keeps a proof from being used again, if that is required.
func (s *proofs) once(p proof) usedProof {
	if s.reuse || p.Once == "" {
		return usedProof{}
	}
	return usedProof{Hash: Digest(p.Once), Expires: p.Expires.UTC().Truncate(time.Millisecond).Add(providerLeeway)}
}

func (s *proofs) unused(tx *store.Tx, u usedProof, provider string) error {
	if u.Hash != "" && s.table.Get(tx, u.Hash) != nil {
		return refuse(ProviderInvalid, "this token was used before; get a new one from %s", provider)
	}
	return nil
}

func (s *proofs) use(tx *store.Tx, u usedProof) {
	if u.Hash != "" {
		s.table.Put(tx, &u)
	}
}
