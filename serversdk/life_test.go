package serversdk_test

import (
	"testing"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/session"
)

// TestLife covers the whole life of a process and its game session.
func TestLife(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.ready("p1")
		s := h.create()
		push := g.push("CreateGameSession")
		if push["GameSessionId"] != s.ID || push["Port"] != 7777.0 || push["IpAddress"] != "192.0.2.7" {
			t.Fatalf("push %v does not tell of session %+v", push, s)
		}
		g.want(200, g.ask("ActivateGameSession", object{"GameSessionId": s.ID}))
		if got := h.game(s.ID).Status; got != session.Active {
			t.Fatalf("game session is %s", got)
		}
		ids := h.reserve(s.ID, "ann", "bob")
		for _, id := range ids {
			g.want(200, g.ask("AcceptPlayerSession", object{"GameSessionId": s.ID, "PlayerSessionId": id}))
		}
		g.want(200, g.ask("RemovePlayerSession", object{"GameSessionId": s.ID, "PlayerSessionId": ids[0]}))
		g.want(200, g.ask("UpdatePlayerSessionCreationPolicy", object{"GameSessionId": s.ID, "PlayerSessionPolicy": "DENY_ALL"}))
		if n := h.Sessions.Players.Count(h.Store.View(), s.ID); n != 1 {
			t.Fatalf("%d slots in use, want 1", n)
		}
		g.want(200, g.ask("TerminateServerProcess", nil))
		if !g.alive() {
			t.Fatal("the server closed the socket of a process that waits for its answer")
		}
		g.lose()
		if got := h.process("p1").Status; got != compute.Terminated {
			t.Fatalf("process is %s", got)
		}
		if got := h.game(s.ID).Status; got != session.Terminated {
			t.Fatalf("game session is %s", got)
		}
	})
}
