package lobby

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// Deps are the services that a Service uses.
type Deps struct {
	Identity   *identity.Service
	Fleets     *fleet.Service
	Sessions   *session.Service
	Placements *placement.Service
	Matches    *flexmatch.Service
}

// Options are the options of a Service.
type Options struct {
	Offer      Offer
	Logger     *slog.Logger          // nil means none
	Registerer prometheus.Registerer // nil keeps no metrics
}

// Service is the interface of the package, divided by subject.
type Service struct {
	Catalog    *Catalog
	Latencies  *Latencies
	Parties    *Parties
	Tickets    *Tickets
	Placements *Placements
	Games      *Games

	*core
	loop  *wake.Loop
	sweep *store.Action[struct{}]
}

// core is what parties, tickets, placements and game sessions share.
type core struct {
	deps      Deps
	st        *store.Store
	log       *slog.Logger
	watchers  []func(players []string)
	catalog   *Catalog
	latencies *Latencies
}

// New registers the package's tables and commands on the store. Its error names the
// invalid setting of the offer.
func New(st *store.Store, d Deps, o Options) (*Service, error) {
	if err := o.Offer.Check(); err != nil {
		return nil, err
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler)).With("component", "players")
	changes := promauto.With(o.Registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "muster_player_tickets_total", Help: "Changes of players' tickets, by the state they came to.",
	}, []string{"matchmaker", "state"})
	c := &core{
		deps: d, st: st, log: log, latencies: &Latencies{st: st, fleets: d.Fleets, of: map[string]report{}},
		catalog: &Catalog{st: st, matches: d.Matches, placements: d.Placements},
	}
	c.catalog.offer.Store(&o.Offer)
	parties := &Parties{core: c}
	s := &Service{
		core: c, Catalog: c.catalog, Latencies: c.latencies, Parties: parties, Games: &Games{c},
		Tickets:    &Tickets{requests: requests[Ticket, *Ticket]{core: c, kind: "ticket"}, parties: parties, changes: changes},
		Placements: &Placements{requests: requests[Placement, *Placement]{core: c, kind: "placement"}},
	}
	s.Tickets.register()
	s.Parties.register()
	s.Placements.register()
	s.sweep = store.NewAction(st, "play.sweep", s.runSweep)
	s.loop = wake.NewLoop(s.nextDue, s.tidy).LogTo(s.log, "players' rows not tidied; will try again")
	d.Identity.Accounts.OnOut(s.expel)
	d.Sessions.OnMoved(s.moved)
	return s, nil
}

// Reload replaces the offer. o must have passed Check.
func (s *Service) Reload(o Offer) { s.Catalog.offer.Store(&o) }

// OnChanged registers f to be called when a change of players' rows is committed. f must
// not block.
func (s *Service) OnChanged(f func(players []string)) { s.watchers = append(s.watchers, f) }

// notify notifies the watchers, on commit, of players whose rows have changed.
func (c *core) notify(tx *store.Tx, players []string) {
	tx.OnCommit(func() {
		for _, f := range c.watchers {
			f(players)
		}
	})
}

// expel removes a player who was banned, deleted or merged away from everything in
// progress, and notifies the player's connections, whose login has ended.
func (s *Service) expel(tx *store.Tx, player string) {
	s.Tickets.expel(tx, player)
	s.Placements.expel(tx, player)
	if err := s.Parties.expel(tx, player); err != nil {
		s.log.Error("player not taken out of a party", "player_id", player, "error", err)
	}
	s.notify(tx, []string{player})
}

// Run deletes rows when they expire, until ctx is done.
func (s *Service) Run(ctx context.Context) { s.loop.Run(ctx) }

// tidy deletes what has expired.
func (s *Service) tidy(ctx context.Context) error {
	return s.sweep.Do(ctx, struct{}{})
}

func (s *Service) runSweep(tx *store.Tx, _ struct{}) error {
	s.Tickets.sweep(tx)
	s.Placements.sweep(tx)
	for p := range s.Parties.expires.Due(tx, tx.Now()) {
		s.Parties.rows.Delete(tx, p.ID)
		s.notify(tx, p.players())
	}
	return nil
}

// lookEvery is how often to look for the next row to expire. It is far shorter than any
// row is kept, so changes of rows need not wake the loop.
const lookEvery = time.Minute

func (s *Service) nextDue() time.Time {
	now, view := time.Now(), s.st.View()
	return wake.Earliest(now.Add(lookEvery), s.Tickets.expires.NextDue(view), s.Placements.expires.NextDue(view), s.Parties.expires.NextDue(view))
}
