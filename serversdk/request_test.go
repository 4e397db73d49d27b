package serversdk_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/serversdk"
	"github.com/musterhq/muster/session"
)

// configuration names a matchmaking configuration that does not exist.
const configuration = "arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/none"

// Each refusal has its status and says why, and leaves the state as it was.
func TestRefusedRequests(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		_, foreign := h.hosting("other")
		players := h.reserve(id, "ann")
		elsewhere := h.reserve(foreign, "bob")
		must(t, h.Sessions.Players.Remove(h.Ctx, h.ref("p"), id, h.reserve(id, "gone")[0]))
		for _, c := range []struct {
			action  string
			members object
			status  int
			why     string
		}{
			{"ActivateServerProcess", object{"Port": 1}, 409, "cannot become ready again"},
			{"ActivateServerProcess", object{"Port": 65536}, 400, "Port: must be 0 to 65535"},
			{"ActivateServerProcess", object{"Port": -1}, 400, "Port: must be 0 to 65535"},
			{"ActivateServerProcess", object{"LogPaths": make([]string, 101)}, 400, "LogPaths: has 101 entries"},
			{"ActivateServerProcess", object{"LogPaths": []string{strings.Repeat("x", 1025)}}, 400, "LogPaths.1: has 1025 bytes"},
			{"HeartbeatServerProcess", object{"HealthStatus": "yes"}, 400, "HealthStatus: must be true or false"},
			{"ActivateGameSession", nil, 400, "GameSessionId: required"},
			{"ActivateGameSession", object{"GameSessionId": "arn:unknown"}, 404, "hosts no game session arn:unknown"},
			{"ActivateGameSession", object{"GameSessionId": foreign}, 404, "hosts no game session"},
			{"UpdatePlayerSessionCreationPolicy", object{"PlayerSessionPolicy": "DENY_ALL"}, 400, "GameSessionId: required"},
			{"UpdatePlayerSessionCreationPolicy", object{"GameSessionId": id, "PlayerSessionPolicy": "NOT_SET"}, 400, "PlayerSessionPolicy: must be one of"},
			{"UpdatePlayerSessionCreationPolicy", object{"GameSessionId": foreign, "PlayerSessionPolicy": "DENY_ALL"}, 404, "hosts no game session"},
			{"AcceptPlayerSession", object{"GameSessionId": id}, 400, "PlayerSessionId: required"},
			{"AcceptPlayerSession", object{"PlayerSessionId": players[0]}, 400, "GameSessionId: required"},
			{"AcceptPlayerSession", object{"GameSessionId": id, "PlayerSessionId": "psess-none"}, 404, "does not exist"},
			{"AcceptPlayerSession", object{"GameSessionId": id, "PlayerSessionId": elsewhere[0]}, 400, "belongs to another game session"},
			{"AcceptPlayerSession", object{"GameSessionId": foreign, "PlayerSessionId": elsewhere[0]}, 404, "hosts no game session"},
			{"RemovePlayerSession", object{"GameSessionId": id, "PlayerSessionId": "psess-none"}, 404, "does not exist"},
			{"DescribePlayerSessions", nil, 400, "exactly one of them is required; 0 are given"},
			{"DescribePlayerSessions", object{"GameSessionId": id, "PlayerId": "ann"}, 400, "2 are given"},
			{"DescribePlayerSessions", object{"PlayerId": "ann", "PlayerSessionStatusFilter": "LEFT"}, 400, "PlayerSessionStatusFilter: must be one of"},
			{"DescribePlayerSessions", object{"PlayerId": "ann", "Limit": 1025}, 400, "Limit: must be 1 to 1024"},
			{"DescribePlayerSessions", object{"PlayerId": "ann", "Limit": -1}, 400, "Limit: must be 1 to 1024"},
			{"DescribePlayerSessions", object{"PlayerId": "ann", "NextToken": "junk"}, 400, "NextToken: was not given for this request"},
			{"DescribePlayerSessions", object{"PlayerId": "a\x00n"}, 400, "U+0000"},
			{"DescribePlayerSessions", object{"GameSessionId": "arn:aws:gamelift:us-east-1::gamesession/fleet-x/custom-home/g"}, 404, "has no game session"},
			{"StartMatchBackfill", object{"GameSessionArn": id}, 400, "MatchmakingConfigurationArn: required"},
			{"StartMatchBackfill", object{"MatchmakingConfigurationArn": configuration}, 400, "GameSessionArn: required"},
			{"StartMatchBackfill", object{"GameSessionArn": foreign, "MatchmakingConfigurationArn": configuration}, 404, "hosts no game session"},
			{"StartMatchBackfill", object{"GameSessionArn": id, "MatchmakingConfigurationArn": configuration}, 404, "matchmaking configuration"},
			{"StopMatchBackfill", object{"GameSessionArn": id, "MatchmakingConfigurationArn": configuration}, 400, "TicketId: required"},
			{"StopMatchBackfill", object{"GameSessionArn": id, "MatchmakingConfigurationArn": configuration, "TicketId": "t"}, 404, "has no backfill ticket t"},
			{"TerminateGameSession", object{"GameSessionId": id}, 400, "is no request of Server SDK 5"},
		} {
			before := h.Store.View().Digest()
			o := g.want(c.status, g.ask(c.action, c.members))
			if text := o["ErrorMessage"].(string); !strings.Contains(text, c.why) {
				t.Errorf("%s %v: %q does not say %q", c.action, c.members, text, c.why)
			}
			if h.Store.View().Digest() != before {
				t.Errorf("%s %v: the refusal changed the state", c.action, c.members)
			}
		}
	})
}

