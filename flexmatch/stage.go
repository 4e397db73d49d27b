package flexmatch

import (
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/store"
)

// Stage is a part of the time from StartMatchmaking until a ticket has its game session.
type Stage string

// The stages.
const (
	Matching  Stage = "match"  // until it is first in a match
	Accepting Stage = "accept" // from then until the last player of the match has accepted, if they are asked
	Placing   Stage = "place"  // from then until it has a game session; standalone matches have none
)

// OnStage registers f to be called in each transaction in which a ticket that is no backfill ends
// a stage. It must be called before the store is opened.
func (s *Service) OnStage(f func(tx *store.Tx, t *Ticket, ended Stage, took time.Duration)) {
	s.lives.staged = append(s.lives.staged, f)
}

// stages reports the stages of tickets that have ended with a notice.
func (c *change) stages(n life.Notice) {
	for _, t := range n.Tickets {
		switch {
		case t.Backfill:
		case n.Type == life.ProposedNotice && t.Matched.Equal(c.Now): // not one that searched again
			c.stage(t, Matching, c.Now.Sub(t.Started))
		case n.Type == life.AcceptanceEndedNotice && n.Result == life.AllAccepted:
			c.stage(t, Accepting, c.Now.Sub(n.Match.Created))
		case n.Type == life.SucceededNotice && n.To != nil:
			c.stage(t, Placing, c.Now.Sub(n.Match.Proceeded()))
		}
	}
}

func (c *change) stage(t *Ticket, ended Stage, took time.Duration) {
	configuration := t.Configuration
	c.tx.OnCommit(func() { c.metrics.staged(configuration, ended, took) })
	for _, f := range c.staged {
		f(c.tx, t, ended, took)
	}
}
