package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/flexmatch/search"
)

// whys explains an even sample of the tickets that end unmatched: at first every one;
// whenever there are too many, every second explanation is dropped, and from then on half
// as many are made.
type whys struct {
	seen  int
	every int
	kept  []string
}

// maxWhys is the most explanations kept.
const maxWhys = 512

// unmatched records why a ticket ends without a match. It is called before the ticket is
// removed.
func (t *tally) unmatched(r *run, in *ticket) {
	if in.come == nil {
		return
	}
	w := &t.why
	if w.every == 0 {
		w.every = 1
	}
	w.seen++
	if (w.seen-1)%w.every != 0 {
		return
	}
	w.kept = append(w.kept, r.why(in))
	if len(w.kept) == maxWhys {
		w.every *= 2
		for i := range maxWhys / 2 {
			w.kept[i] = w.kept[2*i]
		}
		w.kept = w.kept[:maxWhys/2]
	}
}

// why returns a short reason why a ticket is not matched now.
func (r *run) why(in *ticket) string {
	waiting := make([]*search.Ticket, 0, len(r.tickets))
	for _, o := range r.tickets {
		if o == in || o.row.Status.Waits() {
			waiting = append(waiting, &o.Ticket)
		}
	}
	slices.SortFunc(waiting, func(a, b *search.Ticket) int { return cmp.Compare(a.Arrival, b.Arrival) })
	e := explain.Ticket(r.RuleSet, r.opts, &in.Ticket, waiting, r.time(), explain.Limits{Others: 300, Candidates: 100, Placements: 16, Ahead: -1})
	switch {
	case len(e.Never) > 0:
		return reason(e.Never[0])
	case len(e.Alone) > 0:
		return "breaks rule " + e.Alone[0].Name + " by itself"
	}
	return nearly(e)
}

func reason(c explain.Cause) string {
	switch c.Code {
	case explain.MissingAttribute:
		return "has no value for attribute " + c.Name
	case explain.NoLatency:
		return "brings no latency"
	case explain.PartyTooLarge:
		return "party too large for every team"
	case explain.BreaksRule:
		return "breaks rule " + c.Name + " by itself"
	}
	return c.Text
}

// nearly returns what the nearest group lacks.
func nearly(e *explain.Explanation) string {
	g := e.Nearest
	switch {
	case g.MissingSmallest > 0 && len(g.Lacks) > 0 && len(g.Rejected) > 0: // players waited, and others were needed
		lack := slices.MaxFunc(g.Lacks, func(a, b search.Shortage) int { return cmp.Compare(a.Missing(), b.Missing()) })
		return fmt.Sprintf("too few players with %q for rule %s", lack.String, lack.Rule)
	case g.MissingSmallest > 0 && len(e.Blocking) > 0 && e.Blocking[0].Rule != "":
		return "too few players within rule " + e.Blocking[0].Rule
	case g.MissingSmallest > 0 && len(g.Rejected) > 0 && g.Rejected[0].Rule != "":
		return "too few players together within rule " + g.Rejected[0].Rule
	case g.MissingSmallest > 0:
		return "too few players waiting"
	case len(g.Broken) > 0:
		return "no teams found that keep rule " + g.Broken[0]
	case g.Teams != "":
		return "parties do not fit into the teams"
	}
	return "a match was near"
}

func (w *whys) list() []Why {
	out := []Why{}
	for _, text := range w.kept {
		i := slices.IndexFunc(out, func(o Why) bool { return o.Text == text })
		if i < 0 {
			out = append(out, Why{Text: text, Tickets: 1})
			continue
		}
		out[i].Tickets++
	}
	slices.SortFunc(out, func(a, b Why) int { return cmp.Or(b.Tickets-a.Tickets, cmp.Compare(a.Text, b.Text)) })
	return out
}
