package backend

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Rules for the latencies that clients report.
const (
	latencyLife  = 15 * time.Minute
	mostSamples  = 64
	tooFar       = 5000 // milliseconds
	maxLatencies = 200_000
)

// report holds the accepted measurements of a player's client.
type report struct {
	ms       map[string]int // by location
	attested map[string]int // those of them with a beacon's receipt
	until    time.Time
}

// latencies holds the last reports. They are samples, so they are not written to the
// store: after a restart clients report again.
type latencies struct {
	mu sync.Mutex
	of map[string]report // by player
}

func newLatencies() *latencies { return &latencies{of: map[string]report{}} }

func (l *latencies) put(player string, r report, now time.Time) {
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

// get returns a player's report if it has not expired.
func (l *latencies) get(player string, now time.Time) (report, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.of[player]
	return r, ok && r.until.After(now)
}

func (rq *request) reportLatency() (answer, error) {
	in, err := decode[protocol.LatencyReport](rq)
	if err != nil {
		return answer{}, err
	}
	if len(in.Samples) > mostSamples {
		return answer{}, refuse("validation-failed", "samples: at most 64")
	}
	if err := rq.change(); err != nil {
		return answer{}, err
	}
	r, rejected := rq.b.filter(rq, in.Samples)
	rq.b.latency.put(rq.player.PlayerID, r, time.Now())
	out := &protocol.LatencyResult{Accepted: map[string]int64{}, Rejected: rejected}
	for location, ms := range r.ms {
		out.Accepted[location] = int64(ms)
	}
	return ok(out)
}

// filter returns the acceptable samples. A location that no fleet has would distort
// placements (developer guide, "Create a player latency policy"), so it is left out.
func (b *Backend) filter(rq *request, samples []protocol.LatencySample) (report, []protocol.RejectedSample) {
	now := time.Now()
	r := report{ms: map[string]int{}, attested: map[string]int{}, until: now.Add(latencyLife)}
	rejected := []protocol.RejectedSample{}
	known := b.knownLocations()
	for _, s := range samples {
		_, twice := r.ms[s.Location]
		why := judge(s.RTTMs, known[s.Location], twice)
		ms := wholeMs(s.RTTMs)
		if why == "" && s.Receipt != "" {
			found, err := b.checkReceipt(s, rq, now)
			if err != nil {
				why = protocol.RejectedSampleReasonReceiptInvalid
			} else {
				ms = max(ms, found)
				r.attested[s.Location] = ms
			}
		}
		if why != "" {
			rejected = append(rejected, protocol.RejectedSample{Location: s.Location, Reason: why})
			continue
		}
		r.ms[s.Location] = ms
	}
	return r, rejected
}

func judge(ms float64, known, twice bool) protocol.RejectedSampleReason {
	switch {
	case !known:
		return protocol.RejectedSampleReasonUnknownLocation
	case twice:
		return protocol.RejectedSampleReasonRepeated
	case math.IsNaN(ms):
		return protocol.RejectedSampleReasonNotANumber
	case ms > tooFar:
		return protocol.RejectedSampleReasonTooFar
	}
	return ""
}

// wholeMs rounds up to what the API accepts: whole milliseconds from 1.
func wholeMs(ms float64) int { return int(min(max(math.Ceil(ms), 1), tooFar)) }

func (b *Backend) checkReceipt(s protocol.LatencySample, rq *request, now time.Time) (int, error) {
	receipts := b.receipts.Load()
	if receipts == nil {
		return 0, refuse("latency-rejected", "no receipts are checked here")
	}
	found, err := receipts.Check(s.Receipt, rq.from, now)
	if err != nil || found.Location != s.Location {
		return 0, refuse("latency-rejected", "the receipt is not good")
	}
	return found.RTT, nil
}

// latencyOf returns the latencies for a ticket of a player: those in the request, or
// else the reported ones.
func (b *Backend) latencyOf(player string, given map[string]float64, m *Matchmaker) (map[string]int, error) {
	reported, _ := b.latency.get(player, time.Now())
	ms := reported.ms
	switch {
	case m.RequireReceipt:
		ms = reported.attested
	case given != nil:
		if len(given) > mostSamples {
			return nil, refuse("latency-rejected", "latency_ms: at most 64 locations")
		}
		ms = map[string]int{}
		known := b.knownLocations()
		for location, n := range given {
			if judge(n, known[location], false) == "" {
				ms[location] = wholeMs(n)
			}
		}
	}
	if len(ms) == 0 && (m.RequireLatency || m.RequireReceipt) {
		return nil, refuse("latency-rejected", "latency_ms: "+m.Name+" needs the latency to at least one location that exists")
	}
	return maps.Clone(ms), nil
}

// knownLocations returns the locations that active fleets have.
func (b *Backend) knownLocations() map[string]bool {
	known := map[string]bool{}
	for f := range b.opts.Fleets.All(b.st.View(), "") {
		if f.Status != fleet.Active {
			continue
		}
		known[f.Home] = true
		for _, l := range f.Locations {
			known[l.Location] = true
		}
	}
	return known
}

func (rq *request) locations() (answer, error) {
	rq.public("300")
	known := rq.b.knownLocations()
	byName := map[string]protocol.Location{}
	for l := range rq.b.opts.Fleets.Locations.All(rq.b.st.View(), "") {
		if known[l.Name] {
			byName[l.Name] = protocol.Location{Name: l.Name}
		}
	}
	for _, l := range rq.b.now().Locations {
		byName[l.Name] = protocol.Location{Name: l.Name, UDP: l.UDP, TCP: l.TCP, HTTPS: l.HTTPS}
	}
	out := &protocol.Locations{TTLSeconds: 3600, Locations: []protocol.Location{}}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		l := byName[name]
		if rq.b.Open && l.UDP == "" && l.TCP == "" && l.HTTPS == "" { // everything is on this machine
			l.UDP, l.HTTPS = rq.b.opts.Beacon(), rq.b.opts.Base()+protocol.Base+"/ping"
		}
		out.Locations = append(out.Locations, l)
	}
	return ok(out)
}

