package identity

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
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
	Accounts  *Accounts
	Logins    *Logins
	Merges    *Merges
	Tokens    *Tokens
	Data      *Data
	Providers *Providers
	Records   *Records // moves players between deployments; in the home region only

	// Copy makes what this region knows of players a copy of the home region's.
	Copy *store.Action[Shared]

	st    *store.Store
	log   *slog.Logger
	aged  []aged
	sweep *store.Command[struct{}, bool]
}

// rows are the tables that make up an account: the player, the linked external accounts
// and the logins. Accounts, Logins, Merges and Tokens share them.
type rows struct {
	st       *store.Store
	opts     *Options
	events   *event.Log
	players  *players
	links    *links
	families *families
	copies   *copies // of the home region's; nil: the accounts are in this region
}

// New registers the package's tables and commands on the store. The error names the
// invalid option or provider.
func New(st *store.Store, d Deps, o Options) (*Service, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	providers, err := newProviders(o.Providers, d.Client)
	if err != nil {
		return nil, err
	}
	r := &rows{
		st: st, opts: &o, events: d.Events, players: newPlayers(st, d.Events), links: newLinks(st, d.Events),
		families: newFamilies(st, d.Secrets.Derive("player refresh tokens"), &o),
	}
	keys, proofs, data := newKeys(st, d, &o), newProofs(st, o.ReuseIDTokens), newData(st, r.players, o.Home)
	copies := newCopies(r, keys)
	if o.Home != nil {
		r.copies = copies
	}
	tokens := newTokens(r, keys)
	merges := newMerges(r, tokens, proofs)
	s := &Service{
		Accounts: newAccounts(r, data), Logins: newLogins(r, providers, tokens, proofs, merges), Merges: merges,
		Tokens: tokens, Data: data, Providers: providers, Records: newRecords(r, data),
		st: st, log: cmp.Or(d.Logger, slog.New(slog.DiscardHandler)).With("component", "identity"),
	}
	s.aged = []aged{
		expiring(r.families.expires, func(tx *store.Tx, f *Family) int { r.families.table.Delete(tx, f.ID); return 1 }),
		expiring(proofs.expires, func(tx *store.Tx, u *usedProof) int { proofs.table.Delete(tx, u.Hash); return 1 }),
		expiring(merges.expires, func(tx *store.Tx, c *conflict) int { merges.table.Delete(tx, c.PlayerID); return 1 }),
		expiring(r.players.purge, func(tx *store.Tx, p *Player) int { return s.Accounts.erase(tx, p.ID, "") }),
		expiring(keys.expires, func(tx *store.Tx, k *SigningKey) int { keys.remove(tx, k); return 1 }),
	}
	if o.GuestKeep > 0 {
		s.aged = append(s.aged, expiring(r.players.idle, s.Accounts.retire))
	}
	s.Copy = store.NewAction(st, "player.copy", copies.run)
	s.sweep = store.NewCommand(st, "player.sweep", s.runSweep)
	return s, nil
}

// Open creates the first signing key if there is none, and the accounts are here. It must be called once the store
// is open and before the first login.
func (s *Service) Open(ctx context.Context) error { return s.Tokens.Keys.ensure(ctx) }

// sweepEvery is how often expired rows are removed and keys are checked.
const sweepEvery = time.Minute

// Run removes what has expired and creates signing keys in time, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	next := time.Now()
	wake.NewLoop(func() time.Time { return next }, func(ctx context.Context) error {
		if err := s.Tokens.Keys.ensure(ctx); err != nil {
			return err
		}
		for more := s.anyExpired(s.st.View(), time.Now()); more; {
			var err error
			if more, err = s.sweep.Do(ctx, struct{}{}); err != nil {
				return err
			}
		}
		next = time.Now().Add(sweepEvery)
		return nil
	}).LogTo(s.log, "players not looked after").Run(ctx)
}

// runSweep removes what has expired, up to a limit, and reports whether there is more.
func (s *Service) runSweep(tx *store.Tx, _ struct{}) (more bool, err error) {
	for _, a := range s.aged {
		a.remove(tx)
	}
	return s.anyExpired(tx, tx.Now()), nil
}

func (s *Service) anyExpired(r store.Reader, now time.Time) bool {
	return slices.ContainsFunc(s.aged, func(a aged) bool { return a.any(r, now) })
}

// aged is a kind of rows that are removed once they expire.
type aged struct {
	any    func(store.Reader, time.Time) bool // reports whether there are any to remove
	remove func(*store.Tx)
}

// expiring returns the aged rows of an index by time. One call removes rows until about
// store.DueAtOnce are gone; remove returns how many rows it removed for one of them.
func expiring[V any](by *store.DueIndex[V], remove func(*store.Tx, *V) int) aged {
	return aged{any: by.AnyDue, remove: func(tx *store.Tx) {
		n := 0
		for row := range by.Due(tx, tx.Now()) {
			if n >= store.DueAtOnce {
				return
			}
			n += remove(tx, row)
		}
	}}
}

func some[V any](rows iter.Seq[*V]) bool {
	for range rows {
		return true
	}
	return false
}
