package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/collector"
)

// TestTraces_Agent follows a request that scales a fleet to what an agent does because of it: it
// installs the build, which it fetches from the server, and starts the processes. What it does
// later, such as sending logs, is a trace of its own. Agent and server each send to a receiver of
// OpenTelemetry.
func TestTraces_Agent(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	to := collector.Start(t)
	s := newSite(t, here(t), "--otlp-endpoint", to.URL)
	token, err := s.console.CreateJoinToken(t.Context(), client.JoinTokenInput{})
	if err != nil {
		t.Fatal(err)
	}
	g := s.guest("traced", token.Token, 24000, "--otlp-endpoint", to.URL)
	fleet := s.fleet(s.build(arena(t)), server, 2)
	s.seen.want(1, "an instance", code("INSTANCE_ACTIVE", 0))
	scale := func(desired int32, traceparent string) {
		t.Helper()
		_, err := s.client.UpdateFleetCapacity(t.Context(), &gamelift.UpdateFleetCapacityInput{FleetId: &fleet, DesiredInstances: &desired, MinSize: aws.Int32(0)}, func(o *gamelift.Options) {
			o.APIOptions = append(o.APIOptions, smithyhttp.AddHeaderValue("traceparent", traceparent))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	within := func(parent, name string) *collector.Span {
		t.Helper()
		return to.Span(t, name+" within "+parent, func(s *collector.Span) bool { return s.Name == name && s.Trace() == trace && s.Parent() == parent })
	}
	scale(0, "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	first := s.seen.want(1, "the end of the instance", code("INSTANCE_TERMINATED", 0))
	scale(1, "00-"+trace+"-b7ad6b7169203331-01")
	active := s.seen.want(2, "another instance", code("INSTANCE_ACTIVE", 0))

	started := within(within("b7ad6b7169203331", "UpdateFleetCapacity").ID(), "instance start")
	if started.Attribute("muster.instance.id") != active.ComputeName || started.Attribute("muster.fleet.id") != fleet || started.Resource["service.name"] != "muster" {
		t.Errorf("the start of the instance is %v", started)
	}
	installed := within(started.ID(), "install build")
	if installed.Resource["service.name"] != "muster-agent" || installed.Resource["service.instance.id"] != "traced" || installed.Attribute("muster.instance.id") != active.ComputeName {
		t.Errorf("the installation is %v of %v", installed, installed.Resource)
	}
	processes := map[string]bool{}
	for len(processes) < 2 {
		p := to.Span(t, "the start of another process", func(s *collector.Span) bool {
			return s.Name == "start process" && s.Parent() == started.ID() && !processes[s.Attribute("muster.process")]
		})
		if processes[p.Attribute("muster.process")] = true; !strings.HasPrefix(p.Attribute("muster.process"), fleet+"/"+active.ComputeName+"/") || p.Trace() != trace {
			t.Errorf("the start of a process is %v", p)
		}
	}

	// The build was fetched for the first instance, which CreateFleet had made: the server's part
	// is within the agent's.
	fetched := to.Span(t, "the fetch of the build", func(s *collector.Span) bool { return s.Name == "fetch build" })
	if fetched.Kind != 3 || fetched.Trace() == trace {
		t.Errorf("the fetch is %v", fetched)
	}
	to.Span(t, "the server's part of the fetch", func(s *collector.Span) bool {
		return s.Parent() == fetched.ID() && s.Trace() == fetched.Trace() && s.Resource["service.name"] == "muster"
	})
	before := to.Span(t, "the first installation", func(s *collector.Span) bool { return s.ID() == fetched.Parent() })
	made := to.Span(t, "the first instance", func(s *collector.Span) bool { return s.ID() == before.Parent() })
	if made.Name != "instance start" || made.Attribute("muster.instance.id") != first.ComputeName {
		t.Errorf("the build was fetched within %v", made)
	}
	to.Span(t, "the request that made it", func(s *collector.Span) bool { return s.ID() == made.Parent() && s.Name == "CreateFleet" })

	// A process that is started again belongs to no request, and neither do logs.
	sent := to.Span(t, "the upload of logs", func(s *collector.Span) bool {
		return s.Name == "upload logs" && s.Attribute("muster.instance.id") == first.ComputeName && s.Attribute("error.type") == ""
	})
	to.Span(t, "the server's part of the upload", func(s *collector.Span) bool { return s.Parent() == sent.ID() && s.Resource["service.name"] == "muster" })
	if sent.Parent() != "" {
		t.Errorf("the upload is %v", sent)
	}
	game := s.create(fleet)
	_, err = s.client.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{GameSessionId: game.GameSessionId, TerminationMode: types.TerminationModeForceTerminate})
	if err != nil {
		t.Fatal(err)
	}
	to.Span(t, "a process that is started again", func(s *collector.Span) bool {
		return s.Name == "start process" && s.Parent() == "" && strings.Contains(s.Attribute("muster.process"), active.ComputeName)
	})
	to.Lock()
	defer to.Unlock()
	for _, span := range to.Spans {
		if text, _ := json.Marshal(span.Span); strings.Contains(string(text), token.Token) || strings.Contains(string(text), g.root) {
			t.Errorf("a span has what it must not have: %s", text)
		}
	}
}
