package players

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// ratedPlaces returns a stage with a beacon that signs, and the matchmakers "near",
// which uses only figures that a beacon signed, and "rated", which takes skill from
// the server's data and mode from clients.
func ratedPlaces(t *testing.T) (*stage, *beacon.Server) {
	t.Helper()
	key := []byte(strings.Repeat("k", 32))
	file := filepath.Join(t.TempDir(), "beacon-key")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	least, most := 1.0, 3.0
	s := newStage(t, func(o *app.Options) {
		o.Players.BeaconKeyFile, o.Players.Limits.TicketsPerMin = file, -1
		o.Players.Matchmakers = []lobby.Matchmaker{
			{Name: "near", Configuration: "duel", RequireReceipt: true},
			{Name: "rated", Configuration: "duel", Attributes: []lobby.Attribute{
				{Name: "skill", Default: 10}, {Name: "mode", From: "client", Type: "number", Min: &least, Max: &most},
			}},
		}
	})
	b, err := beacon.Listen(beacon.Options{Location: s.place.Location, UDP: "127.0.0.1:0", Key: key})
	s.must(err)
	ended := make(chan error, 1)
	go func() { ended <- b.Serve(t.Context()) }()
	t.Cleanup(func() { s.must(<-ended) })
	return s, b
}

// counts returns what the matchmaker received about a ticket's player.
func (s *stage) counts(ticket *protocol.Ticket) types.Player {
	s.Helper()
	out, err := s.aws.DescribeMatchmaking(s.Context(), &gamelift.DescribeMatchmakingInput{TicketIds: []string{ticket.TicketID}})
	s.must(err)
	return out.TicketList[0].Players[0]
}

// asks starts matchmaking, and cancels it once the figures used are known.
func (c *client) asks(ask protocol.TicketRequest) types.Player {
	c.Helper()
	var t protocol.Ticket
	c.call("POST", "/matchmaking/tickets", ask, 201, &t)
	told := c.counts(&t)
	c.call("DELETE", "/matchmaking/tickets/"+t.TicketID, nil, 202, &t)
	c.until(&t, protocol.TicketStateCancelled)
	return told
}

// Impossible latencies that clients report are left out.
func TestLatency_IsFiltered(t *testing.T) {
	t.Parallel()
	s, _ := ratedPlaces(t)
	anna, here := s.guest(), s.place.Location
	report := func(samples ...protocol.LatencySample) (out protocol.LatencyResult) {
		t.Helper()
		anna.call("PUT", "/players/me/latency", protocol.LatencyReport{Samples: samples}, 200, &out)
		return out
	}
	got := report(
		protocol.LatencySample{Location: here, RTTMs: 12.2}, protocol.LatencySample{Location: here, RTTMs: 1},
		protocol.LatencySample{Location: "custom-nowhere", RTTMs: 5}, protocol.LatencySample{Location: "us-west-2", RTTMs: 5},
	)
	want := []protocol.RejectedSample{
		{Location: here, Reason: protocol.RejectedSampleReasonRepeated},
		{Location: "custom-nowhere", Reason: protocol.RejectedSampleReasonUnknownLocation},
		{Location: "us-west-2", Reason: protocol.RejectedSampleReasonUnknownLocation},
	}
	if !maps.Equal(got.Accepted, map[string]int64{here: 13}) || !slices.Equal(got.Rejected, want) {
		t.Errorf("got %+v", got)
	}
	duel := protocol.TicketRequest{Matchmaker: "duel"}
	if told := anna.asks(duel).LatencyInMs; !maps.Equal(told, map[string]int32{here: 13}) {
		t.Errorf("the matchmaker was told %v, want what was reported", told)
	}
	duel.LatencyMs = map[string]float64{here: -3, "custom-nowhere": 5}
	if told := anna.asks(duel).LatencyInMs; !maps.Equal(told, map[string]int32{here: 1}) {
		t.Errorf("the matchmaker was told %v, want what came with the request and can be", told)
	}
	if got = report(protocol.LatencySample{Location: here, RTTMs: 5001}); len(got.Accepted) != 0 || got.Rejected[0].Reason != protocol.RejectedSampleReasonTooFar {
		t.Errorf("got %+v", got)
	}
	if told := s.guest().asks(protocol.TicketRequest{Matchmaker: "duel"}).LatencyInMs; len(told) != 0 {
		t.Errorf("another player's latency counts: %v", told)
	}
}

