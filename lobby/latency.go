package lobby

import (
	"maps"
	"math"
	"sync"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// Rules for the latencies that clients report.
const (
	MostSamples  = 64 // of one report or request
	latencyLife  = 15 * time.Minute
	tooFar       = 5000 // milliseconds
	maxLatencies = 200_000
)

// Sample is a client's measurement of its latency to a location.
type Sample struct {
	Location string
	Millis   float64
	Receipt  bool // the client sent a beacon's receipt
	Attested int  // milliseconds according to the receipt; 0 if it is invalid
}

// Reason says why a sample is left out.
type Reason string

// The reasons, spelled as players see them.
const (
	UnknownLocation Reason = "unknown-location"
	Repeated        Reason = "repeated"
	NotANumber      Reason = "not-a-number"
	TooFar          Reason = "too-far"
	ReceiptInvalid  Reason = "receipt-invalid"
)

// Rejected is a sample that is left out.
type Rejected struct {
	Location string
	Reason   Reason
}

type report struct {
	ms       map[string]int // by location
	attested map[string]int // those of them with a beacon's receipt
	until    time.Time
}

// Latencies holds the last report of each player. Reports are samples, so they are not
// written to the store: after a restart clients report again.
type Latencies struct {
	st     *store.Store
	fleets *fleet.Service

	mu sync.Mutex
	of map[string]report // by player
}

// Report replaces the report of a player. It returns the accepted latencies in
// milliseconds by location, and the samples that are left out. A sample of a location that
// no fleet has would distort placements (developer guide, "Create a player latency policy").
func (l *Latencies) Report(player string, samples []Sample) (accepted map[string]int, rejected []Rejected) {
	now := time.Now()
	r := report{ms: map[string]int{}, attested: map[string]int{}, until: now.Add(latencyLife)}
	known := l.Known()
	for _, s := range samples {
		_, twice := r.ms[s.Location]
		why := judge(s.Millis, known[s.Location], twice)
		if why == "" && s.Receipt && s.Attested == 0 {
			why = ReceiptInvalid
		}
		if why != "" {
			rejected = append(rejected, Rejected{s.Location, why})
			continue
		}
		ms := wholeMs(s.Millis)
		if s.Receipt {
			ms = max(ms, s.Attested)
			r.attested[s.Location] = ms
		}
		r.ms[s.Location] = ms
	}
	l.put(player, r, now)
	return r.ms, rejected
}

func judge(ms float64, known, twice bool) Reason {
	switch {
	case !known:
		return UnknownLocation
	case twice:
		return Repeated
	case math.IsNaN(ms):
		return NotANumber
	case ms > tooFar:
		return TooFar
	}
	return ""
}

// wholeMs rounds up to what the API accepts: whole milliseconds from 1.
func wholeMs(ms float64) int { return int(min(max(math.Ceil(ms), 1), tooFar)) }

func (l *Latencies) put(player string, r report, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.of) >= maxLatencies {
		maps.DeleteFunc(l.of, func(_ string, r report) bool { return !r.until.After(now) })
	}
	for old := range l.of {
		if len(l.of) < maxLatencies {
			break
		}
		delete(l.of, old)
	}
	l.of[player] = r
}

// Of returns the last report of a player, in milliseconds by location; nil if there is none
// that still counts.
func (l *Latencies) Of(player string) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.of[player]; r.until.After(time.Now()) {
		return maps.Clone(r.ms)
	}
	return nil
}

// forRequest returns the latencies for a player's request: those in the request, or else
// the reported ones. If m requires receipts, only reported ones with a receipt count.
func (l *Latencies) forRequest(player string, given map[string]float64, m *Matchmaker) (map[string]int, error) {
	l.mu.Lock()
	reported := l.of[player]
	l.mu.Unlock()
	if !reported.until.After(time.Now()) {
		reported = report{}
	}
	ms := reported.ms
	switch {
	case m.RequireReceipt:
		ms = reported.attested
	case given != nil:
		if len(given) > MostSamples {
			return nil, refuse(LatencyRejected, "latency_ms: at most 64 locations")
		}
		ms = map[string]int{}
		known := l.Known()
		for location, n := range given {
			if judge(n, known[location], false) == "" {
				ms[location] = wholeMs(n)
			}
		}
	}
	if len(ms) == 0 && (m.RequireLatency || m.RequireReceipt) {
		return nil, refuse(LatencyRejected, "latency_ms: "+m.Name+" needs the latency to at least one location that exists")
	}
	return maps.Clone(ms), nil
}

// Known returns the locations of active fleets.
func (l *Latencies) Known() map[string]bool {
	known := map[string]bool{}
	for f := range l.fleets.All(l.st.View(), "") {
		if !f.Status.Serves() {
			continue
		}
		known[f.Home] = true
		for _, at := range f.Locations {
			known[at.Location] = true
		}
	}
	return known
}
