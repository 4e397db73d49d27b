package life

import "time"

// Effects provides the tickets and matches of a Change, and carries out its decisions.
type Effects interface {
	// Match returns the match of a ticket that is REQUIRES_ACCEPTANCE or PLACING.
	Match(id string) *Match

	// Tickets returns the tickets of a match, in order of arrival.
	Tickets(m *Match) []*Ticket

	// Edit returns a ticket to modify until it is written: t, or a copy if t has to stay
	// as it is.
	Edit(t *Ticket) *Ticket

	// Write writes a ticket. If it has ended, why is the cause, unless it is COMPLETED or
	// FAILED.
	Write(t *Ticket, why Cause)

	// Notify publishes an event.
	Notify(n Notice)

	// AwaitAnswers writes a match whose players may answer until AcceptBy. Their answers
	// are passed to Answer; at AcceptBy, Unanswered is called.
	AwaitAnswers(m *Match)

	// Place requests a game session for a match, and writes it and its tickets, which are
	// PLACING. The result is passed to Complete, Unplaced or Fail.
	Place(m *Match, tickets []*Ticket)

	// Fill lets tickets, which are PLACING, join the backfill's game session. The result
	// is passed to Complete or Unfilled.
	Fill(m *Match, tickets []*Ticket)

	// Close writes a match that has ended.
	Close(m *Match)

	// UpdateServer notifies the game server of a backfill ticket that it has ended.
	UpdateServer(t *Ticket, reason string)

	// Resume requests the next automatic backfill for the game session of a ticket.
	Resume(t *Ticket)
}

// Change is a change of tickets and matches at a time.
type Change struct {
	Effects
	Now time.Time
}

// Notice is an event to publish.
type Notice struct {
	Type    NoticeType
	Match   *Match
	Tickets []*Ticket   // of Match, in order of arrival, or the one that the event is about
	Result  string      // of AcceptanceEnded: how it ended
	To      *Connection // of Succeeded; nil if standalone
}

// NoticeType is the type of a published event (developer guide, "FlexMatch matchmaking
// events").
type NoticeType string

// The types of notices.
const (
	SearchingNotice       NoticeType = "MatchmakingSearching"
	ProposedNotice        NoticeType = "PotentialMatchCreated"
	AnsweredNotice        NoticeType = "AcceptMatch"
	AcceptanceEndedNotice NoticeType = "AcceptMatchCompleted"
	SucceededNotice       NoticeType = "MatchmakingSucceeded"
	TimedOutNotice        NoticeType = "MatchmakingTimedOut"
	CancelledNotice       NoticeType = "MatchmakingCancelled"
	FailedNotice          NoticeType = "MatchmakingFailed"
)

// Results of an acceptance (AcceptMatchCompleted).
const (
	AllAccepted        = "Accepted"
	SomeRejected       = "Rejected"
	AcceptanceTimedOut = "TimedOut"
)

// Search takes a QUEUED ticket into the pool.
func (c Change) Search(t *Ticket) { c.search(c.moved(t, Searching)) }

// search writes a ticket that is SEARCHING now.
func (c Change) search(t *Ticket) {
	c.Write(t, 0)
	c.Notify(Notice{Type: SearchingNotice, Tickets: []*Ticket{t}})
}

// moved returns a ticket to modify, in another status.
func (c Change) moved(t *Ticket, to Status) *Ticket {
	t = c.Edit(t)
	Moves.Move(&t.Status, to, t.ID)
	return t
}

// over returns a ticket to write that has ended.
func (c Change) over(t *Ticket, s Status, reason, message string) *Ticket {
	t = c.moved(t, s)
	t.Reason, t.Message, t.Ended = reason, message, c.Now
	return t
}
