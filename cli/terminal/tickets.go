package terminal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/plain"
)

// Tickets shows the tickets of a configuration, or of all if its name is ""; with a status,
// only those that have it.
func (t *Terminal) Tickets(ctx context.Context, configuration, status string) error {
	return t.show(ctx, func(ctx context.Context) (table, error) {
		all, err := t.Client.Matchmaking().Tickets(ctx, configuration)
		if err != nil {
			return table{}, err
		}
		if status != "" {
			all = slices.DeleteFunc(all, func(k client.Ticket) bool { return !strings.EqualFold(k.Status, status) })
		}
		view := table{data: all, Table: Table{Head: []string{"TICKET", "CONFIGURATION", "STATUS", "PLAYERS", "WAITED", "AGE", "RESULT"}}}
		for _, k := range all {
			waited := time.Since(k.Started)
			if !k.Ended.IsZero() {
				waited = k.Ended.Sub(k.Started)
			}
			players := strings.Join(k.Players[:min(len(k.Players), 3)], " ")
			if more := len(k.Players) - 3; more > 0 {
				players += fmt.Sprintf(" and %d more", more)
			}
			view.Rows = append(view.Rows, []string{
				k.ID, k.Configuration, k.Status, players, waited.Round(100 * time.Millisecond).String(), since(k.Started), cmp.Or(shortID(k.Session), k.Reason),
			})
		}
		return view, nil
	})
}

// ExplainTicket shows why a ticket waits or has timed out, or its outcome.
func (t *Terminal) ExplainTicket(ctx context.Context, id string) error {
	e, raw, err := t.Client.Matchmaking().ExplainTicket(ctx, id)
	if err != nil {
		return err
	}
	if t.JSON {
		return WriteJSON(t.Out, raw)
	}
	switch {
	case e.Late != nil:
		if err := t.unplaced(ticketLine(e), e); err != nil {
			return err
		}
		for _, text := range []string{"", "At that age, among the tickets that wait now:"} {
			if err := t.line(text); err != nil {
				return err
			}
		}
		return e.Late.WriteText(t.Out)
	case e.Waiting == nil && e.Placement != nil:
		if err := t.line(ticketLine(e)); err != nil {
			return err
		}
		return t.placing(e.Placement)
	case e.Waiting == nil:
		return t.line(ticketLine(e))
	}
	head := fmt.Sprintf("%s in %s; it times out at %s", e.Ticket.Status, e.Ticket.Configuration, e.Ticket.Deadline.Local().Format(time.TimeOnly))
	if err := t.unplaced(head, e); err != nil {
		return err
	}
	return e.Waiting.WriteText(t.Out)
}

// unplaced writes the first line about a ticket and, if matches of it found no place, how often and
// why the last of them did not.
func (t *Terminal) unplaced(head string, e *client.TicketExplanation) error {
	if err := t.line(head); err != nil || e.Ticket.Unplaced == 0 {
		return err
	}
	if err := t.line(fmt.Sprintf("It was matched %s, but no place was free before the queue's timeout.", plain.Count(e.Ticket.Unplaced, "time"))); err != nil || e.Placement == nil {
		return err
	}
	return t.placing(e.Placement)
}

// placing shows what a placement waits for, or the last that it tried.
func (t *Terminal) placing(e *client.Explanation) error {
	if err := t.line(head(e)); err != nil {
		return err
	}
	switch {
	case e.Now != nil:
		return t.showRound("Now", *e.Now)
	case len(e.Rounds) > 0:
		return t.showRound("At the end", e.Rounds[len(e.Rounds)-1])
	}
	return nil
}

// ticketLine returns the status of a ticket that is not waiting as one line.
func ticketLine(e *client.TicketExplanation) string {
	k := e.Ticket
	text := fmt.Sprintf("Ticket %s in %s is %s", k.ID, k.Configuration, k.Status)
	switch {
	case k.Status == "REQUIRES_ACCEPTANCE":
		text += ": match " + k.MatchID + unanswered(e)
	case k.Message != "":
		text += ": " + strings.TrimSuffix(k.Message, ".")
	case k.Reason != "":
		text += ": " + k.Reason
	case k.GameSessionID != "":
		text += ": game session " + k.GameSessionID
	case k.MatchID != "":
		text += ": match " + k.MatchID
	}
	if k.Ended.IsZero() {
		return text
	}
	return text + fmt.Sprintf("; it took %s", k.Ended.Sub(k.Started).Round(time.Millisecond))
}

// unanswered names the ticket's players who have not accepted yet.
func unanswered(e *client.TicketExplanation) string {
	var silent []string
	for _, m := range e.Ticket.Members {
		if m.Answer == "" {
			silent = append(silent, m.PlayerID)
		}
	}
	if len(silent) == 0 {
		return "; players of other tickets have not accepted it yet"
	}
	return "; not accepted yet by " + strings.Join(silent, ", ")
}

// ExplainMatchmaking shows why the tickets of a configuration wait.
func (t *Terminal) ExplainMatchmaking(ctx context.Context, configuration string) error {
	v, raw, err := t.Client.Matchmaking().Explain(ctx, configuration)
	if err != nil {
		return err
	}
	if t.JSON {
		return WriteJSON(t.Out, raw)
	}
	return v.WriteText(t.Out)
}
