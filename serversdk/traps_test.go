package serversdk_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/gameframe"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// The traps are server behaviors that break AWS's own SDKs, in the order of the list
// that was made while observing them. Those that other tests show are not repeated: TLS and plain
// connections on one port (TestParked), large frames (TestLargeRequests, TestLargePushes).

// Text frames of one object each; no subprotocol and no extension is accepted.
func TestTrap01_TextFrames(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		dialer := websocket.Dialer{NetDialContext: h.wire.dialer("198.51.100.1"), EnableCompression: true, Subprotocols: []string{"gamelift"}}
		ws, r, err := dialer.Dial(h.url(visit{id: "p1"}), nil)
		must(t, err)
		for _, name := range []string{"Sec-Websocket-Extensions", "Sec-Websocket-Protocol"} {
			if got := r.Header.Get(name); got != "" {
				t.Errorf("%s: %q, want none", name, got)
			}
		}
		must(t, ws.WriteMessage(websocket.TextMessage, []byte(`{"Action":"HeartbeatServerProcess","RequestId":"r"}`)))
		kind, frame, err := ws.ReadMessage()
		must(t, err)
		if kind != websocket.TextMessage || string(frame) != `{"Action":"HeartbeatServerProcess","RequestId":"r","StatusCode":200}` {
			t.Errorf("frame of type %d: %s", kind, frame)
		}
		ws.Close()
	})
}

// Every answer has Action, RequestId and StatusCode, whatever the request.
func TestTrap02_EveryAnswerIsComplete(t *testing.T) {
	actions := []string{
		"ActivateServerProcess", "HeartbeatServerProcess", "ActivateGameSession", "UpdatePlayerSessionCreationPolicy",
		"AcceptPlayerSession", "RemovePlayerSession", "DescribePlayerSessions", "StartMatchBackfill", "StopMatchBackfill",
		"GetComputeCertificate", "GetFleetRoleCredentials", "TerminateServerProcess", "TerminateGameSession", "",
	}
	for _, form := range []struct {
		name    string
		members object
	}{
		{"empty", nil},
		{"wrong", object{"Port": "x", "HealthStatus": 1, "GameSessionId": []int{}, "GameSessionArn": 1, "RoleArn": false}},
		{"null", object{"Port": nil, "HealthStatus": nil, "GameSessionId": nil, "LogPaths": nil, "Players": nil}},
	} {
		t.Run(form.name, func(t *testing.T) {
			in(t, config{}, func(t *testing.T, h *house) {
				g := h.connect("p1")
				for _, action := range actions {
					o := g.ask(action, form.members)
					for _, member := range []string{"Action", "RequestId", "StatusCode"} {
						if _, there := o[member]; !there {
							t.Errorf("%s: answer %v has no %s", action, o["raw"], member)
						}
					}
					if o["Action"] != action {
						t.Errorf("%s: answered with Action %v", action, o["Action"])
					}
					if code := o["StatusCode"].(float64); code != 200 && (o["ErrorMessage"] == nil || o["ErrorMessage"] == "") {
						t.Errorf("%s: refusal %v does not say why", action, o["raw"])
					}
				}
			})
		})
	}
}

// A push has neither RequestId nor StatusCode. (The test's client would not take a frame
// with a RequestId for a push at all.)
func TestTrap03_PushesCarryNoRequestID(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p1")
		must(t, h.update(id))
		_, err := h.server.Refresh("ws://elsewhere.test", func(compute.Ref) (string, error) { return "token", nil })
		must(t, err)
		update, refresh := g.push("UpdateGameSession"), g.push("RefreshConnection")
		_, err = h.Sessions.Terminate(h.Ctx, id, session.Trigger)
		must(t, err)
		for _, o := range []object{update, refresh, g.push("TerminateProcess")} {
			for _, member := range []string{"RequestId", "StatusCode"} {
				if _, there := o[member]; there {
					t.Errorf("push %v has %s", o["raw"], member)
				}
			}
		}
		if refresh["RefreshConnectionEndpoint"] != "ws://elsewhere.test" || refresh["AuthToken"] != "token" {
			t.Errorf("push %v", refresh)
		}
	})
}

// Game properties are an object, even if there are none.
func TestTrap04_GamePropertiesAreAnObject(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.ready("p1")
		h.create()
		if raw := g.push("CreateGameSession")["raw"].(string); !strings.Contains(raw, `"GameProperties":{"map":"winter"}`) {
			t.Errorf("push %s", raw)
		}
		bare := h.ready("p2")
		_, err := h.Sessions.Create(h.Ctx, session.CreateInput{FleetID: h.fleet.ID, Location: location, MaxPlayers: 1})
		must(t, err)
		raw := bare.push("CreateGameSession")["raw"].(string)
		if !strings.Contains(raw, `"GameProperties":{}`) || strings.Contains(raw, "null") {
			t.Errorf("push %s", raw)
		}
	})
}

