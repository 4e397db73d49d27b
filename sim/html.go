package sim

import (
	"fmt"
	"html/template"
	"io"
	"strconv"
)

// WriteHTML writes a report as one self-contained page.
func (r *Report) WriteHTML(out io.Writer) error {
	return writePage(out, page{Title: title(r), About: about(r), Sections: append(charts(r), tables(r)...)})
}

// WriteHTML writes a comparison as one self-contained page.
func (c *Comparison) WriteHTML(out io.Writer) error {
	p := page{Title: c.A.RuleSet + " and " + c.B.RuleSet, About: "A is " + c.A.RuleSet + ", B is " + c.B.RuleSet + ". " + about(c.A)}
	p.Sections = append([]section{c.table()}, charts(c.A, c.B)...)
	for i, s := range append(tables(c.A), tables(c.B)...) {
		s.Title += [2]string{" (A)", " (B)"}[i/len(tables(c.A))]
		p.Sections = append(p.Sections, s)
	}
	return writePage(out, p)
}

type page struct {
	Title    string
	About    string
	Sections []section
}

func about(r *Report) string {
	return fmt.Sprintf("%s of play, seed %d, %d tickets with %d players; %.0f player-minutes.",
		span(r.For), r.Seed, r.Tickets.Arrived, r.Players.Arrived, r.Played.Waiting+r.Played.Playing)
}

func writePage(out io.Writer, p page) error {
	if err := pageTemplate.Execute(out, p); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// charts draws the time series and distributions of one or two reports.
func charts(reports ...*Report) []section {
	var curve, waiting, wait, arrived []line
	for i, r := range reports {
		name, class := r.RuleSet, string(rune('a'+i))
		curve = append(curve, line{name, class, percents(r.Curve)})
		waiting = append(waiting, line{name + ": waiting tickets", class, over(r, func(m Moment) float64 { return float64(m.Waiting) })})
		wait = append(wait, line{name + ": p90 of the wait", class, over(r, func(m Moment) float64 { return m.P90 })})
		arrived = append(arrived, line{name + ": matched", class, over(r, func(m Moment) float64 { return float64(m.Matched) })})
	}
	arrived = append(arrived, line{"arrived", "d", over(reports[0], func(m Moment) float64 { return float64(m.Arrived) })})
	return []section{
		{Title: "Who is matched within which time", Text: "Share of all tickets that ended, by the time from their creation to the forming of their match.", Chart: lines("seconds", "%", curve...)},
		{Title: "Waiting tickets", Chart: lines("minutes of play", "tickets", waiting...)},
		{Title: "Wait over the time", Text: "Of ten tickets matched in a stretch of the time nine waited at most so long.", Chart: lines("minutes of play", "seconds", wait...)},
		{Title: "Arrived and matched", Chart: lines("minutes of play", "tickets in a stretch", arrived...)},
		{Title: "Match sizes", Chart: countBars("players", reports, func(r *Report) []Count { return r.Matches.Sizes })},
		{Title: "Expansion step at the match", Chart: countBars("step", reports, func(r *Report) []Count { return r.Matches.Steps })},
	}
}

func percents(points []Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		out[i] = Point{p.X, 100 * p.Y}
	}
	return out
}

func over(r *Report, of func(Moment) float64) []Point {
	out := make([]Point, len(r.Timeline))
	for i, m := range r.Timeline {
		out[i] = Point{m.At / 60, of(m)}
	}
	return out
}

// countBars draws the counts of one or two reports side by side.
func countBars(name string, reports []*Report, of func(*Report) []Count) template.HTML {
	low, high := 1<<30, -1
	for _, r := range reports {
		for _, c := range of(r) {
			low, high = min(low, c.Value), max(high, c.Value)
		}
	}
	var names []string
	for v := low; v <= high; v++ {
		names = append(names, strconv.Itoa(v))
	}
	var list []line
	for i, r := range reports {
		l := line{name: r.RuleSet, class: string(rune('a' + i)), points: make([]Point, len(names))}
		for _, c := range of(r) {
			l.points[c.Value-low].Y = float64(c.Times)
		}
		list = append(list, l)
	}
	return bars(name, "matches", names, list...)
}

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title><style>
:root{color-scheme:light dark;--ink:#1b2430;--paper:#fff;--soft:#6b7785;--grid:#e2e7ec;--a:#1769aa;--b:#c2571a;--c:#2e7d4f;--d:#8a94a0}
@media(prefers-color-scheme:dark){:root{--ink:#e6ebf0;--paper:#12171d;--soft:#97a3af;--grid:#28313a;--a:#5aa9e6;--b:#ef9a5f;--c:#6cc391;--d:#76818c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1400px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.05rem;margin:0 0 .3rem}p{color:var(--soft);margin:.2rem 0 .6rem}
main{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,560px),1fr));gap:1.6rem}
section{min-width:0;overflow-x:auto}svg{width:100%;height:auto}svg text{font-size:11px;fill:var(--soft)}svg .axis{fill:var(--ink)}
.grid{stroke:var(--grid)}.line{fill:none;stroke-width:2}.line.a{stroke:var(--a)}.line.b{stroke:var(--b)}.line.c{stroke:var(--c)}.line.d{stroke:var(--d);stroke-dasharray:4 3}
.bar.a{fill:var(--a)}.bar.b{fill:var(--b)}.key .a{color:var(--a)}.key .b{color:var(--b)}.key .c{color:var(--c)}.key .d{color:var(--d)}.key span::before{content:"— "}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.15rem .7rem .15rem 0;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:500}
</style></head><body><h1>{{.Title}}</h1><p>{{.About}}</p><main>
{{range .Sections}}{{if or .Chart .Rows}}<section><h2>{{.Title}}</h2>{{if .Text}}<p>{{.Text}}</p>{{end}}{{.Chart}}{{if .Rows}}<table><thead><tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>{{end}}</tbody></table>{{end}}</section>
{{end}}{{end}}</main></body></html>
`))
