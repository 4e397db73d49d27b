package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// census compares how many players a program without an SDK says it has with the player sessions
// that hold a slot. It knows how many, and never who.
type census struct {
	there   int // players, as the program says
	settled int // player sessions whose reservation time is over: these players have come, or are gone
	fresh   int // the others, whose players may be on the way
	others  int // players without a player session, as was found last time
}

// plan returns how many settled player sessions have to end, since fewer players are there, and
// how many players there are without one. That number changes only as far as it must: while
// players are on the way, nobody knows whether a player who is there is one of them.
func (c census) plan() (leave, others int) {
	leave = max(0, c.settled-c.there)
	most := c.there - (c.settled - leave)
	least := max(0, most-c.fresh)
	return leave, min(max(c.others, least), most)
}

type censusArgs struct {
	ProcessKey, GameSessionID string
	Players                   int
}

// ReportPlayers records how many players a program without an SDK has in its game session. Players
// beyond its player sessions use slots of their own; if there are fewer than there are player
// sessions whose reservation time is over, the oldest of these are COMPLETED. More players
// than the game session has slots for count as that many.
// Errors: NotFound, InvalidRequest (a negative number), Conflict (the program accepts its players).
func (s *Service) ReportPlayers(ctx context.Context, ref compute.Ref, gameSessionID string, players int) error {
	if players < 0 {
		return fault.Invalid("Players: must be 0 or more")
	}
	a := censusArgs{ref.Key(), gameSessionID, players}
	view := s.st.View()
	g, err := s.censusOf(view, a)
	if err != nil {
		return err
	}
	if leavers, others := s.compare(view, g, a.Players, time.Now()); len(leavers) == 0 && others == g.Others {
		return nil // most reports change nothing, and cost no write
	}
	return s.census.Do(ctx, a)
}

func (s *Service) runCensus(tx *store.Tx, a censusArgs) error {
	old, err := s.censusOf(tx, a)
	if err != nil {
		return err
	}
	leavers, others := s.compare(tx, old, a.Players, tx.Now())
	if others != old.Others {
		g := *old
		g.Others = others
		s.put(tx, &g)
	}
	for _, p := range leavers {
		s.Players.end(tx, p, Completed)
		s.Players.record(tx, event.PlayerSessionRemoved, p)
	}
	if others != old.Others {
		call(tx, s.updated, s.Live(tx, old.ID))
	}
	return nil
}

// censusOf returns the game session whose players are reported.
func (s *Service) censusOf(r store.Reader, a censusArgs) (*GameSession, error) {
	g, err := s.hostedBy(r, a.ProcessKey, a.GameSessionID)
	if err != nil {
		return nil, err
	}
	if p := s.computes.Process(r, a.ProcessKey); p == nil || !p.Wrapped() {
		return nil, fault.New(fault.Conflict, "the process accepts its players itself, with AcceptPlayerSession, so their number cannot be reported")
	}
	return g, nil
}

// compare returns the player sessions that end since fewer players are there, and the number of
// players without one.
func (s *Service) compare(r store.Reader, g *GameSession, players int, now time.Time) (leavers []*PlayerSession, others int) {
	var settled []*PlayerSession
	c := census{there: min(players, g.MaxPlayers), others: g.Others}
	for p := range s.Players.Holding(r, g.ID) {
		if now.Before(p.ReservedUntil) {
			c.fresh++
		} else {
			settled = append(settled, p)
		}
	}
	c.settled = len(settled)
	leave, others := c.plan()
	slices.SortFunc(settled, func(a, b *PlayerSession) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return settled[:leave], others
}
