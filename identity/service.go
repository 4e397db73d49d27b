package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Secrets seals what is stored, and derives keys (auth.Master).
type Secrets interface {
	Seal(secret, label string) []byte
	Open(sealed []byte, label string) (string, error)
	Derive(purpose string) []byte
}

// Deps are the service's dependencies.
type Deps struct {
	Events  *event.Log
	Secrets Secrets
	Client  *http.Client // reaches providers; nil means one that follows no redirect
	Logger  *slog.Logger // nil means none
}

// Service keeps accounts, tokens and data of players.
type Service struct {
	st         *store.Store
	opts       Options
	events     *event.Log
	secrets    Secrets
	log        *slog.Logger
	refreshKey []byte
	client     *http.Client // reaches providers
	providers  atomic.Pointer[map[string]*provider]
	signers    sync.Map // of opened signing keys, by id
	t          tables
	loop       loop
	cmd        commands
	out        []func(*store.Tx, string) // called for players who are out
}

type commands struct {
	createGuest *store.Command[guestArgs, *Family]
	enter       *store.Command[enterArgs, *Family]
	login       *store.Command[loginArgs, loggedIn]
	link        *store.Command[linkArgs, linked]
	merge       *store.Command[mergeArgs, *Family]
	unlink      *store.Command[unlinkArgs, struct{}]
	refresh     *store.Command[refreshArgs, refreshed]
	logout      *store.Command[logoutArgs, struct{}]
	rename      *store.Command[renameArgs, *Player]
	ban         *store.Command[banArgs, struct{}]
	remove      *store.Command[string, struct{}]
	addKey      *store.Command[keyArgs, struct{}]
	putData     *store.Command[putArgs, *Datum]
	deleteData  *store.Command[deleteArgs, struct{}]
	sweep       *store.Command[struct{}, bool]
}

// New registers the package's tables and commands on the store. The error names an
// option or a provider that is not configured correctly.
func New(st *store.Store, deps Deps, opts Options) (*Service, error) {
	opts.setDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	providers, err := newProviders(opts.Providers, deps.Client)
	if err != nil {
		return nil, err
	}
	s := &Service{
		st: st, opts: opts, events: deps.Events, secrets: deps.Secrets, log: deps.Logger.With("component", "identity"),
		refreshKey: deps.Secrets.Derive("player refresh tokens"), client: deps.Client, t: newTables(st),
	}
	s.providers.Store(&providers)
	s.loop = newLoop(s)
	s.cmd = commands{
		createGuest: store.NewCommand(st, "player.guest", s.runCreateGuest),
		enter:       store.NewCommand(st, "player.enter", s.runEnter),
		login:       store.NewCommand(st, "player.login", s.runLogin),
		link:        store.NewCommand(st, "player.link", s.runLink),
		merge:       store.NewCommand(st, "player.merge", s.runMerge),
		unlink:      store.NewCommand(st, "player.unlink", s.runUnlink),
		refresh:     store.NewCommand(st, "player.refresh", s.runRefresh),
		logout:      store.NewCommand(st, "player.logout", s.runLogout),
		rename:      store.NewCommand(st, "player.rename", s.runRename),
		ban:         store.NewCommand(st, "player.ban", s.runBan),
		remove:      store.NewCommand(st, "player.delete", s.runDelete),
		addKey:      store.NewCommand(st, "player.key", s.runAddKey),
		putData:     store.NewCommand(st, "player.put_data", s.runPutData),
		deleteData:  store.NewCommand(st, "player.delete_data", s.runDeleteData),
		sweep:       store.NewCommand(st, "player.sweep", s.runSweep),
	}
	return s, nil
}

// Reload replaces the ways to log in other than as a guest. If there is an error, it
// names what is wrong, and nothing has changed.
func (s *Service) Reload(configs []ProviderConfig) error {
	providers, err := newProviders(configs, s.client)
	if err != nil {
		return err
	}
	s.providers.Store(&providers)
	return nil
}

// OnOut registers f to be called in each transaction that bans, deletes or merges away
// a player. It must be called before the store is opened.
func (s *Service) OnOut(f func(tx *store.Tx, playerID string)) { s.out = append(s.out, f) }

// notifyOut calls the functions of OnOut for a player.
func (s *Service) notifyOut(tx *store.Tx, playerID string) {
	for _, f := range s.out {
		f(tx, playerID)
	}
}