// Times are whole milliseconds since 1970.
func TestTrap05_TimesAreWholeMilliseconds(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p1")
		wait.Pass(1234567 * time.Nanosecond)
		h.reserve(id, "ann")
		raw := g.want(200, g.ask("DescribePlayerSessions", object{"GameSessionId": id}))["raw"].(string)
		if !regexp.MustCompile(`"CreationTime":\d{12,13},"TerminationTime":0,`).MatchString(raw) {
			t.Errorf("answer %s", raw)
		}
		_, err := h.Sessions.Terminate(h.Ctx, id, session.Trigger)
		must(t, err)
		if raw := g.push("TerminateProcess")["raw"].(string); !regexp.MustCompile(`"TerminationTime":\d{12,13}}$`).MatchString(raw) {
			t.Errorf("push %s", raw)
		}
	})
}

// The C++ SDK appends a slash to the path. No path is redirected.
func TestTrap06_AnyPath(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		for i, path := range []string{"/", "/stage", "/stage/", "//stage//../x"} {
			_, r, err := h.dial(visit{id: "p" + string(rune('a'+i)), path: path})
			if err != nil || r.StatusCode != http.StatusSwitchingProtocols {
				t.Errorf("path %q: %v, %v", path, r, err)
			}
		}
	})
}

// Reading starts with the connection: a ping is answered before any message, which the
// C# SDK requires.
func TestTrap08_PingIsAnsweredAtOnce(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		dialer := websocket.Dialer{NetDialContext: h.wire.dialer("198.51.100.1")}
		ws, _, err := dialer.Dial(h.url(visit{id: "p1"}), nil)
		must(t, err)
		var pong string
		ws.SetPongHandler(func(s string) error { pong = s; return ws.Close() })
		start := time.Now()
		must(t, ws.WriteControl(websocket.PingMessage, []byte("alive?"), time.Now().Add(time.Second)))
		ws.ReadMessage()
		if pong != "alive?" || time.Since(start) != 0 {
			t.Errorf("pong %q after %s", pong, time.Since(start))
		}
	})
}

// The server answers a peer's close frame with one and closes TCP itself; otherwise the
// C++ SDK hangs in Destroy.
func TestTrap09_CloseHandshakeIsCompleted(t *testing.T) {
	for _, code := range []int{websocket.CloseNormalClosure, websocket.CloseGoingAway, 1012} {
		in(t, config{}, func(t *testing.T, h *house) {
			g := h.ready("p1")
			must(t, g.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, "Websocket client closing"), time.Now().Add(time.Second)))
			<-g.closed
			if !websocket.IsCloseError(g.why, code) {
				t.Errorf("%d: the server answered with %v", code, g.why)
			}
			synctest.Wait()
			if p := h.process("p1"); p.Connected {
				t.Errorf("%d: the server keeps the socket", code)
			}
		})
	}
	t.Run("TCP", func(t *testing.T) {
		in(t, config{}, func(t *testing.T, h *house) {
			raw, err := h.wire.dial(h.Ctx, "198.51.100.1")
			must(t, err)
			handshake(t, raw, h.url(visit{id: "p1"}))
			closeFrame := []byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9} // masked, 1001
			_, err = raw.Write(closeFrame)
			must(t, err)
			rest, err := io.ReadAll(raw)
			must(t, err) // end of file: TCP was closed by the server
			if !bytes.Equal(rest, []byte{0x88, 0x02, 0x03, 0xe9}) {
				t.Errorf("the server sent % x before it closed", rest)
			}
		})
	})
}

// A process that should live never sees a close frame.
func TestTrap10_NoCloseFrames(t *testing.T) {
	for name, disturb := range map[string]func(*house, *game){
		"stop":         func(h *house, g *game) { h.Must(h.server.Stop(h.Ctx)) },
		"frame beyond": func(h *house, g *game) { g.ws.WriteMessage(websocket.TextMessage, make([]byte, 17*gameframe.Max+1)) },
		"deregistered": func(h *house, g *game) { h.Must(h.Computes.Deregister(h.Ctx, h.fleet.ID, computeName)) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, config{}, func(t *testing.T, h *house) {
				g := h.ready("p1")
				disturb(h, g)
				if g.ended() {
					t.Errorf("the server sent a close frame: %v", g.why)
				}
			})
		})
	}
	t.Run("nonsense", func(t *testing.T) {
		in(t, config{}, func(t *testing.T, h *house) {
			g := h.ready("p1")
			for _, frame := range []string{"", "null", "[]", "{", `{"Action":1}`, `{"RequestId":"` + strings.Repeat("x", 300) + `"}`, "\xff"} {
				must(t, g.ws.WriteMessage(websocket.TextMessage, []byte(frame)))
			}
			must(t, g.ws.WriteMessage(websocket.BinaryMessage, []byte{0, 1}))
			g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		})
	})
}

