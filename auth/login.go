package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

const (
	// LoginLifetime is how long a login to the console is valid.
	LoginLifetime = 12 * time.Hour
	// loginsEach is how many logins one key or person has; another ends the oldest.
	loginsEach = 16
	// CSRFHeader is the header with which a page shows that it has read its own login, in
	// every request that is not a GET.
	CSRFHeader = "X-Muster-Csrf"
)

// Login is a login to the console, with an access key or an account of an identity
// provider. Requests with its cookie may do what the key or the account may, as long as
// both are valid.
type Login struct {
	ID      string    `json:"id"`     // hash of the token in the cookie
	KeyID   string    `json:"key_id"` // or the id of the person
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	From    string    `json:"from,omitempty"`   // address of the browser, as far as known
	Person  *Person   `json:"person,omitempty"` // nil: the login is a key's
}

// loginPrefix begins the names of logins.
const loginPrefix = "login-"

// Name returns what administrators call the login. The cookie cannot be computed from it.
func (l *Login) Name() string { return loginPrefix + l.ID[:16] }

// Prove returns the caller of a key for a person who knows its secret. Errors:
// UnrecognizedClient.
func (s *Service) Prove(keyID, secret string) (Caller, error) {
	want, known := s.Secret(keyID)
	if same := hmac.Equal(digest(want), digest(secret)); !same || !known {
		return Caller{}, fault.New(fault.UnrecognizedClient, "the access key id or the secret access key is wrong")
	}
	return s.Caller(keyID)
}

// Logins are the logins to the console.
type Logins struct {
	keys  *Service
	rows  *store.Table[Login]
	rules func(rule string) (Role, Scope, bool) // for persons; nil: none

	// EndOf ends the login with a name, or all logins of the access key or person with an id,
	// and returns how many those were. Errors: NotFound.
	EndOf *store.Command[string, int]

	begin *store.Action[Login]
	end   *store.Action[string]
}

func newLogins(st *store.Store, keys *Service) *Logins {
	ls := &Logins{keys: keys}
	ls.rows = store.NewTable(st, store.TableSpec[Login]{Name: "console_login", Key: func(l *Login) string { return l.ID }})
	ls.begin = store.NewAction(st, "login.begin", ls.runBegin)
	ls.end = store.NewAction(st, "login.end", ls.runEnd)
	ls.EndOf = store.NewCommand(st, "login.end_of", ls.runEndOf)
	return ls
}

// Begin begins a login of a caller with a key, from an address, and returns the token for the
// cookie. Every login has a token of its own, so that one that was known before is worth nothing.
func (ls *Logins) Begin(ctx context.Context, c Caller, from string) (token string, l Login, err error) {
	token, l = newLogin(c.KeyID, LoginLifetime)
	l.From = from
	if err := ls.begin.Do(store.WithActor(ctx, c.Actor()), l); err != nil {
		return "", l, err
	}
	ls.keys.Used(c.KeyID)
	return token, l, nil
}

// newLogin returns a login with a new token.
func newLogin(keyID string, lifetime time.Duration) (token string, l Login) {
	raw := make([]byte, 32)
	rand.Read(raw)
	token = base64.RawURLEncoding.EncodeToString(raw)
	now := time.Now()
	return token, Login{ID: loginID(token), KeyID: keyID, Created: now, Expires: now.Add(lifetime)}
}

func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:]
}

func loginID(token string) string { return hex.EncodeToString(digest("muster login v1 " + token)) }

// runBegin adds a login. Those that have expired, and the oldest of the key or person if
// there are too many, end.
func (ls *Logins) runBegin(tx *store.Tx, l Login) error {
	if err := ls.answered(tx, &l); err != nil {
		return err
	}
	var own []*Login
	var over []string
	for old := range ls.rows.All(tx) {
		switch {
		case !tx.Now().Before(old.Expires):
			over = append(over, old.ID)
		case old.KeyID == l.KeyID:
			own = append(own, old)
		}
	}
	slices.SortFunc(own, func(a, b *Login) int { return a.Created.Compare(b.Created) })
	for len(own) >= loginsEach {
		over = append(over, own[0].ID)
		own = own[1:]
	}
	for _, id := range over {
		ls.drop(tx, id)
	}
	ls.rows.Put(tx, &l)
	return nil
}

