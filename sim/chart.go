package sim

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// line is a line or a row of bars. A point whose Y is NaN is a gap.
type line struct {
	name   string
	class  string // class in the style sheet: a, b or d
	points []Point
}

// The size of a chart and its margins for numbers, in SVG units.
const (
	chartWidth, chartHeight = 440.0, 200.0
	marginLeft, marginDown  = 40.0, 42.0
	marginTop, marginRight  = 18.0, 12.0
)

// lines draws lines over common axes, with their names below the chart. What is measured,
// and its unit, is in the title.
func lines(title, xName string, list ...line) template.HTML {
	x, y := 0.0, 0.0
	for _, l := range list {
		for _, p := range l.points {
			if x = max(x, p.X); !math.IsNaN(p.Y) {
				y = max(y, p.Y)
			}
		}
	}
	c := newChart(title, xName, x, y)
	for _, l := range list {
		pen, path := "M", strings.Builder{}
		for _, p := range l.points {
			if math.IsNaN(p.Y) {
				pen = "M"
				continue
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", pen, c.x(p.X), c.y(p.Y))
			pen = "L"
		}
		fmt.Fprintf(&c.svg, `<path class="line %s" d="%s"/>`, l.class, path.String())
	}
	return c.close(list)
}

// bars draws groups of bars with their values, one group for each of the names.
func bars(title, xName string, names []string, list ...line) template.HTML {
	y := 0.0
	for _, l := range list {
		for _, p := range l.points {
			y = max(y, p.Y)
		}
	}
	c := newChart(title, xName, 0, y)
	slot := (chartWidth - marginLeft - marginRight) / float64(max(len(names), 1))
	width := min(slot*0.8/float64(max(len(list), 1)), 60)
	values := width >= 16 // narrower, they would overlap
	for i, l := range list {
		for n, p := range l.points {
			middle := marginLeft + slot*(float64(n)+0.5) + width*(float64(i)-float64(len(list)-1)/2)
			fmt.Fprintf(&c.svg, `<rect class="bar %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s: %s</title></rect>`,
				l.class, middle-width/2+0.5, c.y(p.Y), max(width-1, 1), c.y(0)-c.y(p.Y), html.EscapeString(names[n]), tick(p.Y))
			if values && p.Y > 0 {
				fmt.Fprintf(&c.svg, `<text class="value" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, middle, c.y(p.Y)-4, tick(p.Y))
			}
		}
	}
	every := (len(names) + 11) / 12
	for n, name := range names {
		if n%max(every, 1) == 0 {
			fmt.Fprintf(&c.svg, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, marginLeft+slot*(float64(n)+0.5), chartHeight-marginDown+16, html.EscapeString(name))
		}
	}
	return c.close(list)
}

type chart struct {
	svg        strings.Builder
	maxX, maxY float64
}

func newChart(title, xName string, x, y float64) *chart {
	c := &chart{maxX: x, maxY: y}
	if c.maxY == 0 {
		c.maxY = 1
	}
	fmt.Fprintf(&c.svg, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s by %s">`, chartWidth, chartHeight, html.EscapeString(title), html.EscapeString(xName))
	for _, v := range ticks(c.maxY) {
		fmt.Fprintf(&c.svg, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`,
			marginLeft, chartWidth-marginRight, c.y(v), c.y(v), marginLeft-6, c.y(v)+4, tick(v))
	}
	if x > 0 {
		for _, v := range ticks(x) {
			fmt.Fprintf(&c.svg, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, c.x(v), chartHeight-marginDown+16, tick(v))
		}
	}
	fmt.Fprintf(&c.svg, `<text class="axis" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, chartWidth-marginRight, chartHeight-5, html.EscapeString(xName))
	return c
}

func (c *chart) x(v float64) float64 {
	if c.maxX == 0 {
		return marginLeft
	}
	return marginLeft + v/c.maxX*(chartWidth-marginLeft-marginRight)
}

func (c *chart) y(v float64) float64 {
	return chartHeight - marginDown - v/c.maxY*(chartHeight-marginDown-marginTop)
}

// close ends the drawing and adds the names of its lines.
func (c *chart) close(list []line) template.HTML {
	c.svg.WriteString(`</svg>`)
	if len(list) > 1 {
		c.svg.WriteString(`<p class="key">`)
		for _, l := range list {
			fmt.Fprintf(&c.svg, `<span class="%s">%s</span> `, l.class, html.EscapeString(l.name))
		}
		c.svg.WriteString(`</p>`)
	}
	return template.HTML(c.svg.String()) // every text in it is escaped above
}

// The size of a row of a histogram, in SVG units, and of the space above it for text.
const (
	rowWidth, rowHeight, rowHead = 440.0, 64.0, 24.0
)

// histogram draws a distribution, or two on the same axis, one above the other, with the
// limits that rules set.
func histogram(p *Pair, names ...string) template.HTML {
	var svg strings.Builder
	sides := [][]float64{p.A, p.B}[:len(names)]
	top, reach := 0.1, p.Step*float64(len(p.A))
	for _, shares := range sides {
		for _, v := range shares {
			top = max(top, v)
		}
	}
	fmt.Fprintf(&svg, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="Distribution of %s">`, rowWidth, float64(len(names))*(rowHead+rowHeight)+20, html.EscapeString(p.Name))
	x := func(v float64) float64 { return v / reach * rowWidth }
	for i, shares := range sides {
		base := float64(i+1) * (rowHead + rowHeight)
		head := fmt.Sprintf("%s, n = %d", names[i], p.Count[i])
		if p.Over[i] >= 0.1 {
			head += fmt.Sprintf(", %s %% beyond", short(p.Over[i]))
		}
		limit := (*float64)(nil)
		if i < len(p.Limit) {
			limit = p.Limit[i]
		}
		fmt.Fprintf(&svg, `<text x="0" y="%.1f">%s`, base-rowHeight-7, html.EscapeString(head))
		if limit != nil {
			fmt.Fprintf(&svg, `<tspan class="limit" dx="10">limit %s</tspan>`, tick(*limit))
		}
		svg.WriteString(`</text>`)
		for n, v := range shares {
			h := v / top * rowHeight
			fmt.Fprintf(&svg, `<rect class="bar %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s to %s: %s %%</title></rect>`, class(i, len(names)),
				x(float64(n)*p.Step)+0.5, base-h, rowWidth/float64(len(shares))-1, h, tick(float64(n)*p.Step), tick(float64(n+1)*p.Step), short(v))
		}
		fmt.Fprintf(&svg, `<line class="grid" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"/>`, rowWidth, base+0.5, base+0.5)
		if limit != nil && *limit <= reach {
			fmt.Fprintf(&svg, `<line class="limit" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x(*limit), x(*limit), base-rowHeight-2, base)
		}
	}
	for n := 0; n <= len(p.A); n += 4 {
		anchor := "middle"
		switch n {
		case 0:
			anchor = "start"
		case len(p.A):
			anchor = "end"
		}
		fmt.Fprintf(&svg, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x(float64(n)*p.Step), float64(len(names))*(rowHead+rowHeight)+15, anchor, tick(float64(n)*p.Step))
	}
	svg.WriteString(`</svg>`)
	return template.HTML(svg.String()) // every text in it is escaped above
}

// class returns the class of one of several things that are shown together: the first is
// gray, one alone is not.
func class(i, of int) string {
	if of == 1 {
		return "b"
	}
	return string(rune('a' + i))
}

// ticks returns round numbers from 0 up to highest.
func ticks(highest float64) []float64 {
	if !(highest > 0) || math.IsInf(highest, 0) {
		return []float64{0}
	}
	step := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, part := range []float64{0.2, 0.5, 1} {
		if highest/(step*part) <= 6 {
			step *= part
			break
		}
	}
	var out []float64
	for v := 0.0; v <= highest*1.0001; v += step {
		out = append(out, v)
	}
	return out
}

func tick(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", math.Round(v/1e4)/100)
	case v >= 1e4:
		return fmt.Sprintf("%gk", math.Round(v/100)/10)
	}
	return fmt.Sprintf("%g", math.Round(v*100)/100)
}
