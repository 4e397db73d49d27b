package life

import "time"

// Rows reads the current tickets and matches.
type Rows interface {
	Ticket(id string) *Ticket // nil if there is none
	Match(id string) *Match   // of a ticket that is REQUIRES_ACCEPTANCE or PLACING
}

// Change is a change of tickets and matches at a time.
type Change struct {
	Rows Rows
	Now  time.Time
}

// Do is what a step does.
type Do int

// The steps.
const (
	Write  Do = iota + 1 // write Ticket
	Notify               // publish Notice
	Ask                  // write Match and wait for its players' answers until AcceptBy; then Unanswered
	Place                // request a game session for Match, and write it and its Tickets, which are PLACING; later Complete or Fail
	Fill                 // let Tickets, which are PLACING, join the backfill's game session; then Complete or Unfilled
	Close                // write Match, which has ended
	Tell                 // notify the game server of the backfill Ticket of its end, with Reason
	Resume               // request the next automatic backfill for the game session of Ticket
)

// Step is one thing to carry out.
type Step struct {
	Do      Do
	Ticket  *Ticket
	Match   *Match
	Tickets []*Ticket // of Match, in order of arrival, or the one of a Notice without Match
	Notice  Notice
	Reason  string      // of Tell; of AcceptanceEndedNotice, how it ended
	To      *Connection // of SucceededNotice; nil if standalone
	Cause   Cause       // of a Write that ends a ticket: why, unless Completed or Failed
}

// Notice is the type of a published event (developer guide, "FlexMatch matchmaking
// events").
type Notice string

// The notices.
const (
	SearchingNotice       Notice = "MatchmakingSearching"
	ProposedNotice        Notice = "PotentialMatchCreated"
	AnsweredNotice        Notice = "AcceptMatch"
	AcceptanceEndedNotice Notice = "AcceptMatchCompleted"
	SucceededNotice       Notice = "MatchmakingSucceeded"
	TimedOutNotice        Notice = "MatchmakingTimedOut"
	CancelledNotice       Notice = "MatchmakingCancelled"
	FailedNotice          Notice = "MatchmakingFailed"
)

// Results of an acceptance (AcceptMatchCompleted).
const (
	AllAccepted        = "Accepted"
	SomeRejected       = "Rejected"
	AcceptanceTimedOut = "TimedOut"
)

// Search takes a QUEUED ticket into the pool.
func (c Change) Search(t *Ticket) []Step { return searching(nil, t.moved(Searching)) }

// searching appends the steps for a ticket that is SEARCHING now.
func searching(steps []Step, t *Ticket) []Step {
	return append(steps, Step{Do: Write, Ticket: t}, Step{Do: Notify, Notice: SearchingNotice, Tickets: []*Ticket{t}})
}

// Tickets returns the tickets of a match.
func (c Change) Tickets(m *Match) []*Ticket {
	out := make([]*Ticket, len(m.Tickets))
	for i, id := range m.Tickets {
		out[i] = c.Rows.Ticket(id)
	}
	return out
}
