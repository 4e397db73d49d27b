package sim

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

type line struct {
	name   string
	class  string // class in the style sheet: a, b, c or d
	points []Point
}

// The size of a chart and its margins for numbers, in SVG units.
const (
	chartWidth, chartHeight = 640.0, 240.0
	marginLeft, marginDown  = 52.0, 34.0
	marginTop, marginRight  = 10.0, 12.0
)

// lines draws lines over common axes, with their names below the chart.
func lines(xName, yName string, list ...line) template.HTML {
	x, y := 0.0, 0.0
	for _, l := range list {
		for _, p := range l.points {
			x, y = max(x, p.X), max(y, p.Y)
		}
	}
	c := newChart(xName, yName, x, y)
	for _, l := range list {
		var at []string
		for _, p := range l.points {
			at = append(at, fmt.Sprintf("%.1f,%.1f", c.x(p.X), c.y(p.Y)))
		}
		fmt.Fprintf(&c.svg, `<polyline class="line %s" points="%s"/>`, l.class, strings.Join(at, " "))
	}
	return c.close(list)
}

// bars draws groups of bars, one group for each of the names.
func bars(xName, yName string, names []string, list ...line) template.HTML {
	y := 0.0
	for _, l := range list {
		for _, p := range l.points {
			y = max(y, p.Y)
		}
	}
	c := newChart(xName, yName, 0, y)
	slot := (chartWidth - marginLeft - marginRight) / float64(max(len(names), 1))
	width := slot * 0.8 / float64(max(len(list), 1))
	for i, l := range list {
		for n, p := range l.points {
			left := marginLeft + slot*(float64(n)+0.1) + width*float64(i)
			fmt.Fprintf(&c.svg, `<rect class="bar %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s: %s</title></rect>`,
				l.class, left, c.y(p.Y), max(width-1, 1), c.y(0)-c.y(p.Y), html.EscapeString(names[n]), short(p.Y))
		}
	}
	every := (len(names) + 15) / 16
	for n, name := range names {
		if n%max(every, 1) == 0 {
			fmt.Fprintf(&c.svg, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, marginLeft+slot*(float64(n)+0.5), chartHeight-marginDown+14, html.EscapeString(name))
		}
	}
	return c.close(list)
}

type chart struct {
	svg        strings.Builder
	maxX, maxY float64
}

func newChart(xName, yName string, x, y float64) *chart {
	c := &chart{maxX: x, maxY: y}
	if c.maxY == 0 {
		c.maxY = 1
	}
	fmt.Fprintf(&c.svg, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s over %s">`, chartWidth, chartHeight, html.EscapeString(yName), html.EscapeString(xName))
	for _, v := range ticks(c.maxY) {
		fmt.Fprintf(&c.svg, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`,
			marginLeft, chartWidth-marginRight, c.y(v), c.y(v), marginLeft-5, c.y(v)+4, tick(v))
	}
	if x > 0 {
		for _, v := range ticks(x) {
			fmt.Fprintf(&c.svg, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, c.x(v), chartHeight-marginDown+14, tick(v))
		}
	}
	fmt.Fprintf(&c.svg, `<text class="axis" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, chartWidth-marginRight, chartHeight-4, html.EscapeString(xName))
	fmt.Fprintf(&c.svg, `<text class="axis" x="%.1f" y="%.1f">%s</text>`, marginLeft+6, marginTop+10, html.EscapeString(yName))
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
		return fmt.Sprintf("%gM", round(v/1e6))
	case v >= 1e4:
		return fmt.Sprintf("%gk", round(v/1e3))
	}
	return fmt.Sprintf("%g", round(v))
}