// A process that comes back says nothing of itself; its state is still known, and pushes
// are sent on its newest connection.
func TestTrap11_ReconnectKeepsEverything(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		first, id := h.hosting("p1")
		second := h.connect("p1")
		if !first.alive() {
			t.Fatal("the older connection was closed by the server")
		}
		must(t, h.update(id))
		second.push("UpdateGameSession")
		first.quiet()
		first.want(200, first.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		second.lose()
		must(t, h.update(id))
		first.push("UpdateGameSession")
		first.lose()
		if p := h.process("p1"); p.Connected || p.Status != compute.Active {
			t.Errorf("process after its sockets: %+v", p)
		}
		third := h.connect("p1")
		players := h.reserve(id, "ann")
		third.want(200, third.ask("AcceptPlayerSession", object{"GameSessionId": id, "PlayerSessionId": players[0]}))
		if p := h.process("p1"); !p.Connected || !p.Hearing || p.GameSessionID != id {
			t.Errorf("process after its return: %+v", p)
		}
	})
}

// Whether an end was clean is decided by TerminateServerProcess, not by how the socket
// closed: the Go SDK never sends a close frame.
func TestTrap12_CleanEndByRequest(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		clean, lost := h.ready("clean"), h.ready("lost")
		clean.want(200, clean.ask("TerminateServerProcess", nil))
		clean.lose()
		lost.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
		lost.lose()
		if p := h.process("clean"); p.Why != event.ProcessEnded {
			t.Errorf("clean process ended with %s", p.Why)
		}
		if p := h.process("lost"); p.Status != compute.Active {
			t.Errorf("process is %s as soon as its socket closed", p.Status)
		}
		wait.Settle(241 * time.Second)
		if p := h.process("lost"); p.Status != compute.Terminated || p.Why != event.ServerProcessCrashed {
			t.Errorf("process that did not come back: %s, %s", p.Status, p.Why)
		}
		for _, e := range h.entries() {
			if e.ProcessID == "clean" && (e.Code == event.ProcessDisconnected || e.Code == event.ServerProcessCrashed) {
				t.Errorf("clean end was recorded as %s", e.Code)
			}
		}
	})
}

// A process that announces its end and closes TCP without waiting for the answer ends
// cleanly too.
func TestTrap12_CleanEndWithoutWaiting(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.ready("p")
		g.send("TerminateServerProcess", nil)
		g.lose()
		if p := h.process("p"); p.Why != event.ProcessEnded {
			t.Errorf("process ended with %q", p.Why)
		}
		for _, e := range h.entries() {
			if e.Code == event.ProcessDisconnected {
				t.Error("the process was recorded as lost")
			}
		}
	})
}

// A request repeated with its RequestId gets the same bytes.
func TestTrap13_SameRequestSameAnswer(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p1")
		players := h.reserve(id, "ann")
		members := object{"RequestId": "again", "GameSessionId": id, "PlayerSessionId": players[0]}
		want := g.want(200, g.ask("AcceptPlayerSession", members))["raw"]
		if got := g.ask("AcceptPlayerSession", members)["raw"]; got != want {
			t.Errorf("on the same connection: got %v, want %v", got, want)
		}
		other := h.connect("p1")
		wait.Settle(3 * time.Minute)
		if got := other.ask("AcceptPlayerSession", members)["raw"]; got != want {
			t.Errorf("on another connection, 3 minutes later: got %v, want %v", got, want)
		}
		fresh := object{"RequestId": "fresh", "GameSessionId": id, "PlayerSessionId": players[0]}
		other.want(400, other.ask("AcceptPlayerSession", fresh))
	})
	t.Run("while it runs", func(t *testing.T) {
		driver := openGate()
		in(t, config{driver: driver}, func(t *testing.T, h *house) {
			g, id := h.hosting("p1")
			players := h.reserve(id, "ann")
			members := object{"RequestId": "again", "GameSessionId": id, "PlayerSessionId": players[0]}
			driver.shut()
			g.send("AcceptPlayerSession", members)
			g.send("AcceptPlayerSession", members)
			synctest.Wait()
			if len(g.answerTo("again")) != 0 {
				t.Fatal("answered before the change was durable")
			}
			driver.open()
			if first, second := g.answer("again"), g.answer("again"); first["raw"] != second["raw"] || first["StatusCode"] != 200.0 {
				t.Errorf("answers %v and %v", first["raw"], second["raw"])
			}
		})
	})
}

// Ids must pass the SDKs' own checks, or they refuse to send them.
func TestTrap14_IDsPassTheSDKsChecks(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.ready("p1")
		h.create()
		push := g.push("CreateGameSession")
		id := push["GameSessionId"].(string)
		for _, form := range []string{
			`^[a-zA-Z0-9:/-]{1,256}$`,
			`^arn:(aws|aws-cn):gamelift:([a-z]{2}-[a-z]+-\d{1}):(\d{12})?:([a-z]+)\/(.+)$`,
		} {
			if !regexp.MustCompile(form).MatchString(id) {
				t.Errorf("game session id %s does not match %s", id, form)
			}
		}
		if !regexp.MustCompile(`^[a-zA-Z0-9-]{1,64}$`).MatchString(h.token) {
			t.Errorf("auth token %s", h.token)
		}
		g.want(200, g.ask("ActivateGameSession", object{"GameSessionId": id}))
		if ps := h.reserve(id, "ann")[0]; !regexp.MustCompile(`^[a-zA-Z0-9.-]{1,256}$`).MatchString(ps) {
			t.Errorf("player session id %s", ps)
		}
	})
}