// drop deletes a login.
func (ls *Logins) drop(tx *store.Tx, id string) {
	ls.rows.Delete(tx, id)
	ls.keys.used.Delete(tx, id)
}

// End ends the login with a token, if there is one.
func (ls *Logins) End(ctx context.Context, token string) error {
	return ls.end.Do(ctx, loginID(token))
}

func (ls *Logins) runEnd(tx *store.Tx, id string) error {
	if l := ls.rows.Get(tx, id); l != nil && l.Person != nil {
		ls.keys.revoke(tx, l.KeyID)
	}
	ls.drop(tx, id)
	return nil
}

// All returns the logins that let somebody in now, oldest first, with their callers.
func (ls *Logins) All(r store.Reader) iter.Seq2[*Login, Caller] {
	all := slices.SortedFunc(ls.rows.All(r), func(a, b *Login) int { return a.Created.Compare(b.Created) })
	return func(yield func(*Login, Caller) bool) {
		for _, l := range all {
			c, err := ls.callerOf(l)
			if err == nil && !yield(l, c) {
				return
			}
		}
	}
}

func (ls *Logins) runEndOf(tx *store.Tx, of string) (int, error) {
	var over []*Login
	for l := range ls.rows.All(tx) {
		if l.KeyID == of || l.Name() == of {
			over = append(over, l)
		}
	}
	if len(over) == 0 {
		return 0, fault.Missing("%.60q has no login to the console; 'muster admin logins list' shows the ids of logins, persons and access keys that have", of)
	}
	for _, l := range over {
		ls.drop(tx, l.ID)
		if l.Person != nil {
			ls.keys.revoke(tx, l.KeyID)
		}
	}
	return len(over), nil
}

// endOf ends the logins of a key that is deleted or disabled.
func (ls *Logins) endOf(tx *store.Tx, keyID string) {
	var over []string
	for l := range ls.rows.All(tx) {
		if l.KeyID == keyID {
			over = append(over, l.ID)
		}
	}
	for _, id := range over {
		ls.drop(tx, id)
	}
}

// Of returns the login with a token, and its caller as the key or the rule is now. Errors:
// UnrecognizedClient.
func (ls *Logins) Of(token string) (Login, Caller, error) {
	l := ls.rows.Get(ls.keys.st.View(), loginID(token))
	if l == nil {
		return Login{}, Caller{}, errLoggedOut
	}
	c, err := ls.callerOf(l)
	return *l, c, err
}

var errLoggedOut = fault.New(fault.UnrecognizedClient, "the login to the console has ended; log in again")

// callerOf returns the caller of a login as the key or the rule is now. Errors:
// UnrecognizedClient.
func (ls *Logins) callerOf(l *Login) (Caller, error) {
	switch {
	case !time.Now().Before(l.Expires):
		return Caller{}, errLoggedOut
	case l.Person != nil:
		return ls.personOf(l)
	}
	return ls.keys.Caller(l.KeyID)
}

// LoginCookie is the name of the cookie with a login's token. It differs from deployment to
// deployment, since cookies do not differ by port.
func (m *Master) LoginCookie() string { return "muster_" + m.Fingerprint()[:8] }

// CSRF returns what a page sends in CSRFHeader with the cookie of a token.
func (m *Master) CSRF(token string) string {
	mac := hmac.New(sha256.New, m.Derive("console csrf"))
	mac.Write([]byte(token))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// FromCookie returns the token of a login that a request has in its cookie, "" if it has
// none or is signed. Errors: AccessDenied (a change without CSRFHeader, or from a page of
// another site).
func (m *Master) FromCookie(r *http.Request) (token string, err error) {
	if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") == "" {
		return "", nil
	}
	cookie, err := r.Cookie(m.LoginCookie())
	if err != nil || cookie.Value == "" {
		return "", nil //nolint:nilerr // a request without a login
	}
	switch from := r.Header.Get("Sec-Fetch-Site"); {
	case from != "" && from != "same-origin" && from != "none":
		return "", fault.New(fault.AccessDenied, "Sec-Fetch-Site: a page of another site cannot use a login to the console")
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
	case !hmac.Equal([]byte(strings.TrimSpace(r.Header.Get(CSRFHeader))), []byte(m.CSRF(cookie.Value))):
		return "", fault.New(fault.AccessDenied, "%s: must be the value that GET /console/api/me gives the page; without it a change by cookie is refused", CSRFHeader)
	}
	return cookie.Value, nil
}
