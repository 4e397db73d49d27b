package backend

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// places handles what clients read before they play: this API, what can be played, where
// locations are, and the latency to them.
type places struct{ *core }

// serves returns the handler of a description.
func (h *places) serves(text []byte) handler {
	return func(rq *request) (answer, error) {
		rq.public("300")
		rq.w.Header().Set("Content-Type", "application/yaml")
		rq.w.Write(text) // fails if the client has gone
		return answer{}, nil
	}
}

func (h *places) ping(rq *request) (answer, error) {
	beacon.Ping().ServeHTTP(rq.w, rq.http)
	return answer{}, nil
}

func (h *places) configuration(rq *request) (answer, error) {
	rq.public("60")
	out := &protocol.ClientConfig{
		APIVersion: "1", ServerTime: time.Now().UTC(), PollIntervalMs: 2000, MaxWaitSeconds: int64(maxWait / time.Second),
		WebsocketURL: "ws" + h.Base[len("http"):] + protocol.Base + "/ws",
		Providers:    []protocol.ProviderInfo{}, Matchmakers: []protocol.MatchmakerInfo{}, Pools: []protocol.PoolInfo{},
	}
	for _, p := range h.config.now().Providers {
		out.Providers = append(out.Providers, protocol.ProviderInfo{Name: p.Name})
	}
	for _, m := range h.Lobby.Catalog.Matchmakers() {
		out.Matchmakers = append(out.Matchmakers, protocol.MatchmakerInfo{
			Name: m.Name, MinParty: int64(m.MinParty), MaxParty: int64(m.MaxParty), Acceptance: h.Lobby.Catalog.AsksPlayers(&m),
		})
	}
	for _, p := range h.Lobby.Catalog.Pools() {
		out.Pools = append(out.Pools, protocol.PoolInfo{Name: p.Name, CanCreate: p.CanCreate, CanList: p.CanList})
	}
	return ok(out, nil)
}

func (h *places) locations(rq *request) (answer, error) {
	rq.public("300")
	known := h.Lobby.Latencies.Known()
	byName := map[string]protocol.Location{}
	for l := range h.Fleets.Locations.All(h.Store.View(), "") {
		if known[l.Name] {
			byName[l.Name] = protocol.Location{Name: l.Name}
		}
	}
	for _, l := range h.config.now().Locations {
		byName[l.Name] = l
	}
	out := &protocol.Locations{TTLSeconds: 3600, Locations: []protocol.Location{}}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		l := byName[name]
		if h.config.Open && l.UDP == "" && l.TCP == "" && l.HTTPS == "" { // everything is on this machine
			l.UDP, l.HTTPS = h.Beacon, h.Base+protocol.Base+"/ping"
		}
		out.Locations = append(out.Locations, l)
	}
	return ok(out, nil)
}

func (h *places) reportLatency(rq *request, in *protocol.LatencyReport) (answer, error) {
	if len(in.Samples) > lobby.MostSamples {
		return answer{}, refuse("validation-failed", "samples: at most 64")
	}
	samples := make([]lobby.Sample, len(in.Samples))
	for i, s := range in.Samples {
		samples[i] = lobby.Sample{Location: s.Location, Millis: s.RTTMs, Receipt: s.Receipt != "", Attested: h.attested(&s, rq.from)}
	}
	accepted, rejected := h.Lobby.Latencies.Report(rq.player.PlayerID, samples)
	out := &protocol.LatencyResult{Accepted: map[string]int64{}, Rejected: []protocol.RejectedSample{}}
	for location, ms := range accepted {
		out.Accepted[location] = int64(ms)
	}
	for _, r := range rejected {
		out.Rejected = append(out.Rejected, protocol.RejectedSample{Location: r.Location, Reason: protocol.RejectedSampleReason(r.Reason)})
	}
	return ok(out, nil)
}

// attested returns the latency in milliseconds according to a sample's receipt, or 0 if
// there is no valid one.
func (h *places) attested(s *protocol.LatencySample, from netip.Addr) int {
	receipts := h.config.receipts.Load()
	if receipts == nil || s.Receipt == "" {
		return 0
	}
	found, err := receipts.Check(s.Receipt, from, time.Now())
	if err != nil || found.Location != s.Location {
		return 0
	}
	return found.RTT
}
