package placement

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/state"
	"github.com/musterhq/muster/internal/store"
)

// Attempt is an attempt to place a game session at a remote. Its row is written before
// anything is sent, and is the work item of the sender (send.go) until nothing of the
// attempt is unknown or left behind. It outlives its placement if that ends first.
type Attempt struct {
	Token       string        `json:"token"` // its key, and the IdempotencyToken of all requests
	PlacementID string        `json:"placement_id"`
	Status      AttemptStatus `json:"status"`
	Place       Place         `json:"place"`
	Began       time.Time     `json:"began"`
	Session     RemoteSession `json:"session,omitzero"` // once known

	// LateUntil is until when an attempt that is ENDING may have a game session that the remote
	// does not show: a request to create it that had no answer may still be carried out, and
	// one that was created may be shown again. GiveUp is when such an attempt is given up.
	LateUntil time.Time `json:"late_until,omitzero"`
	GiveUp    time.Time `json:"give_up,omitzero"`
}

// AttemptStatus is the state of an attempt at a remote.
type AttemptStatus string

// The states of an attempt.
const (
	Sending AttemptStatus = "SENDING" // a request to create a game session is sent, or about to be
	Created AttemptStatus = "CREATED" // there is a game session, which is not ready yet
	Ending  AttemptStatus = "ENDING"  // what there may be has to be ended
	Settled AttemptStatus = "SETTLED" // nothing is unknown any more; the row is deleted
)

// AttemptMoves lists each allowed change of an attempt's status and what causes it.
var AttemptMoves = state.Machine[AttemptStatus]{
	{"", Sending}:      "the queue's plan chose a place of a remote",
	{Sending, Created}: "the remote answers with a game session",
	{Sending, Settled}: "the remote refuses, or its game session has ended: the placement waits again",
	{Sending, Ending}:  "the placement ends, the remote refuses or is silent after an answer was lost, or its game session is being ended",
	{Created, Settled}: "the placement is fulfilled, or its game session has ended and it waits again",
	{Created, Ending}:  "the placement ends, its players get no slots, or the remote is silent, does not know its game session or is ending it",
	{Ending, Settled}:  "nothing is left of it",
}

func (a *Attempt) move(to AttemptStatus) { AttemptMoves.Move(&a.Status, to, a.Token) }

const (
	// lateness is how long a request that had no answer may still be carried out: by then
	// its signature has expired (Signature Version 4: 5 minutes, with 5 of tolerance for
	// clocks that differ).
	lateness = 10 * time.Minute
	// patience is how long a remote is asked to end a game session that nobody uses.
	patience = 24 * time.Hour
)

// Answer is what the sender learned from a remote about an attempt. Exactly one of Session,
// Refusal and Gone says what.
type Answer struct {
	Token   string        `json:"token"`
	Session RemoteSession `json:"session,omitzero"`
	Placed  []Placed      `json:"placed,omitzero"` // with Session: every player has a slot
	Ready   bool          `json:"ready,omitzero"`  // with Session: it is ACTIVE, and Placed is complete
	Refusal *Refusal      `json:"refusal,omitzero"`
	Doubt   bool          `json:"doubt,omitzero"` // with Refusal: there may be a game session nevertheless
	Gone    bool          `json:"gone,omitzero"`  // of an attempt that is ENDING: nothing is left, or the sender gives up
}

// verdict is what becomes of the placement of an attempt.
type verdict string

const (
	unchanged verdict = ""
	fulfilled verdict = "fulfilled"
	elsewhere verdict = "elsewhere" // it waits again; the place is full or away for a while
	failedAt  verdict = "failed"    // it waits again; the place comes last from then on
	noSlots   verdict = "no slots"  // it has failed: the players get no slots
)

// after returns what an answer makes of an attempt, and of its placement. It is pure. An
// answer that comes too late changes nothing.
func (a Attempt) after(x Answer, now time.Time) (Attempt, verdict) {
	switch a.Status {
	case Sending:
		return a.sent(x, now)
	case Created:
		return a.awaited(x, now)
	case Ending:
		switch {
		case x.Gone, x.Refusal != nil && !x.Doubt && a.Session.ID == "", x.Session.gone():
			a.move(Settled)
		case x.Session.ID != "":
			a.Session = x.Session
		}
	}
	return a, unchanged
}

func (a Attempt) sent(x Answer, now time.Time) (Attempt, verdict) {
	switch {
	case x.Session.ended(): // it was created by a request without an answer
		a.over(x.Session, now)
		return a, failedAt
	case x.Session.ID != "":
		a.move(Created)
		a.Session = x.Session
		return a, unchanged
	case x.Refusal == nil:
		return a, unchanged
	case x.Doubt:
		a.end(now)
	default:
		a.move(Settled)
	}
	if k := x.Refusal.Kind; k == Refused || k == Denied || k == WrongStatus || k == Missing {
		return a, failedAt
	}
	return a, elsewhere
}

func (a Attempt) awaited(x Answer, now time.Time) (Attempt, verdict) {
	switch {
	case x.Session.ID != "" && x.Session.ID != a.Session.ID: // cannot be: one token, one game session
	case x.Session.ended():
		a.over(x.Session, now)
		return a, failedAt
	case x.Refusal != nil && x.Doubt:
		a.end(now)
		return a, failedAt
	case x.Refusal != nil:
		a.end(now)
		return a, noSlots
	case x.Ready:
		a.move(Settled)
		return a, fulfilled
	}
	return a, unchanged
}

