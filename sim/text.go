package sim

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/musterhq/muster/internal/plain"
)

// WriteText writes a report as text.
func (r *Report) WriteText(out io.Writer) error {
	w := &writer{out: out}
	w.line("%s, %s of play, seed %d", title(r), span(r.For), r.Seed)
	w.line("")
	w.table([]string{"", "ARRIVED", "MATCHED", "TIMED OUT", "CANCELLED", "DECLINED", "WAITING", "PENDING"}, [][]string{
		fates("tickets", r.Tickets), fates("players", r.Players)})
	m := r.Matches
	w.line("\n%d matches: %d new game sessions, %d filled ones, %d full; %d refused; %d backfill requests",
		m.Formed, m.New, m.Filled, m.Full, m.Refused, m.Backfills)
	w.line("sizes: %s", countsText(m.Sizes))
	w.line("")
	w.table(append([]string{"SECONDS OR MS"}, quantileHead...), [][]string{
		quantileRow("wait until matched", r.Wait), quantileRow("wait of the unmatched", r.Waited), quantileRow("latency in the match", r.Latency)})
	w.parts("POPULATION", r.Populations)
	w.parts("PARTY", r.Parties)
	w.parts("LOCATION", r.Locations)
	w.parts("STEP", r.Steps)
	w.rules(r.Rules)
	w.spreads(r.Attributes)
	w.whys(r)
	w.line("\n%.0f player-minutes: %.0f waiting, %.0f playing; %d passes, %d searches, %d cut short by a bound",
		r.Played.Waiting+r.Played.Playing, r.Played.Waiting, r.Played.Playing, r.Effort.Passes, r.Effort.Searches, r.Effort.Cut)
	return w.err
}

func title(r *Report) string {
	if r.Name == "" {
		return r.RuleSet
	}
	return r.RuleSet + " with " + r.Name
}

// writer writes lines and tables, and keeps the first error.
type writer struct {
	out io.Writer
	err error
}

func (w *writer) line(format string, args ...any) {
	if w.err == nil {
		for i, arg := range args {
			if text, ok := arg.(string); ok { // from a rule set, a specification or a trace
				args[i] = plain.Line(text)
			}
		}
		_, w.err = fmt.Fprintf(w.out, format+"\n", args...)
	}
}

func (w *writer) table(head []string, rows [][]string) {
	if w.err != nil || len(rows) == 0 {
		return
	}
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, row := range rows {
		row[0] = plain.Line(row[0]) // the others are figures, or types of rules
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	w.err = t.Flush()
}

var quantileHead = []string{"COUNT", "MEAN", "P10", "P50", "P90", "P95", "P99", "MAX"}

func quantileRow(name string, q Quantiles) []string {
	return []string{name, strconv.Itoa(q.Count), short(q.Mean), short(q.P10), short(q.P50), short(q.P90), short(q.P95), short(q.P99), short(q.Max)}
}

func fates(name string, f Fates) []string {
	row := []string{name}
	for _, n := range []int{f.Arrived, f.Matched, f.TimedOut, f.Cancelled, f.Declined, f.Waiting, f.Pending} {
		row = append(row, strconv.Itoa(n))
	}
	return row
}

// short formats a number with the digits that matter.
func short(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

func span(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

func countsText(list []Count) string {
	if len(list) == 0 {
		return "none"
	}
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%d players %d times", c.Value, c.Times)
	}
	return strings.Join(parts, ", ")
}

func (w *writer) parts(head string, list []Part) {
	if len(list) < 2 {
		return
	}
	w.line("")
	var rows [][]string
	for _, p := range list {
		rows = append(rows, []string{p.Name, strconv.Itoa(p.Tickets.Arrived), percent(p.Tickets.Matched, p.Tickets.Arrived), short(p.Wait.P50), short(p.Wait.P90), short(p.Wait.P99), dashed(p.Latency, Quantiles.median), dashed(p.Latency, Quantiles.high)})
	}
	w.table([]string{head, "TICKETS", "MATCHED", "WAIT P50", "P90", "P99", "LATENCY P50", "P90"}, rows)
}

func (q Quantiles) median() float64 { return q.P50 }
func (q Quantiles) high() float64   { return q.P90 }

func dashed(q Quantiles, of func(Quantiles) float64) string {
	if q.Count == 0 {
		return "-"
	}
	return short(of(q))
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*float64(n)/float64(of), 'f', 1, 64) + " %"
}

func (w *writer) rules(list []RuleUse) {
	if len(list) == 0 {
		return
	}
	w.line("")
	var rows [][]string
	for _, u := range list {
		row := []string{u.Name, u.Type, percent(u.Relaxed, u.Relaxed+u.Strict), short(u.WaitStrict.P50), dashed(u.WaitRelaxed, Quantiles.median), "-", "-", "-"}
		if u.Value != nil {
			row[5], row[6] = short(u.Value.P50), short(u.Value.P90)
		}
		if u.Limit != nil {
			row[7] = short(*u.Limit)
		}
		rows = append(rows, row)
	}
	w.table([]string{"RULE", "TYPE", "RELAXED", "WAIT P50 STRICT", "RELAXED", "VALUE P50", "P90", "LIMIT"}, rows)
}

func (w *writer) spreads(list []Spread) {
	if len(list) == 0 {
		return
	}
	w.line("")
	var rows [][]string
	for _, a := range list {
		rows = append(rows, []string{a.Name, short(a.Spread.P50), short(a.Spread.P90), short(a.Teams.P50), short(a.Teams.P90)})
	}
	w.table([]string{"ATTRIBUTE", "SPREAD OF PLAYERS P50", "P90", "OF TEAM AVERAGES P50", "P90"}, rows)
}

func (w *writer) whys(r *Report) {
	if r.Looked == 0 {
		return
	}
	w.line("\nWhy tickets timed out or were cancelled, of %d evenly chosen ones:", r.Looked)
	for _, y := range r.Unmatched {
		w.line("  %s  %s", percent(y.Tickets, r.Looked), y.Text)
	}
}
