package serversdk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/internal/gameframe"
	"github.com/musterhq/muster/session"
)

// A request that is too large is refused, and costs the process nothing else.
func TestLargeRequests(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.ready("p1")
		for _, c := range []struct{ size, status int }{{gameframe.Max, 200}, {gameframe.Max + 1, 400}, {2 * gameframe.Max, 400}} {
			start := fmt.Sprintf(`{"Action":"HeartbeatServerProcess","RequestId":"%d","HealthStatus":true,"Padding":"`, c.size)
			frame := start + strings.Repeat("x", c.size-len(start)-2) + `"}`
			must(t, g.ws.WriteMessage(websocket.TextMessage, []byte(frame)))
			answer := g.want(c.status, g.answer(fmt.Sprint(c.size)))
			if why, _ := answer["ErrorMessage"].(string); c.status != 200 && !strings.Contains(why, fmt.Sprintf("has %d bytes; at most 4194304", c.size)) {
				t.Errorf("%d bytes: refused with %q", c.size, why)
			}
		}
		if !g.alive() {
			t.Error("the connection has ended")
		}
	})
}

// The largest data that the API permits arrives.
func TestLargePushes(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.ready("p1")
		made, err := h.Sessions.Create(h.Ctx, session.CreateInput{FleetID: h.fleet.ID, Location: location, MaxPlayers: 3, Data: strings.Repeat("\x01", 262144)})
		must(t, err)
		if push := g.push("CreateGameSession"); push["GameSessionData"] != made.Data {
			t.Error("the game session data differ")
		}
		g.want(200, g.ask("ActivateGameSession", object{"GameSessionId": made.ID}))
		data := strings.Repeat("\U0001F3AE", 390000)
		must(t, h.updateTo(made.ID, data))
		if push := g.push("UpdateGameSession"); push["GameSession"].(object)["MatchmakerData"] != data {
			t.Error("the matchmaker data differ")
		}
		must(t, h.updateTo(made.ID, strings.Repeat("x", gameframe.Max)))
		must(t, h.updateTo(made.ID, "{}"))
		if push := g.push("UpdateGameSession"); push["GameSession"].(object)["MatchmakerData"] != "{}" {
			t.Error("more data than the API permits arrive")
		}
	})
}

// A page of player sessions fits a message, whatever the data of the players.
func TestDescribePlayerSessions_LargePages(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.ready("p1")
		made, err := h.Sessions.Create(h.Ctx, session.CreateInput{FleetID: h.fleet.ID, Location: location, MaxPlayers: 200})
		must(t, err)
		g.push("CreateGameSession")
		g.want(200, g.ask("ActivateGameSession", object{"GameSessionId": made.ID}))
		in := session.ReserveInput{GameSessionID: made.ID}
		for n := range 200 {
			in.Players = append(in.Players, session.Joining{PlayerID: fmt.Sprint("player-", n), Data: strings.Repeat("\x01", 2048)})
		}
		_, err = h.Sessions.Players.Reserve(h.Ctx, in)
		must(t, err)
		found, pages := map[string]bool{}, 0
		for next := ""; pages == 0 || next != ""; pages++ {
			answer := g.want(200, g.ask("DescribePlayerSessions", object{"GameSessionId": made.ID, "Limit": 1024, "NextToken": next}))
			raw := answer["raw"].(string)
			var page struct {
				NextToken      string
				PlayerSessions []struct {
					PlayerID string `json:"PlayerId"`
				}
			}
			must(t, json.Unmarshal([]byte(raw), &page))
			if len(raw) > 1<<20 || len(page.PlayerSessions) == 0 {
				t.Fatalf("page %d has %d player sessions in %d bytes", pages, len(page.PlayerSessions), len(raw))
			}
			for _, p := range page.PlayerSessions {
				if found[p.PlayerID] {
					t.Errorf("%s is on two pages", p.PlayerID)
				}
				found[p.PlayerID] = true
			}
			next = page.NextToken
		}
		if len(found) != 200 || pages < 3 {
			t.Errorf("%d player sessions on %d pages", len(found), pages)
		}
	})
}