// A process with Server SDK 3 or 4 ends its game session, is given no other before it is
// ready again, and then hosts the next one.
func TestFinishGameSession(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, first := h.hosting("p")
		g.want(404, g.ask("FinishGameSession", object{"GameSessionId": first + "x"}))
		g.want(200, g.ask("FinishGameSession", object{"GameSessionId": first}))
		if got := h.game(first).Status; got != session.Terminated {
			t.Errorf("the game session is %s", got)
		}
		g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		synctest.Wait()
		if p := h.process("p"); p.Status != compute.Initialized || p.Free() {
			t.Errorf("the process is %s, free %v", p.Status, p.Free())
		}
		g.want(404, g.ask("FinishGameSession", object{"GameSessionId": first}))
		g.want(200, g.ask("FinishGameSession", object{"GameSessionId": ""}))
		g.activate(8888)
		g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		synctest.Wait()
		second := h.create()
		if got := g.push("CreateGameSession"); got["GameSessionId"] != second.ID || second.ID == first || got["Port"] != 8888.0 {
			t.Errorf("the second game session is %v", got)
		}
	})
}

// A wrapper of a program without an SDK reports how many players the program has, and how it
// crashed, which is the reason for which the game session ended.
func TestWrapper(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		g.want(409, g.ask("ReportPlayers", object{"GameSessionId": id, "Players": 1}))
		g.want(200, g.ask("TerminateServerProcess", nil))

		g = h.connect("q")
		g.want(200, g.ask("ActivateServerProcess", object{"SdkToolName": compute.WrapTool, "Port": 7000}))
		g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		synctest.Wait()
		id = h.create().ID
		g.want(200, g.ask("ActivateGameSession", object{"GameSessionId": id}))
		g.want(400, g.ask("ReportPlayers", object{"Players": 2}))
		g.want(400, g.ask("ReportPlayers", object{"GameSessionId": id, "Players": "2"}))
		g.want(200, g.ask("ReportPlayers", object{"GameSessionId": id, "Players": 2}))
		if n := h.Sessions.Players.Count(h.Store.View(), id); n != 2 {
			t.Errorf("%d slots are used, want 2", n)
		}
		g.want(400, g.ask("TerminateServerProcess", object{"Crash": strings.Repeat("x", 5000)}))
		const how = "was ended by signal SIGSEGV"
		g.want(200, g.ask("TerminateServerProcess", object{"Crash": how}))
		if s := h.game(id); s.Status != session.Terminated || s.Cause != event.ServerProcessCrashed || s.How != how {
			t.Errorf("the game session is %s, because of %s: %q", s.Status, s.Cause, s.How)
		}
	})
}

func TestDescribePlayerSessions(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		players := h.reserve(id, "ann", "bob", "cid")
		g.want(200, g.ask("AcceptPlayerSession", object{"GameSessionId": id, "PlayerSessionId": players[1]}))
		ask := func(members object) (names []string, token string) {
			t.Helper()
			o := g.want(200, g.ask("DescribePlayerSessions", members))
			for _, p := range o["PlayerSessions"].([]any) {
				names = append(names, p.(object)["PlayerId"].(string))
			}
			return names, o["NextToken"].(string)
		}
		for _, c := range []struct {
			members object
			want    string
		}{
			{object{"GameSessionId": id}, "[ann bob cid]"},
			{object{"GameSessionId": id, "PlayerSessionStatusFilter": "ACTIVE"}, "[bob]"},
			{object{"GameSessionId": id, "PlayerSessionStatusFilter": "NOT_SET", "NextToken": nil}, "[ann bob cid]"},
			{object{"PlayerSessionId": players[2], "Limit": 1}, "[cid]"},
			{object{"PlayerSessionId": "psess-none"}, "[]"},
			{object{"PlayerId": "ann"}, "[ann]"},
		} {
			if names, token := ask(c.members); fmt.Sprint(names) != c.want || token != "" {
				t.Errorf("%v: got %v, token %q; want %s", c.members, names, token, c.want)
			}
		}
		first, token := ask(object{"GameSessionId": id, "Limit": 2})
		second, end := ask(object{"GameSessionId": id, "Limit": 1, "NextToken": token})
		if fmt.Sprint(first, second) != "[ann bob] [cid]" || end != "" {
			t.Errorf("pages %v and %v, last token %q", first, second, end)
		}
		g.want(400, g.ask("DescribePlayerSessions", object{"PlayerId": "ann", "NextToken": token}))
	})
}