// over settles an attempt whose game session takes no players any more, or makes the sender
// wait until that has ended.
func (a *Attempt) over(g RemoteSession, now time.Time) {
	a.Session = g
	if g.gone() {
		a.move(Settled)
		return
	}
	a.end(now)
}

// end makes the sender end whatever there is of the attempt.
func (a *Attempt) end(now time.Time) {
	a.LateUntil, a.GiveUp = now.Add(lateness), now.Add(patience)
	a.move(Ending)
}

// attempt writes an attempt at a remote and commits its placement to it. It is sent as soon
// as both rows are durable.
func (w *away) attempt(tx *store.Tx, old *Placement, proposal Proposal) {
	a := &Attempt{Token: w.token(tx, old, proposal), PlacementID: old.ID, Place: proposal.Place, Began: tx.Now()}
	a.move(Sending)
	p := *old
	p.Attempt = a.Token
	p.Attempts++
	p.keep(proposal.Round)
	w.s.put(tx, &p)
	w.s.t.attempts.Put(tx, a)
	tx.OnCommit(func() {
		w.board.take(a.Place, a.Token)
		w.fresh(a.Token)
	})
	w.s.events.Append(tx, event.Event{Code: event.PlacementSent, Resource: p.ID, Location: a.Place.Location, Message: "to " + called(a.Place.Remote) + ", fleet " + a.Place.FleetID})
}

// token returns the token of a new attempt. That of an attempt in another region of the
// deployment ends the id of its game session as here (sessionName), with the placement's id. Once
// the database has lost commits, a game session of a placement that is not known any more may
// have the same.
func (w *away) token(tx *store.Tx, p *Placement, proposal Proposal) string {
	if !proposal.Neighbor {
		return tx.ID("muster-")
	}
	taken := p.Attempts > 0 || w.s.t.attempts.Get(tx, p.ID) != nil
	for range w.s.computes.Losses(tx) {
		taken = true
	}
	if !taken {
		return p.ID
	}
	for {
		if token := fmt.Sprintf("%s-%08x", p.ID, tx.Rand().Uint32()); w.s.t.attempts.Get(tx, token) == nil {
			return token
		}
	}
}

// abandon makes an attempt end what there is at a remote for a placement that has ended.
func (w *away) abandon(tx *store.Tx, token string) {
	if old := w.s.t.attempts.Get(tx, token); old != nil && old.Status != Ending {
		a := *old
		a.end(tx.Now())
		w.s.t.attempts.Put(tx, &a)
		tx.OnCommit(func() { w.hasten(token) })
	}
}

// runAnswer changes an attempt, and its placement, as an answer of the remote requires.
func (w *away) runAnswer(tx *store.Tx, x Answer) error {
	old := w.s.t.attempts.Get(tx, x.Token)
	if old == nil {
		return nil
	}
	a, then := old.after(x, tx.Now())
	if a.Status == Settled {
		w.s.t.attempts.Delete(tx, a.Token)
	} else if a != *old {
		w.s.t.attempts.Put(tx, &a)
	}
	if x.Gone && old.Status == Ending && !tx.Now().Before(old.GiveUp) {
		w.s.events.Append(tx, event.Event{
			Code: event.PlacementLeft, Resource: a.PlacementID, GameSessionID: a.Session.ID, Location: a.Place.Location,
			Message: fmt.Sprintf("%s was asked for %s to end the game session with token %s and did not", called(a.Place.Remote), patience, a.Token),
		})
	}
	if p := w.s.t.placements.Get(tx, a.PlacementID); p != nil && p.Away() && p.Attempt == a.Token {
		w.follow(tx, p, &a, x, then)
	}
	return nil
}

// follow changes a placement as its attempt at a remote requires.
func (w *away) follow(tx *store.Tx, old *Placement, a *Attempt, x Answer, then verdict) {
	p := *old
	switch then {
	case fulfilled:
		p.forget()
		p.GameSessionID, p.Location = x.Session.ID, a.Place.Location
		p.IPAddress, p.DNSName, p.Port = x.Session.IPAddress, x.Session.DNSName, x.Session.Port
		p.Placed = x.Placed
		p.move(Fulfilled)
		p.Ended = tx.Now()
		p.ArchiveAt = tx.Now().Add(w.s.opts.Linger)
		w.s.recordEnd(tx, &p)
	case noSlots:
		w.s.finish(tx, old, Failed, called(a.Place.Remote)+" has no slots for the players: "+x.Refusal.Message)
	case elsewhere, failedAt:
		why := "its game session ended before it was ACTIVE"
		if x.Refusal != nil {
			why = x.Refusal.Message
		}
		if a.Status == Ending {
			why += "; any game session there with token " + a.Token + " is ended"
		}
		if then == failedAt {
			p.failed(a.Place)
			if x.Refusal != nil {
				p.shun(a.Place, x.Refusal.Message, tx.Now())
			}
		}
		p.keep(Round{At: tx.Now(), Result: called(a.Place.Remote) + ": " + why + "; trying elsewhere"})
		p.forget()
		p.RoundAt = tx.Now()
		tx.OnCommit(func() { w.s.retried.Add(1) }) // before the nudge
		w.s.put(tx, &p)
		w.s.events.Append(tx, event.Event{Code: event.PlacementRetried, Resource: p.ID, FleetID: a.Place.FleetID, Location: a.Place.Location, Message: why})
	}
}
