package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/store"
)

// Credential is what a player's client received from a provider. Which members are used
// depends on the provider's kind (ProviderConfig).
type Credential struct {
	Token    string // an ID token, an access token, a Steam ticket (hex), or what the operator's webhook understands
	Nonce    string // the raw nonce that was passed to the provider when the token was requested
	Identity string // Steam: the identity the ticket was made for
}

// Guest is the method of a login with a guest secret.
const Guest = "guest"

// Logins logs players in: with a guest secret, or by an external account that is linked
// to the player.
type Logins struct {
	*rows
	providers *Providers
	tokens    *Tokens
	proofs    *proofs
	merges    *Merges

	createGuest *store.Command[guestArgs, *Family]
	enter       *store.Command[enterArgs, *Family]
	login       *store.Command[loginArgs, loggedIn]
	link        *store.Command[linkArgs, linked]
	unlink      *store.Action[unlinkArgs]
}

func newLogins(r *rows, providers *Providers, t *Tokens, p *proofs, m *Merges) *Logins {
	s := &Logins{rows: r, providers: providers, tokens: t, proofs: p, merges: m}
	s.createGuest = store.NewCommand(s.st, "player.guest", s.runCreateGuest)
	s.enter = store.NewCommand(s.st, "player.enter", s.runEnter)
	s.login = store.NewCommand(s.st, "player.login", s.runLogin)
	s.link = store.NewCommand(s.st, "player.link", s.runLink)
	s.unlink = store.NewAction(s.st, "player.unlink", s.runUnlink)
	return s
}

// CreateGuest creates an account for a device and returns the secret that the device
// has to keep.
func (s *Logins) CreateGuest(ctx context.Context) (*Session, error) {
	secret := randomText(32)
	created, err := s.tokens.session(s.createGuest.Do(ctx, guestArgs{Secret: hash(secret)}))
	if err != nil {
		return nil, err
	}
	created.Created, created.GuestSecret = true, secret
	return created, nil
}

type guestArgs struct{ Secret []byte }

func (s *Logins) runCreateGuest(tx *store.Tx, a guestArgs) (*Family, error) {
	p := s.players.create(tx)
	p.GuestSecret = a.Secret
	if s.opts.GuestKeep > 0 {
		p.IdleCheck = tx.Now().Add(s.opts.GuestKeep)
	}
	s.players.table.Put(tx, p)
	return s.families.begin(tx, p.ID, Guest, tx.Now()), nil
}

// LoginGuest logs a device in. Refusals: GuestSecretInvalid, also if the account
// does not exist or has no guest login; Banned.
func (s *Logins) LoginGuest(ctx context.Context, playerID, secret string) (*Session, error) {
	p := s.players.table.Get(s.st.View(), playerID)
	want := make([]byte, sha256.Size) // compared even without an account, so that it takes as long; no secret has this hash
	if p != nil && len(p.GuestSecret) == sha256.Size {
		want = p.GuestSecret
	}
	if subtle.ConstantTimeCompare(want, hash(secret)) != 1 {
		return nil, refuse(GuestSecretInvalid, "no guest account has this player id and secret")
	}
	return s.tokens.session(s.enter.Do(ctx, enterArgs{Player: playerID, Method: Guest}))
}

type enterArgs struct{ Player, Method string }

