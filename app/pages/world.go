package pages

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
)

// World is the page of the world: where games are played, and how far away their players
// are.
type World struct {
	Since     time.Time       `json:"since"` // when this node began to record
	Locations []WorldLocation `json:"locations"`
	Flows     []Flow          `json:"flows"` // most players first, at most 64
	Chosen    *Distance       `json:"chosen,omitempty"`
}

// WorldLocation is a location of fleets, and the latencies of those whom placements brought
// there in the last hour.
type WorldLocation struct {
	Location
	City    string   `json:"city,omitempty"`
	At      *point   `json:"at,omitempty"` // nil: nobody knows
	Known   int      `json:"known"`        // players with a latency
	Median  *float64 `json:"median_ms"`
	Slowest *float64 `json:"p90_ms"`
}

// Flow are the players of the last hour who play in To although From would be nearer to
// them, by their own measurements.
type Flow struct {
	From    string   `json:"from"`
	To      string   `json:"to"`
	Players int      `json:"players"`
	Median  *float64 `json:"median_ms"` // of their latency to To
}

// Distance are latencies to one location in the last hour.
type Distance struct {
	Location string          `json:"location"`
	Step     int             `json:"step_ms"`  // the width of a bin
	Playing  []uint32        `json:"playing"`  // of those who play there, by bin; the last has all above
	Measured []uint32        `json:"measured"` // of all who measured it
	Queues   []QueueDistance `json:"queues"`   // that can place game sessions there, and have caps
}

// QueueDistance are a queue's latency caps in the order in which they apply.
type QueueDistance struct {
	Name string          `json:"name"`
	Caps []placement.Cap `json:"caps"`
}

const (
	binMillis = 5
	bins      = 81 // up to 400 ms, and above
	parts     = 12 // of an hour
	partOf    = time.Hour / parts

	// placesMost and flowsMost bound what is remembered, latenciesMost what is read of one
	// placement.
	placesMost    = 256
	flowsMost     = 512
	latenciesMost = 4096
	// flowsShown is how many flows a page gets.
	flowsShown = 64
)

// histogram counts latencies.
type histogram struct {
	counts  [bins]uint32 // the last bin has all that are too long for the others
	highest float64      // of all, in milliseconds
}

// quantile returns the latency in milliseconds below which a share of all lies, never more
// than the highest, and false if there are none.
func (h *histogram) quantile(share float64) (millis float64, ok bool) {
	n := h.total()
	rank := share * float64(n)
	for i, c := range h.counts {
		if c == 0 || rank > float64(c) {
			rank -= float64(c)
			continue
		}
		from, to := binMillis*float64(i), min(binMillis*float64(i+1), h.highest)
		if i == bins-1 {
			to = h.highest
		}
		return from + (to-from)*max(0, rank)/float64(c), true
	}
	return 0, false
}

func (h *histogram) total() (n int) {
	for _, c := range h.counts {
		n += int(c)
	}
	return n
}

// latencies are the latencies of an hour in twelve parts, of which the oldest is overwritten.
type latencies struct {
	at   [parts]int64 // number of the part since 1970
	part [parts]histogram
}

func (l *latencies) add(number int64, millis float32) {
	i := number % parts
	if l.at[i] > number {
		return // more than an hour late
	}
	if l.at[i] < number {
		l.at[i], l.part[i] = number, histogram{}
	}
	p := &l.part[i]
	p.counts[int(min(float64(millis)/binMillis, bins-1))]++
	p.highest = max(p.highest, float64(millis))
}

// sum returns the latencies of the hour that ends with a part.
func (l *latencies) sum(number int64) (h histogram) {
	for i, at := range l.at {
		if at > number-parts && at <= number {
			for b, n := range l.part[i].counts {
				h.counts[b] += n
			}
			h.highest = max(h.highest, l.part[i].highest)
		}
	}
	return h
}

// route leads from the location that is nearest to a player to the one with the game.
type route struct{ from, to string }

// distances are the latencies of players in the last hour. Its zero value is ready.
type distances struct {
	mu       sync.Mutex
	playing  map[string]*latencies // by the location of the game
	measured map[string]*latencies // by location
	flows    map[route]*latencies
}