// Session is the result of a login.
type Session struct {
	PlayerID       string
	Scope          string
	AccessToken    string
	AccessExpires  time.Time
	RefreshToken   string
	RefreshExpires time.Time
	Created        bool // the account was created by this login
	Links          []*Link
	GuestSecret    string // only if a guest account was created; shown once
}

// session creates the tokens of a durable family.
func (s *Service) session(f *Family, created bool) (*Session, error) {
	view, now := s.st.View(), time.Now()
	p := s.account(view, f.PlayerID)
	if p == nil {
		return nil, refuse(TokenInvalid, "the account was deleted")
	}
	access, err := s.accessToken(view, p, f, now)
	if err != nil {
		return nil, err
	}
	return &Session{
		PlayerID: p.ID, Scope: s.scope(view, p.ID), AccessToken: access, AccessExpires: now.Add(s.opts.AccessLife),
		RefreshToken: s.refreshToken(f), RefreshExpires: f.Expires, Created: created, Links: s.Links(p.ID),
	}, nil
}

// CreateGuest creates an account for a device and returns the secret that the device
// has to keep.
func (s *Service) CreateGuest(ctx context.Context) (*Session, error) {
	secret := randomText(32)
	f, err := s.cmd.createGuest.Do(ctx, guestArgs{Secret: hash(secret)})
	if err != nil {
		return nil, err
	}
	made, err := s.session(f, true)
	if err != nil {
		return nil, err
	}
	made.GuestSecret = secret
	return made, nil
}

type guestArgs struct{ Secret []byte }

func (s *Service) runCreateGuest(tx *store.Tx, a guestArgs) (*Family, error) {
	p := s.newPlayer(tx)
	p.GuestSecret = a.Secret
	if s.opts.GuestKeep > 0 {
		p.IdleCheck = tx.Now().Add(s.opts.GuestKeep)
	}
	s.t.players.Put(tx, p)
	return s.newFamily(tx, p.ID, Guest), nil
}

func (s *Service) newPlayer(tx *store.Tx) *Player {
	p := &Player{ID: tx.ID(""), Created: tx.Now()}
	s.events.Append(tx, event.Event{Code: event.PlayerCreated, Resource: p.ID})
	return p
}

// LoginGuest logs a device in. Refusals: GuestSecretInvalid, also if the account
// does not exist or has no guest login; Banned.
func (s *Service) LoginGuest(ctx context.Context, playerID, secret string) (*Session, error) {
	p := s.t.players.Get(s.st.View(), playerID)
	want := make([]byte, sha256.Size) // compared even without an account, so that it takes as long; no secret has this hash
	if p != nil && len(p.GuestSecret) == sha256.Size {
		want = p.GuestSecret
	}
	if subtle.ConstantTimeCompare(want, hash(secret)) != 1 {
		return nil, refuse(GuestSecretInvalid, "no guest account has this player id and secret")
	}
	f, err := s.cmd.enter.Do(ctx, enterArgs{Player: playerID, Method: Guest})
	if err != nil {
		return nil, err
	}
	return s.session(f, false)
}

type enterArgs struct{ Player, Method string }

// runEnter begins a family for a player who has proven who they are.
func (s *Service) runEnter(tx *store.Tx, a enterArgs) (*Family, error) {
	p := s.account(tx, a.Player)
	if p == nil {
		return nil, refuse(NotFound, "the account was deleted")
	}
	if p.Banned(tx.Now()) {
		return nil, p.banned()
	}
	s.seen(tx, p)
	return s.newFamily(tx, p.ID, a.Method), nil
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Digest returns the SHA-256 of a secret in hex, for storing in its place.
func Digest(secret string) string { return hex.EncodeToString(hash(secret)) }

// Player returns an account. Refusals: NotFound.
func (s *Service) Player(id string) (*Player, error) {
	if p := s.account(s.st.View(), id); p != nil {
		return p, nil
	}
	return nil, refuse(NotFound, "player %s does not exist", id)
}

// Scope returns the scope that a new token of a player would have.
func (s *Service) Scope(playerID string) string { return s.scope(s.st.View(), playerID) }

// Links returns the external accounts that are linked to a player.
func (s *Service) Links(playerID string) []*Link {
	var links []*Link
	for l := range s.t.linksOf.Equal(s.st.View(), playerID) {
		links = append(links, l)
	}
	return links
}