// A process sees nothing of a player's sessions on other fleets.
func TestDescribePlayerSessions_OwnFleetOnly(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		_, id := h.hosting("p")
		h.reserve(id, "ann")
		mine := h.fleet
		h.furnishAgain()
		other, foreign := h.hosting("q")
		h.reserve(foreign, "ann")
		o := other.want(200, other.ask("DescribePlayerSessions", object{"PlayerId": "ann"}))
		list := o["PlayerSessions"].([]any)
		if len(list) != 1 || list[0].(object)["FleetId"] == mine.ID {
			t.Errorf("answer %s", o["raw"])
		}
	})
}

// A game server learns where its certificate is, also after the host has moved it.
func TestComputeCertificate(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.connect("p")
		want := func(path string) {
			t.Helper()
			o := g.want(200, g.ask("GetComputeCertificate", nil))
			if o["CertificatePath"] != path || o["ComputeName"] != computeName {
				t.Errorf("answer %s", o["raw"])
			}
		}
		want("/certs/c.pem")
		at, err := h.Computes.Find(h.Store.View(), h.fleet.ID, computeName)
		h.Must(err)
		h.Must(h.Computes.SetCertificate(h.Ctx, at, "/moved/certificates"))
		want("/moved/certificates")
	})
}

// A process that sends too much is told so, and can continue later.
func TestMessageRate(t *testing.T) {
	in(t, config{server: serversdk.Options{MessageRate: 1, MessageBurst: 5}}, func(t *testing.T, h *house) {
		g := h.connect("p")
		for range 5 {
			g.want(200, g.ask("GetComputeCertificate", nil))
		}
		members := object{"RequestId": "late"}
		g.want(429, g.ask("GetComputeCertificate", members))
		wait.Settle(time.Second)
		g.want(200, g.ask("GetComputeCertificate", members))
	})
}

// Requests of one connection run concurrently up to a limit, and are all answered.
func TestManyRequestsAtOnce(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver}, func(t *testing.T, h *house) {
		g := h.ready("p")
		s, err := h.Sessions.Create(h.Ctx, session.CreateInput{FleetID: h.fleet.ID, Location: location, MaxPlayers: 100})
		must(t, err)
		g.want(200, g.ask("ActivateGameSession", object{"GameSessionId": s.ID}))
		var names []string
		for i := range 100 {
			names = append(names, fmt.Sprintf("player-%d", i))
		}
		players := h.reserve(s.ID, names...)
		driver.shut()
		var asked []string
		sent := make(chan struct{})
		go func() { // the server stops reading at its limit
			defer close(sent)
			for _, p := range players {
				asked = append(asked, g.send("AcceptPlayerSession", object{"GameSessionId": s.ID, "PlayerSessionId": p}))
			}
		}()
		synctest.Wait()
		driver.open()
		<-sent
		for _, id := range asked {
			g.want(200, g.answer(id))
		}
	})
}

// A request that fails because of Muster is answered with a fixed text, and may be sent
// again.
func TestStoreFailure(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		members := object{"RequestId": "again", "GameSessionId": id, "PlayerSessionId": h.reserve(id, "ann")[0]}
		driver.failing.Store(true)
		o := g.want(500, g.ask("AcceptPlayerSession", members))
		if o["ErrorMessage"] != "An internal error occurred." {
			t.Errorf("answer %s", o["raw"])
		}
		driver.failing.Store(false)
		wait.Settle(20 * time.Second)
		g.want(200, g.ask("AcceptPlayerSession", members))
	})
}

// A request that takes too long is answered before the SDK gives up on it.
func TestSlowStore(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver}, func(t *testing.T, h *house) {
		g := h.connect("p")
		driver.shut()
		start := time.Now()
		g.want(500, g.ask("ActivateServerProcess", object{"Port": 1}))
		if d := time.Since(start); d < 10*time.Second || d > 15*time.Second { // the store's timeout, and ours
			t.Errorf("answered after %s", d)
		}
		driver.open()
	})
}

