// Command land makes the console's map of the world from Natural Earth's outlines of land, as
// the npm package world-atlas has them in TopoJSON:
//
//	npm pack world-atlas@2.0.2 && tar xzf world-atlas-2.0.2.tgz
//	go run ./tools/land package/land-110m.json > console/web/static/assets/land.json
//
// The outlines are rounded to a tenth of a degree, and without Antarctica and islands that
// would be smaller than a pixel. A ring that crosses the 180th meridian goes on beyond it: to
// 190 degrees east for the east of Siberia.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
)

// note is in the file that is made.
const note = "Made with Natural Earth (public domain); outlines of land, 1:110 million, from world-atlas 2.0.2 (ISC, Copyright 2013-2019 Michael Bostock). " +
	"Each ring: longitude and latitude of its first point in tenths of a degree, then differences."

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: land land-110m.json > land.json")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = write(os.Stdout, text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "land:", err)
		os.Exit(1)
	}
}

// topology is the part of TopoJSON that outlines of land need.
type topology struct {
	Objects struct {
		Land struct {
			Geometries []struct {
				Type string    `json:"type"`
				Arcs [][][]int `json:"arcs"`
			} `json:"geometries"`
		} `json:"land"`
	} `json:"objects"`
	Arcs      [][][2]int `json:"arcs"`
	Transform struct {
		Scale, Translate [2]float64
	} `json:"transform"`
}

// file is what is made.
type file struct {
	Note string  `json:"note"`
	Land [][]int `json:"land"`
}

const (
	southernmost = -600 // of what is kept, in tenths of a degree: Antarctica is not
	smallest     = 60   // area of what is kept, in square tenths of a degree
	straight     = 1.2  // how far a point may be beside the line that replaces it, in tenths of a degree
)

// write writes the map of a topology.
func write(w io.Writer, text []byte) error {
	var t topology
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	out := file{Note: note, Land: [][]int{}}
	for _, g := range t.Objects.Land.Geometries {
		if g.Type != "MultiPolygon" {
			return fmt.Errorf("a geometry is a %s, want MultiPolygon", g.Type)
		}
		for _, polygon := range g.Arcs {
			for _, ring := range polygon {
				points, err := t.ring(ring)
				if err != nil {
					return err
				}
				if points = simpler(points); len(points) > 3 && math.Abs(area(points)) >= smallest && north(points) > southernmost {
					out.Land = append(out.Land, differences(points))
				}
			}
		}
	}
	return json.NewEncoder(w).Encode(out)
}

// ring returns the points of a ring of arcs, the last equal to the first. A negative number is an arc backwards.
func (t *topology) ring(arcs []int) (points [][2]int, err error) {
	for _, number := range arcs {
		back := number < 0
		if back {
			number = ^number
		}
		if number >= len(t.Arcs) {
			return nil, fmt.Errorf("there is no arc %d", number)
		}
		var x, y int
		arc := make([][2]int, 0, len(t.Arcs[number]))
		for _, d := range t.Arcs[number] {
			x, y = x+d[0], y+d[1]
			arc = append(arc, [2]int{t.tenths(0, x), t.tenths(1, y)})
		}
		if back {
			for i, j := 0, len(arc)-1; i < j; i, j = i+1, j-1 {
				arc[i], arc[j] = arc[j], arc[i]
			}
		}
		if len(points) > 0 {
			arc = arc[1:] // the end of the arc before
		}
		points = append(points, arc...)
	}
	return unbroken(points), nil
}

// unbroken returns a ring without its jumps from 180 degrees east to 180 west, with most of its points between them.
func unbroken(points [][2]int) [][2]int {
	const around, half = 3600, 1800
	turn, sum := 0, 0
	out := make([][2]int, 0, len(points))
	for i, p := range points {
		if i > 0 {
			switch d := p[0] - points[i-1][0]; {
			case d > half:
				turn -= around
			case d < -half:
				turn += around
			}
		}
		out = append(out, [2]int{p[0] + turn, p[1]})
		sum += p[0] + turn
	}
	mean := sum / max(1, len(out))
	for i := range out {
		switch {
		case mean > half:
			out[i][0] -= around
		case mean < -half:
			out[i][0] += around
		}
	}
	return out
}

func (t *topology) tenths(axis, v int) int {
	return int(math.Round(10 * (float64(v)*t.Transform.Scale[axis] + t.Transform.Translate[axis])))
}

// simpler returns points without those that are on the line between their neighbors (Douglas and Peucker).
func simpler(points [][2]int) [][2]int {
	if len(points) < 3 {
		return points
	}
	first, last := points[0], points[len(points)-1]
	far, at := 0.0, 0
	for i := 1; i < len(points)-1; i++ {
		if d := beside(points[i], first, last); d > far {
			far, at = d, i
		}
	}
	if far <= straight {
		return [][2]int{first, last}
	}
	return append(simpler(points[:at+1]), simpler(points[at:])[1:]...)
}

// beside returns how far a point is from the line between two others.
func beside(p, a, b [2]int) float64 {
	dx, dy := float64(b[0]-a[0]), float64(b[1]-a[1])
	px, py := float64(p[0]-a[0]), float64(p[1]-a[1])
	if dx == 0 && dy == 0 {
		return math.Hypot(px, py)
	}
	return math.Abs(dx*py-dy*px) / math.Hypot(dx, dy)
}

// area returns the area of a ring, with a sign for its direction.
func area(points [][2]int) (sum float64) {
	for i := 1; i < len(points); i++ {
		sum += float64(points[i-1][0]*points[i][1]-points[i][0]*points[i-1][1]) / 2
	}
	return sum
}

func north(points [][2]int) int {
	most := points[0][1]
	for _, p := range points {
		most = max(most, p[1])
	}
	return most
}

// differences returns the first point, then each as its difference from the one before.
func differences(points [][2]int) []int {
	out := []int{points[0][0], points[0][1]}
	for i := 1; i < len(points)-1; i++ { // the ring closes itself
		out = append(out, points[i][0]-points[i-1][0], points[i][1]-points[i-1][1])
	}
	return out
}
