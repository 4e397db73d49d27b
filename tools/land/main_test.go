package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Two arcs make a square of 20 by 20 degrees, the second one backwards; a point on a line, a
// small island and Antarctica are left out.
const square = `{"type":"Topology","objects":{"land":{"type":"GeometryCollection","geometries":[{"type":"MultiPolygon","arcs":[[[0,-2]],[[2]],[[3]]]}]}},
"arcs":[[[0,0],[100,0],[100,0],[0,200]],[[0,0],[0,200],[200,0]],[[500,500],[1,0],[0,1],[-1,-1]],[[0,-700],[500,0],[0,-100],[-500,100]]],
"transform":{"scale":[0.1,0.1],"translate":[1,2]}}`

func TestWrite(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := write(&b, []byte(square)); err != nil {
		t.Fatal(err)
	}
	var out file
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(out.Land)
	if want := `[[10,20,200,0,0,200,-200,0]]`; err != nil || string(text) != want {
		t.Errorf("land is %s (%v), want %s", text, err, want)
	}
	if !strings.Contains(out.Note, "Natural Earth") {
		t.Errorf("the note is %q", out.Note)
	}
}

// A ring across the 180th meridian stays in one piece, on the side where most of it is.
func TestUnbroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want [][2]int }{
		{[][2]int{{1600, 0}, {1790, 0}, {-1790, 10}, {1700, 20}, {1600, 0}}, [][2]int{{1600, 0}, {1790, 0}, {1810, 10}, {1700, 20}, {1600, 0}}},
		{[][2]int{{-1790, 0}, {1790, 10}, {1700, 10}, {1600, 5}, {-1790, 0}}, [][2]int{{1810, 0}, {1790, 10}, {1700, 10}, {1600, 5}, {1810, 0}}},
		{[][2]int{{0, 0}, {100, 0}, {0, 0}}, [][2]int{{0, 0}, {100, 0}, {0, 0}}},
	} {
		if got := unbroken(c.in); !slices.Equal(got, c.want) {
			t.Errorf("unbroken(%v) is %v, want %v", c.in, got, c.want)
		}
	}
}

func TestWrite_Refuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":           `land`,
		"another geometry":  strings.Replace(square, "MultiPolygon", "Point", 1),
		"an arc of nowhere": strings.Replace(square, "[[3]]", "[[4]]", 1),
	} {
		if err := write(&bytes.Buffer{}, []byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