// Answers are kept within limits: of age, and of number.
func TestReplay_Bounds(t *testing.T) {
	opts := serversdk.Options{MessageBurst: 10_000, ReplayWindow: 4 * time.Minute}
	in(t, config{server: opts}, func(t *testing.T, h *house) {
		g := h.connect("p")
		first := object{"RequestId": "first", "SdkVersion": "5.5.0", "Port": 7}
		g.want(200, g.ask("ActivateServerProcess", first))
		g.want(200, g.ask("TerminateServerProcess", nil))
		g.want(200, g.ask("ActivateServerProcess", first))
		for i := range 1024 {
			g.ask("GetFleetRoleCredentials", object{"RequestId": fmt.Sprint(i)})
		}
		g.want(404, g.ask("ActivateServerProcess", first)) // the answer has been displaced
	})
	in(t, config{server: opts}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		members := object{"RequestId": "x", "GameSessionId": id, "PlayerSessionId": h.reserve(id, "ann")[0]}
		g.want(200, g.ask("AcceptPlayerSession", members))
		wait.Settle(2 * time.Minute)
		g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		wait.Settle(2*time.Minute + 5*time.Second)
		g.want(400, g.ask("AcceptPlayerSession", members))
	})
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	in(t, config{server: serversdk.Options{Registerer: registry}}, func(t *testing.T, h *house) {
		g, _ := h.hosting("p")
		g.want(400, g.ask("Nonsense", nil))
		must(t, g.ws.WriteMessage(websocket.TextMessage, []byte("{")))
		h.refused(t, "wrong token", visit{id: "x", auth: "no"}, 403)
		synctest.Wait()
		want := `
# HELP muster_game_server_connections Open sockets of game server processes.
# TYPE muster_game_server_connections gauge
muster_game_server_connections 1
# HELP muster_game_server_heartbeats_total Health reports of game server processes.
# TYPE muster_game_server_heartbeats_total counter
muster_game_server_heartbeats_total{healthy="false"} 0
muster_game_server_heartbeats_total{healthy="true"} 1
# HELP muster_game_server_messages_total Requests of game server processes, by the status they were answered with.
# TYPE muster_game_server_messages_total counter
muster_game_server_messages_total{action="AcceptPlayerSession",status="200"} 0
muster_game_server_messages_total{action="ActivateGameSession",status="200"} 1
muster_game_server_messages_total{action="ActivateServerProcess",status="200"} 1
muster_game_server_messages_total{action="DescribePlayerSessions",status="200"} 0
muster_game_server_messages_total{action="FinishGameSession",status="200"} 0
muster_game_server_messages_total{action="GetComputeCertificate",status="200"} 0
muster_game_server_messages_total{action="GetFleetRoleCredentials",status="200"} 0
muster_game_server_messages_total{action="HeartbeatServerProcess",status="200"} 1
muster_game_server_messages_total{action="RemovePlayerSession",status="200"} 0
muster_game_server_messages_total{action="ReportPlayers",status="200"} 0
muster_game_server_messages_total{action="StartMatchBackfill",status="200"} 0
muster_game_server_messages_total{action="StopMatchBackfill",status="200"} 0
muster_game_server_messages_total{action="TerminateServerProcess",status="200"} 0
muster_game_server_messages_total{action="UpdatePlayerSessionCreationPolicy",status="200"} 0
muster_game_server_messages_total{action="other",status="0"} 1
muster_game_server_messages_total{action="other",status="400"} 1
# HELP muster_game_server_pushes_total Messages written to game server processes that no request asked for.
# TYPE muster_game_server_pushes_total counter
muster_game_server_pushes_total{action="CreateGameSession"} 1
muster_game_server_pushes_total{action="RefreshConnection"} 0
muster_game_server_pushes_total{action="TerminateProcess"} 0
muster_game_server_pushes_total{action="UpdateGameSession"} 0
# HELP muster_game_server_refused_connections_total Connections that were not granted, by HTTP status.
# TYPE muster_game_server_refused_connections_total counter
muster_game_server_refused_connections_total{status="403"} 1
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
		g.lose()
		if n := testutil.ToFloat64(gauge(t, registry)); n != 0 {
			t.Errorf("%v connections are counted after the last ended", n)
		}
	})
}

// gauge returns muster_game_server_connections as a collector.
func gauge(t *testing.T, r *prometheus.Registry) prometheus.Gauge {
	t.Helper()
	families, err := r.Gather()
	must(t, err)
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "read"})
	for _, f := range families {
		if f.GetName() == "muster_game_server_connections" {
			g.Set(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	return g
}

// TestRefresh checks that connected processes, and only they, are told to reconnect.
func TestRefresh(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		near, away := h.ready("near"), h.ready("away")
		away.lose()
		n, err := h.server.Refresh("wss://new.test/", func(r compute.Ref) (string, error) { return "for-" + r.ProcessID, nil })
		if n != 1 || err != nil {
			t.Errorf("asked %d, %v", n, err)
		}
		if o := near.push("RefreshConnection"); o["AuthToken"] != "for-near" {
			t.Errorf("push %s", o["raw"])
		}
		h.connect("away").quiet()
	})
}