// If receipts are required, only what a beacon of the location measured itself is
// used, and never a smaller figure.
func TestLatency_NeedsReceipts(t *testing.T) {
	t.Parallel()
	s, b := ratedPlaces(t)
	anna, here := s.guest(), s.place.Location
	near := protocol.TicketRequest{Matchmaker: "near"}
	claimed := near
	claimed.LatencyMs = map[string]float64{here: 1}
	report := func(sample protocol.LatencySample) (out protocol.LatencyResult) {
		t.Helper()
		anna.call("PUT", "/players/me/latency", protocol.LatencyReport{Samples: []protocol.LatencySample{sample}}, 200, &out)
		return out
	}
	refused := func() {
		t.Helper()
		anna.refused("POST", "/matchmaking/tickets", near, 422, "latency-rejected")
		anna.refused("POST", "/matchmaking/tickets", claimed, 422, "latency-rejected")
	}
	report(protocol.LatencySample{Location: here, RTTMs: 1})
	refused()
	measured, err := beacon.Measure(t.Context(), []beacon.Endpoint{{Location: here, UDP: b.UDP()}},
		beacon.MeasureOptions{Receipt: true, Interval: 100 * time.Millisecond, Timeout: 10 * time.Second, Deadline: time.Minute})
	s.must(err)
	receipt := measured[0].Receipt
	if receipt == "" {
		t.Fatalf("the beacon gave %+v", measured)
	}
	for name, forged := range map[string]string{"changed": receipt + "x", "made up": "custom-here.1.1.1"} {
		if got := report(protocol.LatencySample{Location: here, RTTMs: 1, Receipt: forged}); len(got.Rejected) != 1 || got.Rejected[0].Reason != protocol.RejectedSampleReasonReceiptInvalid {
			t.Errorf("%s: got %+v", name, got)
		}
		refused()
	}
	report(protocol.LatencySample{Location: here, RTTMs: 40, Receipt: receipt})
	if told := anna.asks(claimed).LatencyInMs; !maps.Equal(told, map[string]int32{here: 40}) {
		t.Errorf("the matchmaker was told %v, want 40 ms, which is more than was measured", told)
	}
	got := report(protocol.LatencySample{Location: here, RTTMs: -1, Receipt: receipt})
	if got.Accepted[here] < 1 {
		t.Errorf("got %+v", got)
	}
}

// Attributes come from where the matchmaker says, whatever clients send or store.
func TestAttributes_AreTheServers(t *testing.T) {
	t.Parallel()
	s, _ := ratedPlaces(t)
	anna := s.guest()
	skill := func() float64 {
		t.Helper()
		return *anna.asks(protocol.TicketRequest{Matchmaker: "rated", Attributes: attributes("mode", `2`)}).PlayerAttributes["skill"].N
	}
	for _, namespace := range []string{"private", "public"} {
		anna.call("PUT", "/players/me/data/"+namespace+"/skill", `9000`, 201, nil)
	}
	if got := skill(); got != 10 {
		t.Errorf("the skill is %v, want the default", got)
	}
	anna.call("PUT", "/server/players/"+anna.login.PlayerID+"/data/server/skill", `12`, 201, nil)
	if got := skill(); got != 12 {
		t.Errorf("the skill is %v, want the server's", got)
	}
	for name, value := range map[string]string{"skill": `9000`, "mode": `4`, "more": `1`} {
		ask := protocol.TicketRequest{Matchmaker: "rated", Attributes: attributes(name, value)}
		anna.refused("POST", "/matchmaking/tickets", ask, 422, "attribute-rejected")
	}
	text := protocol.TicketRequest{Matchmaker: "rated", Attributes: attributes("mode", `"2"`)}
	anna.refused("POST", "/matchmaking/tickets", text, 422, "attribute-rejected")
}

func attributes(name, value string) map[string]protocol.JSON {
	return map[string]protocol.JSON{name: protocol.JSON(value)}
}