// in returns what is kept under a key; nil if there is no room. What is older than an hour
// makes room.
func in[K comparable](m *map[K]*latencies, key K, number int64, most int) *latencies {
	if *m == nil {
		*m = map[K]*latencies{}
	}
	if l := (*m)[key]; l != nil {
		return l
	}
	if len(*m) >= most {
		for k, l := range *m {
			if slices.Max(l.at[:]) <= number-parts {
				delete(*m, k)
			}
		}
		if len(*m) >= most {
			return nil
		}
	}
	l := &latencies{}
	(*m)[key] = l
	return l
}

// partAt returns the number of the part in which a time is.
func partAt(at time.Time) int64 { return at.UnixNano() / int64(partOf) }

// add counts the latencies of a placement whose game session is in a location.
func (d *distances) add(at time.Time, location string, all []placement.Latency) {
	if len(all) == 0 || len(all) > latenciesMost {
		return
	}
	type best struct {
		location string
		millis   float32
	}
	nearest, there := map[string]best{}, map[string]float32{}
	number := partAt(at)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range all {
		if m := in(&d.measured, l.Location, number, placesMost); m != nil {
			m.add(number, l.Millis)
		}
		if b, ok := nearest[l.PlayerID]; !ok || l.Millis < b.millis || l.Millis == b.millis && l.Location == location {
			nearest[l.PlayerID] = best{l.Location, l.Millis}
		}
		if l.Location == location {
			there[l.PlayerID] = l.Millis
		}
	}
	for player, millis := range there {
		if m := in(&d.playing, location, number, placesMost); m != nil {
			m.add(number, millis)
		}
		if home := nearest[player].location; home != location {
			if m := in(&d.flows, route{home, location}, number, flowsMost); m != nil {
				m.add(number, millis)
			}
		}
	}
}

// hour returns what is known of a location.
func (d *distances) hour(now time.Time, location string) (playing, measured histogram) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.playing[location]; l != nil {
		playing = l.sum(partAt(now))
	}
	if l := d.measured[location]; l != nil {
		measured = l.sum(partAt(now))
	}
	return playing, measured
}

// busiest returns the flows with the most players.
func (d *distances) busiest(now time.Time) []Flow {
	out := []Flow{}
	d.mu.Lock()
	defer d.mu.Unlock()
	for r, l := range d.flows {
		if h := l.sum(partAt(now)); h.total() > 0 {
			out = append(out, Flow{From: r.from, To: r.to, Players: h.total(), Median: pointer(h.quantile(.5))})
		}
	}
	slices.SortFunc(out, func(a, b Flow) int {
		if a.Players != b.Players {
			return b.Players - a.Players
		}
		return strings.Compare(a.From+" "+a.To, b.From+" "+b.To)
	})
	return out[:min(len(out), flowsShown)]
}

// recordDistances remembers how far away the players of a placement are.
func (r *recorder) recordDistances(tx *store.Tx, e *placement.Placement) {
	if e.Status != placement.Fulfilled {
		return
	}
	if in := r.of.Placements.RequestOf(tx, e.ID); in != nil {
		tx.OnCommit(func() { r.distances.add(e.Ended, e.Location, in.Latencies) })
	}
}

// World returns the page of the world. location is what is looked at more closely, or "".
// Errors: NotFound (no fleet is in the location).
func (p *Pages) World(location string) (*World, error) {
	now := time.Now()
	out := &World{Since: p.begun, Locations: []WorldLocation{}, Flows: p.distances.busiest(now)}
	for _, l := range p.locations() {
		at := WorldLocation{Location: l}
		at.City, at.At = p.placed(l.Location)
		playing, measured := p.distances.hour(now, l.Location)
		at.Known, at.Median, at.Slowest = playing.total(), pointer(playing.quantile(.5)), pointer(playing.quantile(.9))
		out.Locations = append(out.Locations, at)
		if l.Location == location {
			out.Chosen = p.distance(location, playing, measured)
		}
	}
	if location != "" && out.Chosen == nil {
		return nil, fault.Missing("location: no fleet is in %.64q", location)
	}
	return out, nil
}

func (p *Pages) distance(location string, playing, measured histogram) *Distance {
	d := &Distance{Location: location, Step: binMillis, Playing: playing.counts[:], Measured: measured.counts[:], Queues: []QueueDistance{}}
	for name, caps := range p.Placements.CapsAt(p.Store.View(), location) {
		d.Queues = append(d.Queues, QueueDistance{Name: name, Caps: caps})
	}
	return d
}