// BeaconOf returns where the UDP beacon of a location answers: HOST:PORT, or "".
func (b *Backend) BeaconOf(location string) string {
	for _, l := range b.now().Locations {
		if l.Name == location {
			return l.UDP
		}
	}
	if b.Open && (fleet.IsCustom(location) || location == b.opts.Fleets.Home().Region) { // everything is on this machine
		return b.opts.Beacon()
	}
	return ""
}

func (rq *request) config() (answer, error) {
	rq.public("60")
	b := rq.b
	out := &protocol.ClientConfig{
		APIVersion: "1", ServerTime: time.Now().UTC(), PollIntervalMs: 2000, MaxWaitSeconds: int64(maxWait / time.Second),
		WebsocketURL: "ws" + b.opts.Base()[len("http"):] + protocol.Base + "/ws",
		Providers:    []protocol.ProviderInfo{}, Matchmakers: []protocol.MatchmakerInfo{}, Pools: []protocol.PoolInfo{},
	}
	for _, p := range b.now().Providers {
		out.Providers = append(out.Providers, protocol.ProviderInfo{Name: p.Name})
	}
	view := b.st.View()
	for _, m := range b.matchmakers() {
		c, _ := b.matching.Configuration(m.Configuration)
		out.Matchmakers = append(out.Matchmakers, protocol.MatchmakerInfo{
			Name: m.Name, MinParty: int64(m.MinParty), MaxParty: int64(m.MaxParty), Acceptance: c.Acceptance,
		})
	}
	for _, p := range b.pools(view) {
		out.Pools = append(out.Pools, protocol.PoolInfo{Name: p.Name, CanCreate: p.CanCreate, CanList: p.CanList})
	}
	return ok(out)
}

// matchmakers returns those of the configuration, and on an open server one for each
// matchmaking configuration.
func (b *Backend) matchmakers() []Matchmaker {
	all := slices.Clone(b.now().Matchmakers)
	if b.Open {
		for _, name := range b.matching.Configurations() {
			if !slices.ContainsFunc(all, func(m Matchmaker) bool { return m.Name == name }) {
				all = append(all, Matchmaker{Name: name, Configuration: name, MinParty: 1, MaxParty: mostParty})
			}
		}
	}
	return all
}

// pools returns those of the configuration, and on an open server one for each queue.
func (b *Backend) pools(view *store.Snapshot) []Pool {
	all := slices.Clone(b.now().Pools)
	if b.Open {
		for q := range b.opts.Placements.Queues.After(view, "") {
			if !slices.ContainsFunc(all, func(p Pool) bool { return p.Name == q.Name }) {
				all = append(all, Pool{Name: q.Name, Queue: q.Name, CanCreate: true, CanList: true, MaxPlayers: 16})
			}
		}
	}
	return all
}

func find[T any](all []T, is func(*T) bool, kind, name string) (*T, error) {
	for i := range all {
		if is(&all[i]) {
			return &all[i], nil
		}
	}
	return nil, refuse("not-found", "there is no "+kind+" "+name)
}
