package placement

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/notify"
	"github.com/musterhq/muster/placement/remote"
	"github.com/musterhq/muster/test/collector"
	"github.com/musterhq/muster/test/node"
)

// traced is a trace of the caller: its id, and the span within which it calls.
type traced struct{ id, span string }

// as makes AWS's client tell of the trace.
func (t traced) as(o *gamelift.Options) {
	o.APIOptions = append(o.APIOptions, smithyhttp.AddHeaderValue("traceparent", "00-"+t.id+"-"+t.span+"-01"))
}

// numbered returns the i-th trace.
func numbered(i int) traced { return traced{fmt.Sprintf("%032x", i), fmt.Sprintf("%016x", i)} }

// TestTraces follows requests of AWS's client through two deployments, by what these send to
// a receiver of OpenTelemetry: from the caller's span to the commit, the placement, its
// requests to the remote, and what the remote does.
func TestTraces(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	to := collector.Start(t)
	told := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("Traceparent") }))
	defer hook.Close()
	there := &realm{region: "eu-west-1", account: "222222222222"}
	b := node.InProcess(t, func(o *app.Options) { o.Region, o.Account, o.OTLPEndpoint = there.region, there.account, to.URL })
	there.url, there.client = b.URL(), node.Client(b.URL())
	there.open(t, b.URL())
	a := node.InProcess(t, func(o *app.Options) {
		o.Remotes, o.OTLPEndpoint = []remote.Config{there.config}, to.URL
		o.Sinks = []notify.SinkConfig{{Name: "hook", Kind: notify.EventBridge, URL: hook.URL, Topics: []string{notify.Everything}}}
	})
	home := &realm{url: a.URL(), client: node.Client(a.URL())}
	home.place = node.NewPlace(t, home.client)
	h := &homeOf{T: t, realm: home, told: node.Follow(t, home.url)}
	h.queue("q", []string{there.place.FleetARN, home.place.FleetARN}, types.PriorityTypeDestination)
	there.place.Server(t)
	h.placement(to, numbered(1))
	home.place.Server(t)
	h.tickets(to, numbered(2), numbered(3))

	delivered := to.Span(t, "a webhook", func(s *collector.Span) bool { return s.Name == "deliver" && s.Attribute("muster.sink") == "hook" })
	if parent := <-told; parent == "" || delivered.Parent() != "" {
		t.Errorf("the webhook is told of trace %q; its first span is within %q", parent, delivered.Parent())
	}
	to.Span(t, "the game server's request", func(s *collector.Span) bool {
		return s.Name == "ActivateGameSession" && s.Kind == 2 && strings.Contains(s.Attribute("muster.process"), home.place.FleetID)
	})
	h.stranger(to, numbered(4))
	to.Lock()
	defer to.Unlock()
	for _, s := range to.Spans {
		if text, _ := json.Marshal(s.Span); strings.Contains(string(text), "somebody") || strings.Contains(string(text), "secret") {
			t.Errorf("a span has what it must not have: %s", text)
		}
	}
}

