package terminal

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/plain"
)

// Explain shows how a placement was decided so far: every round with its candidates, in
// order, and their outcomes.
func (t *Terminal) Explain(ctx context.Context, placementID string) error {
	e, raw, err := t.Client.Placements().Explain(ctx, placementID)
	if err != nil {
		return err
	}
	if t.JSON {
		return WriteJSON(t.Out, raw)
	}
	if err := t.line(head(e)); err != nil {
		return err
	}
	if caps := capLine(e); caps != "" {
		fmt.Fprintln(t.Out, caps) // only numbers: nothing to escape
	}
	if a := e.Attempt; a != nil {
		if err := t.line(fmt.Sprintf("Attempt at %s, fleet %s in %s: %s since %s", a.Place.Remote, shortID(a.Place.FleetID), a.Place.Location, a.Status, a.Began.Local().Format(time.TimeOnly))); err != nil {
			return err
		}
	}
	for i, r := range e.Rounds {
		title := fmt.Sprintf("Round %d, after %s", i+1, r.At.Sub(e.Placement.Started))
		if err := t.showRound(title, r); err != nil {
			return err
		}
	}
	if e.Now == nil {
		return nil
	}
	return t.showRound(fmt.Sprintf("Now, after %s", e.Now.At.Sub(e.Placement.Started).Round(time.Millisecond)), *e.Now)
}

// head returns the placement's status as one line.
func head(e *client.Explanation) string {
	p := e.Placement
	text := fmt.Sprintf("Placement %s in queue %s is %s", p.ID, p.Queue, p.Status)
	switch {
	case p.Reason != "":
		text += ": " + p.Reason
	case p.GameSessionID != "" && p.Ended.IsZero():
		text += fmt.Sprintf(": game session %s in %s is being activated", p.GameSessionID, p.Location)
	case p.GameSessionID != "":
		text += fmt.Sprintf(": game session %s in %s", p.GameSessionID, p.Location)
	}
	if p.Ended.IsZero() {
		return text + fmt.Sprintf("; it times out at %s", p.Deadline.Local().Format(time.TimeOnly))
	}
	return text + fmt.Sprintf("; it took %s", p.Ended.Sub(p.Started))
}

// capLine returns the latency caps over the placement's lifetime, or "".
func capLine(e *client.Explanation) string {
	var parts []string
	for _, c := range e.Caps {
		limit := "none"
		if c.Max > 0 {
			limit = strconv.Itoa(c.Max) + " ms"
		}
		from := time.Duration(c.From) * time.Millisecond
		if c.Until == 0 {
			parts = append(parts, fmt.Sprintf("%s from %s on", limit, from))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s from %s to %s", limit, from, time.Duration(c.Until)*time.Millisecond))
	}
	if len(parts) == 0 || (len(e.Caps) == 1 && e.Caps[0].Max == 0) {
		return ""
	}
	return "Latency caps: " + strings.Join(parts, ", ")
}

func (t *Terminal) showRound(title string, r client.Round) error {
	limit := ""
	if r.Cap > 0 {
		limit = fmt.Sprintf(" (cap %d ms)", r.Cap)
	}
	fmt.Fprintf(t.Out, "\n%s%s: %s\n", title, limit, plain.Line(r.Result))
	if len(r.Candidates) == 0 {
		return nil
	}
	view := Table{Head: []string{"  #", "FLEET", "LOCATION", "LATENCY", "OUTCOME", "WHY"}}
	for i, c := range r.Candidates {
		view.Rows = append(view.Rows, []string{
			fmt.Sprintf("  %d", i+1), fleetAt(c.Place), cmp.Or(c.Place.Location, "-"), millis(c.Latency), c.Outcome, why(c),
		})
	}
	if r.More > 0 {
		view.Rows = append(view.Rows, []string{fmt.Sprintf("  and %d more", r.More)})
	}
	return t.writeTable(view)
}

// fleetAt returns a fleet, with the remote that has it.
func fleetAt(p client.Place) string {
	if p.Remote == "" {
		return shortID(p.FleetID)
	}
	return p.Remote + ":" + shortID(p.FleetID)
}

func why(c client.Candidate) string {
	if c.Failed == 0 {
		return c.Text
	}
	failed := fmt.Sprintf("failed %d times before", c.Failed)
	if c.Failed == 1 {
		failed = "failed once before"
	}
	if c.Text == "" {
		return failed
	}
	return failed + "; " + c.Text
}

func millis(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', -1, 64) + " ms"
}

// Queues shows all queues with their pending placements.
func (t *Terminal) Queues(ctx context.Context) error {
	head := []string{"QUEUE", "PENDING", "WAIT", "TIMEOUT", "DESTINATIONS"}
	return List(ctx, t, t.Client.Placements().Queues, head, func(q client.Queue) []string {
		var to []string
		for _, d := range q.Destinations {
			to = append(to, shortID(d))
		}
		return []string{
			q.Name, strconv.Itoa(q.Pending), (time.Duration(q.AverageWait) * time.Millisecond).String(),
			(time.Duration(q.Timeout) * time.Millisecond).String(), cmp.Or(strings.Join(to, ","), "-"),
		}
	})
}
