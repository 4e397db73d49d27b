package players

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/collector"
)

// TestTraces_Socket has a receiver of OpenTelemetry get a span of each message that a player
// sends over a WebSocket: a trace of its own, which links to the trace that the client
// told of when it connected. Nothing of what the player wrote is in it.
func TestTraces_Socket(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	to := collector.Start(t)
	s := newStage(t, func(o *app.Options) { o.OTLPEndpoint = to.URL })
	c := s.guest()
	const theirs, within = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	ws, _, err := c.dial("", http.Header{"Authorization": {"Bearer " + c.login.AccessToken}, "Traceparent": {"00-" + theirs + "-" + within + "-01"}})
	c.must(err)
	ws.say(protocol.MessagePing, "ping-mine", "data-mine")
	ws.say(protocol.MessageStart, "start-mine", protocol.TicketRequest{Matchmaker: "duel"})
	ticket, _ := ws.state(protocol.TicketStateSearching)
	ws.say(protocol.MessageStart, "again-mine", protocol.TicketRequest{Matchmaker: "duel"})
	ws.say("type-mine", "other-mine", "data-mine")
	ws.say(protocol.MessageCancel, "cancel-mine", protocol.SocketTicketID{TicketID: ticket.TicketID})
	ws.say(protocol.MessageAuth, "auth-mine", protocol.SocketAuth{AccessToken: "token-mine"})
	ws.closed()

	for _, want := range []struct{ name, failed string }{
		{protocol.MessageStart, ""}, {protocol.MessageStart, "ticket-active"}, {"_OTHER", "invalid-parameter"}, {protocol.MessageCancel, ""}, {protocol.MessageAuth, "token-invalid"},
	} {
		m := to.Span(t, want.name+" "+want.failed, func(s *collector.Span) bool { return s.Name == want.name && s.Attribute("error.type") == want.failed })
		var links []string
		for _, l := range m.Links {
			links = append(links, hex.EncodeToString(l.TraceId)+"-"+hex.EncodeToString(l.SpanId))
		}
		if !slices.Equal(links, []string{theirs + "-" + within}) {
			t.Errorf("%s links to %v, want %s-%s", m.Name, links, theirs, within)
		}
		if m.Parent() != "" || m.Kind != 2 || m.Trace() == theirs || m.Attribute("muster.door") != "player" || m.Attribute("muster.region") != "us-east-1" ||
			m.Attribute("rpc.method") != want.name || (want.failed != "") != (m.Attribute("aws.request_id") != "") {
			t.Errorf("the message is %v", m)
		}
	}
	started := to.Span(t, "the ticket that was started", func(s *collector.Span) bool { return s.Name == "matchmaking" })
	if first := to.Span(t, "the first message", func(s *collector.Span) bool { return s.ID() == started.Parent() }); first.Name != protocol.MessageStart {
		t.Errorf("the ticket is within %v", first)
	}
	to.Lock()
	defer to.Unlock()
	for _, s := range to.Spans {
		text, _ := json.Marshal(s.Span)
		if s.Name == protocol.MessagePing || strings.Contains(string(text), "-mine") || strings.Contains(string(text), c.login.AccessToken) || strings.Contains(string(text), c.login.PlayerID) {
			t.Errorf("a span has what it must not have: %s", text)
		}
	}
}
