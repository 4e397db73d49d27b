package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

const issuer = "https://play.example/player"

// house is the real service on a store in memory, with providers that it reaches
// without a network.
type house struct {
	testing.TB
	ctx    context.Context
	driver store.Driver
	st     *store.Store
	ids    *Service
	world  *world
	opts   Options
	loops  bool
	stop   func() // ends the loop
}

func newHouse(t testing.TB, opts Options) *house {
	t.Helper()
	h := &house{TB: t, ctx: t.Context(), driver: store.NewMemory(), world: newWorld(t), opts: opts}
	h.open()
	return h
}

func (h *house) open() {
	h.Helper()
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	h.must(err)
	opts := h.opts
	opts.Issuer = func() string { return issuer }
	h.st = store.New(store.Options{Driver: h.driver})
	h.ids, err = New(h.st, Deps{Events: event.New(h.st, event.Options{}), Secrets: master, Client: &http.Client{Transport: h.world}}, opts)
	h.must(err)
	h.must(h.st.Open(h.ctx))
	h.must(h.ids.Open(h.ctx))
	h.stop = func() {}
	if h.loops {
		h.run(h.ids)
	}
}

// run starts a service's loop.
func (h *house) run(ids *Service) {
	ctx, cancel := context.WithCancel(h.ctx)
	done := make(chan struct{})
	go func() { defer close(done); ids.Run(ctx) }()
	h.stop = func() { cancel(); <-done }
}

// reopen stops the node, starts it again and compares the state with the one before.
func (h *house) reopen() {
	h.Helper()
	h.stop()
	before := h.st.View().Digest()
	h.must(h.st.Close())
	h.open()
	if after := h.st.View().Digest(); after != before {
		h.Fatal("the state read again differs from what memory held")
	}
}

func (h *house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// refused fails the test unless err is a refusal with the code.
func (h *house) refused(err error, code refusal.Code) {
	h.Helper()
	if !refusal.Is(err, code) {
		h.Fatalf("got %v, want a refusal %s", err, code)
	}
}

func (h *house) guest() *Session {
	h.Helper()
	s, err := h.ids.Logins.CreateGuest(h.ctx)
	h.must(err)
	return s
}

// Of the calls that follow, only the errors matter.

func (h *house) check(accessToken string) error {
	_, err := h.ids.Tokens.Check(accessToken)
	return err
}

func (h *house) refresh(token string) error {
	_, err := h.ids.Tokens.Refresh(h.ctx, token)
	return err
}

func (h *house) loginGuest(s *Session) error {
	_, err := h.ids.Logins.LoginGuest(h.ctx, s.PlayerID, s.GuestSecret)
	return err
}

func (h *house) login(provider string, c Credential, create bool) error {
	_, err := h.ids.Logins.Login(h.ctx, provider, c, create)
	return err
}

func (h *house) link(who Claims, provider string, c Credential) error {
	_, err := h.ids.Logins.Link(h.ctx, who, provider, c)
	return err
}

func (h *house) merge(who Claims, conflict string, keepTheirs bool) error {
	_, err := h.ids.Merges.Merge(h.ctx, who, conflict, keepTheirs)
	return err
}

func (h *house) put(player string, in Namespace, key, value string, e Expect) error {
	_, err := h.ids.Data.Put(h.ctx, player, in, key, []byte(value), e)
	return err
}

// atOnce returns the errors of n simultaneous calls of f.
func atOnce(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errs
}

// inHouse runs f in virtual time, with the loop running.
func inHouse(t *testing.T, opts Options, f func(*house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, opts)
		h.loops = true
		h.run(h.ids)
		f(h)
		h.stop()
		h.must(h.st.Close())
	})
}

func settle(d time.Duration) {
	wait.Pass(d)
	synctest.Wait()
}

// world answers for every provider, by host.
type world struct {
	*http.ServeMux
	op    *openIDProvider
	mu    sync.Mutex // one request at a time
	calls map[string]int
}

func newWorld(t testing.TB) *world {
	w := &world{ServeMux: http.NewServeMux(), op: newOpenIDProvider(t), calls: map[string]int{}}
	w.HandleFunc("id.example/.well-known/openid-configuration", func(rw http.ResponseWriter, _ *http.Request) {
		json.MarshalWrite(rw, map[string]string{"issuer": w.op.issuer, "jwks_uri": "https://id.example/keys"})
	})
	w.HandleFunc("id.example/keys", w.op.keys)
	return w
}

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[r.URL.Host+r.URL.Path]++
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

// openIDProvider signs ID tokens with real keys.
type openIDProvider struct {
	testing.TB
	issuer  string
	pairs   map[string]crypto.Signer // by kid
	current string
	hidden  bool // the key set cannot be read
}

func newOpenIDProvider(t testing.TB) *openIDProvider {
	op := &openIDProvider{TB: t, issuer: "https://id.example", pairs: map[string]crypto.Signer{}}
	op.rotate("k1")
	return op
}

// rotate publishes a key and signs with it from then on; older ones are removed.
func (op *openIDProvider) rotate(kid string) {
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		op.Fatal(err)
	}
	op.pairs = map[string]crypto.Signer{kid: pair}
	op.current = kid
}

func (op *openIDProvider) keys(w http.ResponseWriter, _ *http.Request) {
	if op.hidden {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	var set jose.JSONWebKeySet
	for kid, pair := range op.pairs {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: pair.Public(), KeyID: kid, Use: "sig"})
	}
	json.MarshalWrite(w, set)
}

// claims returns those of a valid token, to be changed.
func (op *openIDProvider) claims(subject string) map[string]any {
	now := time.Now()
	return map[string]any{
		"iss": op.issuer, "sub": subject, "aud": "game", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"nonce": "n-1", "jti": randomText(8),
	}
}

// token signs claims with the current key.
func (op *openIDProvider) token(claims map[string]any) string {
	op.Helper()
	return op.signed(jose.SigningKey{Algorithm: jose.ES256, Key: op.pairs[op.current]}, op.current, claims)
}

func (op *openIDProvider) signed(key jose.SigningKey, kid string, claims map[string]any) string {
	op.Helper()
	return op.signedWith(key, kid, claims, &jose.SignerOptions{})
}

// signedWith is like signed, with additional header options.
func (op *openIDProvider) signedWith(key jose.SigningKey, kid string, claims map[string]any, more *jose.SignerOptions) string {
	op.Helper()
	signer, err := jose.NewSigner(key, more.WithType("JWT").WithHeader("kid", kid))
	if err != nil {
		op.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		op.Fatal(err)
	}
	return text
}

func rsaPair(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	pair, err := rsa.GenerateKey(rand.Reader, rsaBits)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func withOIDC() Options {
	return Options{Providers: []ProviderConfig{{Name: "id", Kind: OIDC, Issuer: "https://id.example", ClientIDs: []string{"game"}}}}
}
