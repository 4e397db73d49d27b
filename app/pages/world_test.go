package pages

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/placement"
)

// The distances of an hour are those of the placements that ended in it, whatever came
// before and in whatever order.
func TestDistances(t *testing.T) {
	t.Parallel()
	type told struct {
		at         time.Time
		from, here float32
	}
	r := rand.New(rand.NewPCG(3, 4))
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	var d distances
	var all []told
	now := start
	for range 3000 {
		now = now.Add(time.Duration(r.IntN(8)) * time.Second)
		x := told{at: now.Add(-time.Duration(r.IntN(60)) * time.Second), from: float32(r.IntN(500)), here: float32(r.IntN(500))}
		all = append(all, x)
		d.add(x.at, "here", []placement.Latency{{PlayerID: "a", Location: "here", Millis: x.here}, {PlayerID: "a", Location: "there", Millis: x.from}, {PlayerID: "b", Location: "there", Millis: 7}})
		if r.IntN(50) > 0 {
			continue
		}
		var want, flows histogram
		for _, x := range all {
			if n := partAt(x.at); n > partAt(now)-parts && n <= partAt(now) {
				want.counts[min(bins-1, int(x.here/binMillis))]++
				want.highest = max(want.highest, float64(x.here))
				if x.from < x.here {
					flows.counts[min(bins-1, int(x.here/binMillis))]++
				}
			}
		}
		playing, measured := d.hour(now, "here")
		if playing != want || measured != want {
			t.Fatalf("after %s: %v and %v, want %v", now.Sub(start), playing, measured, want)
		}
		if got, want := d.busiest(now), (Flow{From: "there", To: "here", Players: flows.total()}); len(got) != 1 || got[0].Players != want.Players || got[0].From != "there" || got[0].To != "here" {
			t.Fatalf("flows are %+v, want %+v", got, want)
		}
	}
	if now.Sub(start) < 2*time.Hour {
		t.Fatal("the test is too short to forget")
	}
	if playing, _ := d.hour(now.Add(2*time.Hour), "here"); playing.total() != 0 || len(d.busiest(now.Add(2*time.Hour))) != 0 {
		t.Error("old distances are not forgotten")
	}
}

// A quantile is off by at most one bin, and never above the highest latency.
func TestHistogram_Quantile(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var h histogram
		var all []float64
		for range 1 + r.IntN(300) {
			v := r.Float64() * 480
			all = append(all, v)
			h.counts[min(bins-1, int(v/binMillis))]++
			h.highest = max(h.highest, v)
		}
		slices.Sort(all)
		for _, share := range []float64{.5, .9, .99} {
			got, ok := h.quantile(share)
			if want := all[int(math.Ceil(share*float64(len(all))))-1]; !ok || want < binMillis*(bins-1) && math.Abs(got-want) > binMillis || got > all[len(all)-1] {
				t.Fatalf("quantile %g of %d is %g, want about %g", share, len(all), got, want)
			}
		}
	}
	if _, ok := new(histogram).quantile(.5); ok {
		t.Error("a quantile of nothing")
	}
}

// Names that callers choose do not fill the memory, and make room once they are old.
func TestDistances_Bounded(t *testing.T) {
	t.Parallel()
	var d distances
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for i := range 3 * placesMost {
		d.add(at, "here", []placement.Latency{{PlayerID: "a", Location: fmt.Sprint(i), Millis: 1}, {PlayerID: "a", Location: "here", Millis: 2}})
	}
	if len(d.measured) > placesMost || len(d.flows) > flowsMost {
		t.Fatalf("%d places and %d flows", len(d.measured), len(d.flows))
	}
	later := at.Add(2 * time.Hour)
	d.add(later, "new", []placement.Latency{{PlayerID: "a", Location: "new", Millis: 2}})
	if playing, measured := d.hour(later, "new"); playing.total() != 1 || measured.total() != 1 {
		t.Error("old places make no room")
	}
	d.add(later, "new", make([]placement.Latency, latenciesMost+1))
	if playing, _ := d.hour(later, "new"); playing.total() != 1 {
		t.Error("too many latencies of one placement were read")
	}
}

// Every region is on the map, and custom locations are by their tags.
func TestPlaced(t *testing.T) {
	t.Parallel()
	tags := map[string]map[string]string{}
	p := &Pages{Services: Services{Home: arn.Home{Region: "us-east-1", Account: "123456789012"}, Tags: func(resource string) map[string]string { return tags[resource] }}}
	seen := map[point]string{}
	for region := range cities {
		name, at := p.placed(region)
		if name == "" || at == nil || math.Abs(at.Lat) > 70 || seen[*at] != "" {
			t.Errorf("%s is %q at %v, as %q is", region, name, at, seen[*at])
		}
		seen[*at] = region
	}
	for text, want := range map[string]*point{
		"52.5 13.4": {52.5, 13.4}, "52.5,13.4": {52.5, 13.4}, "-33.9, 151.2": {-33.9, 151.2}, "90 180": {90, 180},
		"": nil, "52.5": nil, "91 0": nil, "0 181": nil, "NaN 0": nil, "0 NaN": nil, "north east": nil, "1 2 3": nil,
	} {
		tags[p.Home.Of("location", "custom-a")] = map[string]string{"muster:coordinates": text, "muster:city": "Berlin"}
		name, at := p.placed("custom-a")
		if name != "Berlin" || (at == nil) != (want == nil) || at != nil && *at != *want {
			t.Errorf("the tag %q is %q at %v, want %v", text, name, at, want)
		}
	}
}
