package sim

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
)

// WriteHTML writes a report as one self-contained page.
func (r *Report) WriteHTML(out io.Writer) error {
	all := whole(r.batches)
	p := page{Title: title(r), About: about(r), Sections: append(charts(r), histograms(pairs(r, r, all, all), r.RuleSet)...)}
	p.Sections = append(p.Sections, tables(r)...)
	return writePage(out, p)
}

// WriteHTML writes a comparison as one self-contained page.
func (c *Comparison) WriteHTML(out io.Writer) error {
	p := page{Title: c.A.RuleSet + " and " + c.B.RuleSet, About: "A is " + c.A.RuleSet + ", B is " + c.B.RuleSet + ". " + about(c.A)}
	p.Gains, p.Losses, p.Unclear = c.Words()
	p.Sections = append(p.Sections, c.table())
	p.Sections = append(p.Sections, histograms(c.Charts, "A", "B")...)
	p.Sections = append(p.Sections, charts(c.A, c.B)...)
	for i, r := range []*Report{c.A, c.B} {
		for _, s := range tables(r) {
			s.Title += [2]string{" (A)", " (B)"}[i]
			p.Sections = append(p.Sections, s)
		}
	}
	return writePage(out, p)
}

type page struct {
	Title                  string
	About                  string
	Gains, Losses, Unclear string
	Sections               []section
}

// Wide reports whether a section needs the whole width of the page.
func (s section) Wide() bool { return len(s.Head) > 5 }

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

// charts draws the time series of one or two reports, and the sizes of matches.
func charts(reports ...*Report) []section {
	var curve, waiting, wait, arrived []line
	for i, r := range reports {
		name, class := r.RuleSet, class(i, len(reports))
		if len(reports) > 1 {
			name = [2]string{"A", "B"}[i]
		}
		curve = append(curve, line{name, class, percents(r.Curve)})
		waiting = append(waiting, line{name, class, over(r, func(m Moment) float64 { return float64(m.Waiting) })})
		wait = append(wait, line{name, class, over(r, waitOf)})
		arrived = append(arrived, line{name + ", matched", class, over(r, func(m Moment) float64 { return float64(m.Matched) })})
	}
	arrived = append(arrived, line{"arrived", "d", over(reports[0], func(m Moment) float64 { return float64(m.Arrived) })})
	return []section{
		{Title: "Matched within a time, %", Text: "Of all tickets that ended, by the seconds from their creation to the forming of their match.", Chart: lines("Tickets matched, %", "seconds", curve...)},
		{Title: "Waiting tickets", Chart: lines("Waiting tickets", "minutes of play", waiting...)},
		{Title: "Wait p90, s", Text: "Of ten tickets that are matched in a stretch of time, nine waited at most so long.", Chart: lines("Wait p90, s", "minutes of play", wait...)},
		{Title: "Tickets in a stretch of time", Chart: lines("Tickets", "minutes of play", arrived...)},
		{Title: "Matches by players", Chart: countBars("Matches", "players", reports, func(r *Report) []Count { return r.Matches.Sizes })},
		{Title: "Matches by expansion step", Chart: countBars("Matches", "step", reports, func(r *Report) []Count { return r.Matches.Steps })},
	}
}

// histograms draws distributions.
func histograms(list []Pair, names ...string) []section {
	var out []section
	for i := range list {
		p := &list[i]
		s := section{Title: p.Name, Chart: histogram(p, names...)}
		if p.Unit != "" {
			s.Title += ", " + p.Unit
		}
		if i == 0 {
			s.Text = "Share of the values; a dashed line is the limit of a rule before any expansion."
		}
		out = append(out, s)
	}
	return out
}

func percents(points []Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		out[i] = Point{p.X, 100 * p.Y}
	}
	return out
}

// over returns a value of each stretch of time, without a shorter one at the end.
func over(r *Report, of func(Moment) float64) []Point {
	list := r.Timeline
	if r.tail {
		list = list[:len(list)-1]
	}
	out := make([]Point, len(list))
	for i, m := range list {
		out[i] = Point{m.At / 60, of(m)}
	}
	return out
}

// waitOf returns the wait of tickets, NaN if none was matched.
func waitOf(m Moment) float64 {
	if m.P90 == 0 {
		return math.NaN()
	}
	return m.P90
}

