package life

// Reasons for updates to game servers (UpdateReason of the server SDKs).
const (
	backfillFailed    = "BACKFILL_FAILED"
	backfillTimedOut  = "BACKFILL_TIMED_OUT"
	backfillCancelled = "BACKFILL_CANCELLED"
)

// Cause is why a ticket ends without a match.
type Cause int

// The causes.
const (
	Overdue       Cause = iota + 1 // RequestTimeoutSeconds passed
	Stopped                        // StopMatchmaking, or the end of automatic backfill
	Declined                       // a player rejected the match or did not answer
	Duplicate                      // a newer ticket of the same player
	Replaced                       // a newer backfill of the same game session
	SessionEnded                   // of the game session to fill up
	DeniesPlayers                  // of the game session to fill up
)

type end struct {
	status  Status
	reason  string     // StatusReason, as AWS writes it (FlexMatch matchmaking events)
	message string     // StatusMessage, likewise
	notice  NoticeType // "" publishes none
	update  string     // the reason sent to the game server of a backfill; "" sends nothing
	resume  bool       // automatic backfill may continue
}

const (
	cancelled       = "Cancelled"
	duplicatePlayer = "Cancelled due to duplicate player" // AWS publishes no event for it

	// StoppedMessage is the message of tickets that were stopped.
	StoppedMessage = "Cancelled by request."

	// UnplacedMessage is the message of tickets that search again because the queue found no
	// place for their match.
	UnplacedMessage = "Matched, but no place was free before the queue's timeout. The ticket searches again."
	unfilledMessage = "Matched, but the game session took no players. The ticket searches again."

	// acceptanceFailed is the StatusReason of tickets that search again because others did
	// not accept the match (choice: AWS only says that there is one).
	acceptanceFailed = "AcceptanceFailed"
)

var ends = [...]end{
	Overdue:       {TimedOut, "TimedOut", "Removed from matchmaking due to timing out.", TimedOutNotice, backfillTimedOut, true},
	Stopped:       {Cancelled, cancelled, StoppedMessage, CancelledNotice, backfillCancelled, true},
	Declined:      {Cancelled, cancelled, "One or more players of the ticket did not accept the match.", CancelledNotice, "", false},
	Duplicate:     {Cancelled, duplicatePlayer, duplicatePlayer, "", backfillCancelled, false},
	Replaced:      {Cancelled, cancelled, "Replaced by a newer backfill request of the game session.", CancelledNotice, "", false},
	SessionEnded:  {Cancelled, cancelled, "The game session has ended.", CancelledNotice, "", false},
	DeniesPlayers: {Cancelled, cancelled, "The game session takes no new players.", CancelledNotice, backfillCancelled, true},
}

// End ends a ticket that waits or is asked; the other tickets of its match search again.
// A ticket that is PLACING or has ended stays as it is.
func (c Change) End(t *Ticket, why Cause) {
	if !t.Status.stops() {
		return
	}
	if t.Status == RequiresAcceptance {
		m := c.Match(t.MatchID)
		for _, other := range c.Tickets(m) {
			if other.ID != t.ID {
				c.again(other, acceptanceFailed, "")
			}
		}
		c.close(m, "dissolved: ticket "+t.ID+" was withdrawn", "")
	}
	c.end(t, why)
}

func (c Change) end(t *Ticket, why Cause) {
	e := &ends[why]
	t = c.over(t, e.status, e.reason, e.message)
	c.Write(t, why)
	if e.notice != "" {
		c.Notify(Notice{Type: e.notice, Tickets: []*Ticket{t}})
	}
	if t.Backfill && e.update != "" {
		c.UpdateServer(t, e.update)
	}
	if t.Backfill && e.resume {
		c.Resume(t)
	}
}

// again returns a ticket to its pool with its original age, or times it out if its
// deadline has passed.
func (c Change) again(t *Ticket, reason, message string) {
	t = c.moved(t, Searching)
	t.Reason, t.Message = reason, message
	t.leave()
	if t.Deadline.After(c.Now) {
		c.search(t)
	} else {
		c.end(t, Overdue)
	}
}