// runEnter begins a family for a player who has proven who they are.
func (s *Logins) runEnter(tx *store.Tx, a enterArgs) (*Family, error) {
	p := s.players.account(tx, a.Player)
	if p == nil {
		return nil, refuse(NotFound, "the account was deleted")
	}
	if p.Banned(tx.Now()) {
		return nil, p.banned()
	}
	s.players.seen(tx, p, s.opts.GuestKeep)
	return s.families.begin(tx, p.ID, a.Method, tx.Now()), nil
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Digest returns the SHA-256 of a secret in hex, to be stored instead of the secret.
func Digest(secret string) string { return hex.EncodeToString(hash(secret)) }

// Login logs a player in by an external account. If that is linked to no player yet, and
// create is set, a player is created. Refusals: ProviderDisabled, ProviderInvalid,
// ProviderUnavailable, NotFound, Banned.
func (s *Logins) Login(ctx context.Context, provider string, c Credential, create bool) (*Session, error) {
	proof, err := s.providers.prove(ctx, provider, c)
	if err != nil {
		return nil, err
	}
	in, err := s.login.Do(ctx, loginArgs{Provider: provider, Subject: proof.Subject, Create: create, Proof: s.proofs.once(proof)})
	out, err := s.tokens.session(in.Family, err)
	if err != nil {
		return nil, err
	}
	out.Created = in.Created
	return out, nil
}

type loginArgs struct {
	Provider, Subject string
	Create            bool
	Proof             usedProof
}

type loggedIn struct {
	Family  *Family
	Created bool
}

func (s *Logins) runLogin(tx *store.Tx, a loginArgs) (loggedIn, error) {
	if err := s.proofs.unused(tx, a.Proof, a.Provider); err != nil {
		return loggedIn{}, err
	}
	out := loggedIn{}
	l := s.links.table.Get(tx, linkKey(a.Provider, a.Subject))
	switch {
	case l == nil && !a.Create:
		return loggedIn{}, refuse(NotFound, "no player is linked to this account")
	case l == nil:
		p := s.players.create(tx)
		s.players.table.Put(tx, p)
		l = s.links.create(tx, p.ID, a.Provider, a.Subject)
		out.Created = true
	default:
		p := s.players.table.Get(tx, l.PlayerID)
		if p.Banned(tx.Now()) {
			return loggedIn{}, p.banned()
		}
	}
	seen := *l
	seen.LastLogin = tx.Now()
	s.links.table.Put(tx, &seen)
	s.proofs.use(tx, a.Proof)
	out.Family = s.families.begin(tx, l.PlayerID, a.Provider, tx.Now())
	return out, nil
}

// Link links an external account to the player who requests it; the new tokens have
// the scope authenticated. If it is linked to the player already, nothing changes. An
// ID token is used up as by Login. Refusals: as Login, and IdentityInUse (linked to
// another player, with a token for merging the two, or the player has another account
// of this provider), ReauthRequired.
func (s *Logins) Link(ctx context.Context, who Claims, provider string, c Credential) (*Session, error) {
	if err := s.opts.fresh(who); err != nil {
		return nil, err
	}
	proof, err := s.providers.prove(ctx, provider, c)
	if err != nil {
		return nil, err
	}
	token := "ct_" + NewSecret()
	done, err := s.link.Do(ctx, linkArgs{
		Player: who.PlayerID, Family: who.FamilyID, Provider: provider, Subject: proof.Subject, Proof: s.proofs.once(proof), Conflict: Digest(token),
	})
	if err != nil {
		return nil, err
	}
	if done.Family == nil {
		return nil, inUse(provider, token, done.Mergeable)
	}
	return s.tokens.session(done.Family, nil)
}

// inUse returns the refusal for an account that is linked to another player.
func inUse(provider, token string, mergeable bool) error {
	const text = "this account of %s leads to another player; log in with it to be that player"
	r := &refusal.Refusal{Code: IdentityInUse, Message: fmt.Sprintf(text, provider)}
	if mergeable {
		r.Message, r.ConflictToken = r.Message+", or merge the two", token
	}
	return r
}

type linkArgs struct {
	Player, Family, Provider, Subject string
	Proof                             usedProof // is used up, even if the account is linked to another player
	Conflict                          string    // Digest of the token that the refusal contains
}

// linked is the result of a link; without a family the account is another player's.
type linked struct {
	Family    *Family
	Mergeable bool
}

func (s *Logins) runLink(tx *store.Tx, a linkArgs) (linked, error) {
	f := s.families.table.Get(tx, a.Family)
	if s.players.account(tx, a.Player) == nil || f == nil || !f.valid(tx.Now()) {
		return linked{}, refuse(TokenInvalid, "the access token was revoked")
	}
	l := s.links.table.Get(tx, linkKey(a.Provider, a.Subject))
	switch {
	case l != nil && l.PlayerID != a.Player:
		mergeable, err := s.merges.note(tx, a, l.PlayerID)
		return linked{Mergeable: mergeable}, err
	case l != nil: // perhaps linked by this very proof, and the answer was lost
		s.proofs.use(tx, a.Proof)
		return linked{Family: f}, nil
	case s.links.at(tx, a.Player, a.Provider) != nil:
		return linked{}, refuse(IdentityInUse, "another account of %s is linked; unlink it first", a.Provider)
	}
	if err := s.proofs.unused(tx, a.Proof, a.Provider); err != nil {
		return linked{}, err
	}
	s.proofs.use(tx, a.Proof)
	s.links.create(tx, a.Player, a.Provider, a.Subject)
	return linked{Family: f}, nil
}

// Unlink unlinks the player's account of a provider. Refusals: NotFound,
// LastCredential (no way to log in would be left), ReauthRequired.
func (s *Logins) Unlink(ctx context.Context, who Claims, provider string) error {
	if err := s.opts.fresh(who); err != nil {
		return err
	}
	return s.unlink.Do(ctx, unlinkArgs{who.PlayerID, provider})
}

type unlinkArgs struct{ Player, Provider string }

func (s *Logins) runUnlink(tx *store.Tx, a unlinkArgs) error {
	p, l := s.players.account(tx, a.Player), s.links.at(tx, a.Player, a.Provider)
	if p == nil || l == nil {
		return refuse(NotFound, "no account of %s is linked", a.Provider)
	}
	if len(p.GuestSecret) == 0 && s.links.player.Count(tx, a.Player) == 1 {
		return refuse(LastCredential, "%s is the only way to log in to this account", a.Provider)
	}
	s.links.table.Delete(tx, l.key())
	s.families.end(tx, a.Player, a.Provider) // the logins by the unlinked account
	s.events.Append(tx, event.Event{Code: event.PlayerUnlinked, Resource: a.Player, Message: a.Provider})
	return nil
}