// countBars draws the counts of one or two reports side by side.
func countBars(title, name string, reports []*Report, of func(*Report) []Count) template.HTML {
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
		l := line{name: string(rune('A' + i)), class: class(i, len(reports)), points: make([]Point, len(names))}
		for _, c := range of(r) {
			l.points[c.Value-low].Y = float64(c.Times)
		}
		list = append(list, l)
	}
	return bars(title, name, names, list...)
}

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title><style>
:root{color-scheme:light dark;--text:#14181f;--text2:#4a5361;--text3:#5f6875;--page:#f6f7f9;--panel:#fff;--line:#d9dee6;--a:#7e8797;--b:#4f46c8;--fail:#971b15;--ok:#006d5d;--warn:#8a6700}
@media(prefers-color-scheme:dark){:root{--text:#e8ebf0;--text2:#b3bbc7;--text3:#8f99a7;--page:#0e1116;--panel:#161a21;--line:#2b323d;--a:#6b7686;--b:#a5a6ff;--fail:#f4694c;--ok:#74e0aa;--warn:#ffb02e}}
*{box-sizing:border-box}body{font:13px/20px system-ui,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums;color:var(--text);background:var(--page);max-width:1440px;margin:24px auto;padding:0 24px}
h1{font-size:20px;line-height:28px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:15px;line-height:22px;margin:0 0 4px}p{color:var(--text2);margin:0 0 12px;max-width:72ch}
main{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:16px}
section{min-width:0;background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:12px 16px 16px}.wide{grid-column:1/-1}
svg{display:block;width:100%;height:auto}svg text{font-size:12px;fill:var(--text3)}svg .axis,svg .value{fill:var(--text2)}
.grid{stroke:var(--line)}.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.line.a{stroke:var(--a)}.line.b{stroke:var(--b)}.line.d{stroke:var(--text3);stroke-dasharray:4 3}
.bar.a{fill:var(--a)}.bar.b{fill:var(--b)}svg line.limit{stroke:var(--fail);stroke-width:1.5;stroke-dasharray:4 3}svg tspan.limit{fill:var(--fail)}
.key{margin:8px 0 0;font-size:12px}.key span{margin-right:12px}.key span::before{content:"";display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:4px;vertical-align:-1px;background:var(--text3)}.key .a::before{background:var(--a)}.key .b::before{background:var(--b)}
.words{display:grid;gap:4px;margin:0 0 16px}.words p{margin:0;max-width:96ch}.gain b{color:var(--ok)}.loss b{color:var(--warn)}
table{border-collapse:collapse;width:100%}th,td{padding:5px 0 5px 16px;text-align:right;border-bottom:1px solid var(--line)}tr:last-child td{border-bottom:0}
th:first-child,td:first-child{text-align:left;padding-left:0;overflow-wrap:anywhere}th{color:var(--text3);font-weight:500;font-size:12px;line-height:16px;vertical-align:bottom}
@media(max-width:700px){body{margin:16px auto;padding:0 12px}section{padding:12px}
.wide thead{display:none}.wide table,.wide tbody{display:block}.wide tr{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 16px;padding:8px 0;border-bottom:1px solid var(--line)}
.wide td{display:flex;justify-content:space-between;gap:8px;border:0;padding:1px 0}.wide td::before{content:attr(data-of);color:var(--text3);text-align:left}.wide td:first-child{grid-column:1/-1;font-weight:600}.wide td:first-child::before{content:none}}
</style></head><body><h1>{{.Title}}</h1><p>{{.About}}</p>
{{if or .Gains .Losses .Unclear}}<div class="words">{{with .Gains}}<p class="gain"><b>B gains.</b> {{.}}</p>{{end}}{{with .Losses}}<p class="loss"><b>B loses.</b> {{.}}</p>{{end}}{{with .Unclear}}<p>{{.}}</p>{{end}}</div>{{end}}<main>
{{range .Sections}}{{if or .Chart .Rows}}<section{{if .Wide}} class="wide"{{end}}><h2>{{.Title}}</h2>{{if .Text}}<p>{{.Text}}</p>{{end}}{{.Chart}}{{if .Rows}}{{$head := .Head}}<table><thead><tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Rows}}<tr>{{range $i, $v := .}}<td data-of="{{index $head $i}}">{{$v}}</td>{{end}}</tr>{{end}}</tbody></table>{{end}}</section>
{{end}}{{end}}</main></body></html>
`))
