package flexmatch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// TestHistories performs random actions of players, game servers and time, with restarts
// in between, and checks the invariants after each step.
func TestHistories(t *testing.T) {
	var mu sync.Mutex
	ends := map[Status]int{}
	t.Run("seeds", func(t *testing.T) {
		for seed := range uint64(60) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h := newHistory(t, seed)
					h.play()
					mu.Lock()
					defer mu.Unlock()
					for _, status := range h.ended {
						ends[status]++
					}
				})
			})
		}
	})
	t.Log(ends)
	for _, status := range []Status{Completed, life.Failed, life.Cancelled, life.TimedOut} {
		if ends[status] == 0 {
			t.Errorf("no ticket ended %s", status)
		}
	}
}

// history is one random run.
type history struct {
	*cell
	t      *testing.T
	driver store.Driver
	rand   *rand.Rand
	made   int
	opened string            // the state's digest when it was opened
	ended  map[string]Status // statuses of ended tickets, which must not change
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{t: t, driver: store.NewMemory(), rand: rand.New(rand.NewPCG(seed, 1)), ended: map[string]Status{}}
	h.open()
	h.hosts(4+h.rand.IntN(4), time.Duration(h.rand.IntN(3))*time.Second)
	accept := h.rand.IntN(2) == 0
	h.configure("mm", squad, Configuration{
		Backfill: []BackfillMode{Manual, Automatic}[h.rand.IntN(2)], AcceptanceRequired: accept,
		AcceptanceTimeout: 20 * time.Second, RequestTimeout: 90 * time.Second, Additional: h.rand.IntN(2),
	})
	h.configure("alone", pairs, Configuration{Mode: Standalone, RequestTimeout: time.Minute, AcceptanceRequired: accept, AcceptanceTimeout: 5 * time.Second})
	return h
}

func (h *history) open() {
	old := h.cell
	h.cell = newCell(h.t, h.driver, Options{})
	h.opened = h.Store.View().Digest()
	if old != nil {
		h.fleet = old.fleet
		_, err := h.Computes.Restart(h.Ctx)
		h.Must(err)
		for _, s := range old.servers { // game servers survive and reconnect
			s.c = h.cell
			h.servers = append(h.servers, s)
			if _, err := h.Computes.Connect(h.Ctx, compute.ConnectInput{Ref: s.ref}, s); err != nil {
				continue // it has ended
			}
		}
	}
	h.Start(h.Computes.Run, h.Sessions.Run, h.places.Run, h.matches.Run)
}

func (h *history) play() {
	defer func() { h.Close() }()
	for range 80 {
		h.step()
		synctest.Wait()
		h.check()
	}
	wait.Settle(3 * time.Minute) // every request has ended by then
	h.check()
	for x := range h.matches.t.tickets.All(h.Store.View()) {
		if x.Status.Waits() && !x.Automatic {
			h.Errorf("%s still waits", x.ID)
		}
	}
}

func (h *history) step() {
	switch n := h.rand.IntN(20); {
	case n < 8:
		h.arrive()
	case n < 10:
		h.act(func(x *Ticket) { _ = h.matches.Stop(h.Ctx, x.ID) })
	case n < 14:
		h.act(h.answer)
	case n < 15:
		h.act(h.fill)
	case n < 16 && h.rand.IntN(2) == 0:
		h.act(func(x *Ticket) { _, _, _ = h.places.Stop(h.Ctx, x.MatchID) })
	case n < 16:
		s := h.servers[h.rand.IntN(len(h.servers))]
		_ = h.Computes.Exited(h.Ctx, s.ref, "by chance")
	case n < 17:
		h.restart()
	case n < 19:
		h.connect()
	default:
		wait.Pass(time.Duration(h.rand.IntN(15000)) * time.Millisecond)
	}
}

// restart stops the node and starts another on the durable state.
func (h *history) restart() {
	stopped := h.Store
	h.Close()
	h.open()
	if before, after := stopped.View(), h.opened; before.Digest() != after {
		h.t.Error("what was read back is not what was in memory")
	}
}

func (h *history) arrive() {
	in := StartInput{Configuration: []string{"mm", "mm", "alone"}[h.rand.IntN(3)], TicketID: fmt.Sprintf("t%03d", h.made)}
	h.made++
	for range 1 + h.rand.IntN(2) {
		in.Players = append(in.Players, Player{ID: fmt.Sprintf("p%02d", h.rand.IntN(30))})
	}
	_, _, _ = h.matches.Start(h.Ctx, in) // the same player twice is refused
}

// act calls f with a random ticket that has not ended.
func (h *history) act(f func(*Ticket)) {
	var all []*Ticket
	for x := range h.matches.t.tickets.All(h.Store.View()) {
		if !x.Status.Over() {
			all = append(all, x)
		}
	}
	if len(all) > 0 {
		f(all[h.rand.IntN(len(all))])
	}
}

func (h *history) answer(x *Ticket) {
	in := AcceptInput{TicketID: x.ID, Answer: Accept}
	for _, m := range x.Members {
		in.PlayerIDs = append(in.PlayerIDs, m.PlayerID)
	}
	if h.rand.IntN(6) == 0 {
		in.Answer = Reject
	}
	_ = h.matches.Answer(h.Ctx, in)
}

