package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Credential is what a player's client got from a provider. Which members are used
// depends on the provider's kind (ProviderConfig).
type Credential struct {
	Token    string // an ID token, an access token, a Steam ticket (hex), or what the operator's webhook understands
	Nonce    string // the raw nonce that was passed to the provider when the token was requested
	Identity string // Steam: the identity the ticket was made for
}

// Login logs a player in by an external account. If that is linked to no player yet, and
// create is set, a player is created. Refusals: ProviderDisabled, ProviderInvalid,
// ProviderUnavailable, NotFound, Banned.
func (s *Service) Login(ctx context.Context, provider string, c Credential, create bool) (*Session, error) {
	proof, err := s.prove(ctx, provider, c)
	if err != nil {
		return nil, err
	}
	in, err := s.cmd.login.Do(ctx, loginArgs{Provider: provider, Subject: proof.Subject, Create: create, Proof: s.once(proof)})
	if err != nil {
		return nil, err
	}
	return s.session(in.Family, in.Created)
}

// prove asks a provider whose credential it is.
func (s *Service) prove(ctx context.Context, name string, c Credential) (proof, error) {
	p := (*s.providers.Load())[name]
	if p == nil {
		return proof{}, refuse(ProviderDisabled, "there is no provider %q here", name)
	}
	return p.prove(ctx, c)
}

// once returns the row that keeps a proof from being used again, if that is required.
func (s *Service) once(p proof) usedProof {
	if s.opts.ReuseIDTokens || p.Once == "" {
		return usedProof{}
	}
	return usedProof{Hash: Digest(p.Once), Expires: p.Expires.UTC().Truncate(time.Millisecond).Add(providerLeeway)}
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

func (s *Service) runLogin(tx *store.Tx, a loginArgs) (loggedIn, error) {
	if err := s.unused(tx, a.Proof, a.Provider); err != nil {
		return loggedIn{}, err
	}
	out := loggedIn{}
	l := s.t.links.Get(tx, linkKey(a.Provider, a.Subject))
	switch {
	case l == nil && !a.Create:
		return loggedIn{}, refuse(NotFound, "no player is linked to this account")
	case l == nil:
		p := s.newPlayer(tx)
		s.t.players.Put(tx, p)
		l = s.newLink(tx, p.ID, a.Provider, a.Subject)
		out.Created = true
	default:
		p := s.t.players.Get(tx, l.PlayerID)
		if p.Banned(tx.Now()) {
			return loggedIn{}, p.banned()
		}
	}
	seen := *l
	seen.LastLogin = tx.Now()
	s.t.links.Put(tx, &seen)
	s.use(tx, a.Proof)
	out.Family = s.newFamily(tx, l.PlayerID, a.Provider)
	return out, nil
}

func (s *Service) unused(tx *store.Tx, u usedProof, provider string) error {
	if u.Hash != "" && s.t.used.Get(tx, u.Hash) != nil {
		return refuse(ProviderInvalid, "this token was used before; get a new one from %s", provider)
	}
	return nil
}

func (s *Service) use(tx *store.Tx, u usedProof) {
	if u.Hash != "" {
		s.t.used.Put(tx, &u)
	}
}

func (s *Service) newLink(tx *store.Tx, playerID, provider, subject string) *Link {
	l := &Link{Provider: provider, Subject: subject, PlayerID: playerID, Linked: tx.Now(), LastLogin: tx.Now()}
	s.t.links.Put(tx, l)
	s.events.Append(tx, event.Event{Code: event.PlayerLinked, Resource: playerID, Message: provider})
	return l
}

// Link links an external account to the player who requests it; the new tokens have
// the scope authenticated. If it is linked to the player already, nothing changes. An
// ID token is used up as by Login. Refusals: as Login, and IdentityInUse (linked to
// another player, with a token for merging the two, or the player has another account
// of this provider), ReauthRequired.
func (s *Service) Link(ctx context.Context, who Claims, provider string, c Credential) (*Session, error) {
	if err := s.fresh(who); err != nil {
		return nil, err
	}
	proof, err := s.prove(ctx, provider, c)
	if err != nil {
		return nil, err
	}
	token := newConflictToken()
	done, err := s.cmd.link.Do(ctx, linkArgs{
		Player: who.PlayerID, Family: who.FamilyID, Provider: provider, Subject: proof.Subject, Proof: s.once(proof), Conflict: Digest(token),
	})
	if err != nil {
		return nil, err
	}
	if done.Family == nil {
		return nil, inUse(provider, token, done.Mergeable)
	}
	return s.session(done.Family, false)
}

// inUse refuses an account that is linked to another player.
func inUse(provider, token string, mergeable bool) error {
	const text = "this account of %s leads to another player; log in with it to be that player"
	r := &Refusal{Code: IdentityInUse, Message: fmt.Sprintf(text, provider)}
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

func (s *Service) runLink(tx *store.Tx, a linkArgs) (linked, error) {
	f := s.t.families.Get(tx, a.Family)
	if s.account(tx, a.Player) == nil || f == nil || !f.valid(tx.Now()) {
		return linked{}, refuse(TokenInvalid, "the access token was revoked")
	}
	l := s.t.links.Get(tx, linkKey(a.Provider, a.Subject))
	switch {
	case l != nil && l.PlayerID != a.Player:
		mergeable, err := s.noteConflict(tx, a, l.PlayerID)
		return linked{Mergeable: mergeable}, err
	case l != nil: // perhaps linked by this very proof, and the answer was lost
		s.use(tx, a.Proof)
		return linked{Family: f}, nil
	case s.linkTo(tx, a.Player, a.Provider) != nil:
		return linked{}, refuse(IdentityInUse, "another account of %s is linked; unlink it first", a.Provider)
	}
	if err := s.unused(tx, a.Proof, a.Provider); err != nil {
		return linked{}, err
	}
	s.use(tx, a.Proof)
	s.newLink(tx, a.Player, a.Provider, a.Subject)
	return linked{Family: f}, nil
}

// linkTo returns the player's link to a provider, or nil.
func (s *Service) linkTo(r store.Reader, playerID, provider string) *Link {
	for l := range s.t.linksOf.Equal(r, playerID) {
		if l.Provider == provider {
			return l
		}
	}
	return nil
}

// Unlink unlinks the player's account of a provider. Refusals: NotFound,
// LastCredential (no way to log in would be left), ReauthRequired.
func (s *Service) Unlink(ctx context.Context, who Claims, provider string) error {
	if err := s.fresh(who); err != nil {
		return err
	}
	_, err := s.cmd.unlink.Do(ctx, unlinkArgs{who.PlayerID, provider})
	return err
}

type unlinkArgs struct{ Player, Provider string }

func (s *Service) runUnlink(tx *store.Tx, a unlinkArgs) (struct{}, error) {
	p, l := s.account(tx, a.Player), s.linkTo(tx, a.Player, a.Provider)
	if p == nil || l == nil {
		return struct{}{}, refuse(NotFound, "no account of %s is linked", a.Provider)
	}
	if len(p.GuestSecret) == 0 && s.t.linksOf.Count(tx, a.Player) == 1 {
		return struct{}{}, refuse(LastCredential, "%s is the only way to log in to this account", a.Provider)
	}
	s.t.links.Delete(tx, l.key())
	for f := range s.t.familiesOf.Equal(tx, a.Player) {
		if f.Method == a.Provider { // this login was by the unlinked account
			s.t.families.Delete(tx, f.ID)
		}
	}
	s.events.Append(tx, event.Event{Code: event.PlayerUnlinked, Resource: a.Player, Message: a.Provider})
	return struct{}{}, nil
}