// placement places a game session at the remote, within a trace.
func (h *homeOf) placement(to *collector.Collector, caller traced) {
	h.Helper()
	id := "far"
	_, err := h.client.StartGameSessionPlacement(h.Context(), &gamelift.StartGameSessionPlacementInput{
		GameSessionQueueName: aws.String("q"), PlacementId: &id, MaximumPlayerSessionCount: aws.Int32(4),
		DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("somebody-1")}},
	}, caller.as)
	h.must(err)
	h.told.Until(h, "the placement", func(e node.Event) bool { return e.Code == "PLACEMENT_FULFILLED" && e.Resource == id })
	started := h.within(to, caller.id, caller.span, "StartGameSessionPlacement")
	if started.Kind != 2 || started.Attribute("muster.region") != "us-east-1" || started.Attribute("aws.request_id") == "" || started.Attribute("rpc.method") != started.Name {
		h.Errorf("the request is %v", started)
	}
	if commit := h.within(to, caller.id, started.ID(), "commit"); commit.Attribute("muster.command") != "placement.start" {
		h.Errorf("the commit is %v", commit)
	}
	p := h.within(to, caller.id, started.ID(), "placement")
	last := p.Events[len(p.Events)-1].String()
	if p.Attribute("muster.placement.id") != id || p.Attribute("muster.placement.status") != "FULFILLED" || !strings.Contains(last, "remote eu-west-1: CHOSEN") {
		h.Errorf("the placement is %v", p)
	}
	sent := h.within(to, caller.id, p.ID(), "CreateGameSession")
	if sent.Kind != 3 || sent.Attribute("muster.remote") != "eu-west-1" {
		h.Errorf("the attempt is %v", sent)
	}
	got := h.within(to, caller.id, sent.ID(), "CreateGameSession")
	if got.Kind != 2 || got.Attribute("muster.region") != "eu-west-1" {
		h.Errorf("at the remote it is %v", got)
	}
	h.within(to, caller.id, got.ID(), "commit")
	h.within(to, caller.id, p.ID(), "CreatePlayerSessions")
}

// within waits for a span of a trace with a name and a parent.
func (h *homeOf) within(to *collector.Collector, trace, parent, name string) *collector.Span {
	h.Helper()
	return to.Span(h, name+" within "+parent, func(s *collector.Span) bool { return s.Name == name && s.Trace() == trace && s.Parent() == parent })
}

// tickets matches two players, whose tickets have traces of their own.
func (h *homeOf) tickets(to *collector.Collector, callers ...traced) {
	h.Helper()
	ctx := h.Context()
	_, err := h.client.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("duel"), RuleSetBody: aws.String(
		`{"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 2}]}`)})
	h.must(err)
	_, err = h.client.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("mm"), RuleSetName: aws.String("duel"), RequestTimeoutSeconds: aws.Int32(60), AcceptanceRequired: aws.Bool(false),
		GameSessionQueueArns: []string{"arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/q"},
	})
	h.must(err)
	for i, caller := range callers {
		_, err := h.client.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{
			ConfigurationName: aws.String("mm"), TicketId: aws.String(fmt.Sprint("ticket-", i)),
			Players: []types.Player{{PlayerId: aws.String(fmt.Sprint("somebody-", i))}},
		}, caller.as)
		h.must(err)
	}
	placements := 0
	for i, caller := range callers {
		started := h.within(to, caller.id, caller.span, "StartMatchmaking")
		ticket := h.within(to, caller.id, started.ID(), "matchmaking")
		if ticket.Attribute("muster.ticket.id") != fmt.Sprint("ticket-", i) || ticket.Attribute("muster.ticket.status") != "COMPLETED" {
			h.Errorf("the ticket is %v", ticket)
		}
		to.Lock()
		for _, s := range to.Spans {
			if s.Name == "placement" && s.Parent() == ticket.ID() && s.Attribute("muster.placement.id") == ticket.Attribute("muster.match.id") {
				placements++
			}
		}
		to.Unlock()
	}
	if placements != 1 {
		h.Errorf("%d placements are within the tickets of a match, want 1", placements)
	}
}

// stranger asks the player API, whose callers do not decide which traces are sampled: their
// trace is linked to.
func (h *homeOf) stranger(to *collector.Collector, caller traced) {
	h.Helper()
	rq, err := http.NewRequestWithContext(context.Background(), http.MethodGet, h.url+"/player/.well-known/jwks.json", nil)
	h.must(err)
	rq.Header.Set("Traceparent", "00-"+caller.id+"-"+caller.span+"-01")
	response, err := http.DefaultClient.Do(rq)
	h.must(err)
	response.Body.Close()
	s := to.Span(h, "the request of a game client", func(s *collector.Span) bool { return s.Attribute("muster.door") == "player" })
	if s.Name != "GET /player/.well-known/jwks.json" || s.Trace() == caller.id || s.Parent() != "" || len(s.Links) != 1 || fmt.Sprintf("%x", s.Links[0].TraceId) != caller.id {
		h.Errorf("the request of a game client is %v", s)
	}
}