// fill requests a backfill for some game session.
func (h *history) fill(*Ticket) {
	for _, s := range h.servers {
		g := h.Sessions.Live(h.Store.View(), s.hosted().GameSessionID)
		if g == nil || g.Status != session.Active {
			continue
		}
		in := StartInput{Configuration: "mm", Backfill: true, GameSessionID: g.ID}
		for p := range h.Sessions.Players.Holding(h.Store.View(), g.ID) {
			in.Players = append(in.Players, Player{ID: p.PlayerID, Team: "squad"})
		}
		_, _, _ = h.matches.Start(h.Ctx, in)
		return
	}
}

// connect lets players of a game session connect or leave.
func (h *history) connect() {
	s := h.servers[h.rand.IntN(len(h.servers))]
	id := s.hosted().GameSessionID
	for p := range h.Sessions.Players.Holding(h.Store.View(), id) {
		switch h.rand.IntN(3) {
		case 0:
			_, _ = h.Sessions.Players.Accept(h.Ctx, s.ref, id, p.ID)
		case 1:
			_ = h.Sessions.Players.Remove(h.Ctx, s.ref, id, p.ID)
		}
	}
}

// checkRosters checks that no game session lists a player twice, and that backfills that wait
// count who plays, once, and no more than have a slot.
func (h *history) checkRosters(view *store.Snapshot) {
	for _, s := range h.servers {
		g := h.Sessions.Live(view, s.hosted().GameSessionID)
		if g == nil {
			continue
		}
		ids := playersIn(g.Matchmaker)
		slices.Sort(ids)
		if n := len(ids); n != len(slices.Compact(ids)) {
			h.Errorf("game session %s is told of %s", g.ID, g.Matchmaker)
		}
		for x := range h.matches.t.bySession.Equal(view, g.ID) {
			if !x.Status.Waits() {
				continue
			}
			for _, m := range x.Members {
				for p := range h.Sessions.Players.Holding(view, g.ID) {
					if p.PlayerID == m.PlayerID && p.Status == session.Playing && m.Away {
						h.Errorf("%s does not count %s, who plays", x.ID, m.PlayerID)
					}
				}
			}
			if held := h.Sessions.Players.Count(view, g.ID); x.Most-len(life.Searchable(x, h.matches.t.requests.Get(view, x.ID)).Players) != max(0, g.MaxPlayers-held) {
				h.Errorf("%s lets a match have %d players, and %d slots of %d are held", x.ID, x.Most, held, g.MaxPlayers)
			}
		}
	}
}

// check checks the invariants.
func (h *history) check() {
	view := h.Store.View()
	h.checkRosters(view)
	players, fills := map[string]string{}, map[string]string{}
	for x := range h.matches.t.tickets.All(view) {
		if was, ok := h.ended[x.ID]; ok && was != x.Status {
			h.Errorf("%s was %s and is %s", x.ID, was, x.Status)
		}
		if x.Status.Over() {
			h.ended[x.ID] = x.Status
		}
		h.checkMatch(view, x)
		if x.Status.Over() || x.Backfill {
			continue
		}
		for _, m := range x.Members {
			if other := players[m.PlayerID]; other != "" && h.matches.t.tickets.Get(view, other).Status != life.Placing && x.Status != life.Placing {
				h.Errorf("player %s is in %s and %s", m.PlayerID, other, x.ID)
			}
			players[m.PlayerID] = x.ID
		}
	}
	for x := range h.matches.t.tickets.All(view) {
		if !x.Backfill || x.Status.Over() {
			continue
		}
		if other := fills[x.GameSessionID]; other != "" {
			h.Errorf("game session %s is filled by %s and %s", x.GameSessionID, other, x.ID)
		}
		fills[x.GameSessionID] = x.ID
		if g := h.Sessions.Live(view, x.GameSessionID); g == nil || g.Status.Ended() {
			h.Errorf("%s fills a game session that is over", x.ID)
		}
	}
	for m := range h.matches.t.matches.All(view) {
		for _, id := range m.Tickets {
			if x := h.matches.t.tickets.Get(view, id); x == nil || x.MatchID != m.ID || x.Status != RequiresAcceptance && x.Status != life.Placing {
				h.Errorf("match %s holds %s, which is %+v", m.ID, id, x)
			}
		}
	}
}

// checkMatch checks a ticket against its match and its game session.
func (h *history) checkMatch(view *store.Snapshot, x *Ticket) {
	switch x.Status {
	case RequiresAcceptance, life.Placing:
		if m := h.matches.t.matches.Get(view, x.MatchID); m == nil {
			h.Errorf("%s is %s without a match", x.ID, x.Status)
		}
	case Completed:
		for _, m := range x.Members {
			if m.Team == "" {
				h.Errorf("%s is COMPLETED and player %s has no team", x.ID, m.PlayerID)
			}
			if x.Configuration == "mm" && !x.Backfill && m.PlayerSessionID == "" {
				h.Errorf("%s is COMPLETED and player %s has no player session", x.ID, m.PlayerID)
			}
		}
	}
}
