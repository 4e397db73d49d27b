package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/node"
)

// The thirteen steps of the session-based hosting architecture (Amazon GameLift
// developer guide, "Design your backend service"), with the built binary and the demo
// game: one client polls, and the other receives pushes.
func TestThirteenSteps(t *testing.T) {
	t.Parallel()
	house := newDemoHouse(t)
	server, arena := house.demo(t, "2").URL, house.arena
	events := node.Follow(t, server)
	events.Code(t, "SERVER_PROCESS_ACTIVE") // the demo has created what players need
	anna, bert := &gamer{T: t, server: server, arena: arena}, &gamer{T: t, server: server, arena: arena}
	var tickets []*protocol.Ticket
	for i, g := range []*gamer{anna, bert} {
		g.call("POST", "/auth/guest", nil, 201, &g.login) // 1, 2: identity, and its proof
		g.call("PUT", "/server/players/"+g.login.PlayerID+"/data/server/skill", 10+i, 201, nil)
		var skill int
		g.call("GET", "/players/me/data/server/skill", nil, 200, &skill) // 3, 4: a handler, and data by identity
		if skill != 10+i {
			t.Errorf("the skill is %d", skill)
		}
		var ticket protocol.Ticket
		ask := protocol.TicketRequest{Matchmaker: "demo", LatencyMs: map[string]float64{"custom-local": 12.5}}
		g.call("POST", "/matchmaking/tickets", ask, 201, &ticket) // 5: matchmaking, with latency
		tickets = append(tickets, &ticket)
	}
	events.Code(t, "PLACEMENT_FULFILLED")   // 6: the queue places
	events.Code(t, "MATCHMAKING_SUCCEEDED") // 7: the event
	// 8 to 12: the result is stored, and the client learns it.
	ta, tb := anna.poll(tickets[0]), bert.listen(tickets[1])
	if ta.Connection == nil || tb.Connection == nil || ta.Connection.PlayerSessionID == tb.Connection.PlayerSessionID {
		t.Fatalf("the players were told %+v and %+v", ta.Connection, tb.Connection)
	}
	// 13: connect; the game server validates.
	ending := make(chan error, 2)
	for _, c := range []*protocol.Connection{ta.Connection, tb.Connection} {
		bot := anna.bot(c, c.PlayerSessionID, time.Hour) // it is killed with the test
		if err := bot.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { bot.Process.Kill() })
		go func() { ending <- bot.Wait() }()
		events.Code(t, "PLAYER_SESSION_ACCEPTED")
	}
	anna.turnedAway(ta.Connection, "psess-00000000-0000-7000-8000-000000000000") // forged
	anna.turnedAway(ta.Connection, ta.Connection.PlayerSessionID)                // used, from another address
	anna.turnedAway(ta.Connection, anna.expired(events, ta.Connection))
	select {
	case err := <-ending:
		t.Errorf("a player who was let in stopped playing: %v", err)
	default:
	}
}

// gamer is a player at their machine.
type gamer struct {
	*testing.T
	server string // base URL
	arena  string // the game's program
	login  protocol.Session
}

// call makes a request of the player API.
func (g *gamer) call(method, path string, body any, want int, into any) {
	g.Helper()
	if got := g.try(method, path, body, "", into); got != want {
		g.Fatalf("%s %s: got %d, want %d", method, path, got, want)
	}
}

func (g *gamer) try(method, path string, body any, known string, into any) (status int) {
	g.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		g.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	request, err := http.NewRequestWithContext(g.Context(), method, g.server+protocol.Base+path, bytes.NewReader(text))
	if err != nil {
		g.Fatal(err)
	}
	if g.login.AccessToken != "" {
		request.Header.Set("Authorization", "Bearer "+g.login.AccessToken)
	}
	if known != "" {
		request.Header.Set("If-None-Match", known)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		g.Fatal(err)
	}
	defer response.Body.Close()
	if into != nil && response.StatusCode < 300 {
		if err := json.NewDecoder(response.Body).Decode(into); err != nil {
			g.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return response.StatusCode
}

// poll polls the ticket until it is completed.
func (g *gamer) poll(t *protocol.Ticket) *protocol.Ticket {
	g.Helper()
	for range 20 {
		if t.State == protocol.TicketStateCompleted {
			return t
		}
		var next protocol.Ticket
		if g.try("GET", "/matchmaking/tickets/"+t.TicketID+"?wait=20", nil, fmt.Sprintf("%q", fmt.Sprint(t.Seq)), &next) == http.StatusOK {
			t = &next
		}
	}
	g.Fatalf("the ticket is %s", t.State)
	return nil
}

// listen waits for the ticket over a WebSocket; it may have ended before.
func (g *gamer) listen(t *protocol.Ticket) *protocol.Ticket {
	g.Helper()
	at, err := url.Parse(g.server)
	if err != nil {
		g.Fatal(err)
	}
	at.Scheme, at.Path, at.RawQuery = "ws", protocol.Base+"/ws", "resume=0"
	header := http.Header{"Authorization": {"Bearer " + g.login.AccessToken}}
	ws, _, err := websocket.DefaultDialer.DialContext(g.Context(), at.String(), header)
	if err != nil {
		g.Fatal(err)
	}
	defer ws.Close()
	ws.SetReadDeadline(time.Now().Add(60 * time.Second))
	for {
		var m struct {
			Type string
			Data json.RawMessage
		}
		if err := ws.ReadJSON(&m); err != nil {
			g.Fatal(err)
		}
		var told protocol.Ticket
		if m.Type != protocol.MessageTicket {
			continue
		}
		if err := json.Unmarshal(m.Data, &told); err != nil {
			g.Fatal(err)
		}
		if told.TicketID == t.TicketID && told.State == protocol.TicketStateCompleted {
			return &told
		}
	}
}

// bot returns a command that runs the game's client.
func (g *gamer) bot(c *protocol.Connection, playerSession string, play time.Duration) *exec.Cmd {
	return exec.Command(g.arena, "bot", "--addr", fmt.Sprintf("%s:%d", c.Host, c.Port), "--player-session", playerSession, "--for", play.String(), "--json")
}

// refusedByServer is the exit code of a bot that was not admitted.
const refusedByServer = 3

// turnedAway checks that the game server does not admit a player session.
func (g *gamer) turnedAway(c *protocol.Connection, playerSession string) {
	g.Helper()
	out, err := g.bot(c, playerSession, time.Second).Output()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != refusedByServer || !strings.Contains(string(out), `"reason":"session"`) {
		g.Errorf("player session %s: %v, %s; want it refused", playerSession, err, out)
	}
}

// expired returns a player session that was reserved and not claimed in time.
func (g *gamer) expired(events *node.Events, c *protocol.Connection) string {
	g.Helper()
	arn, player := gameSessionARN(g.T, c), "late"
	made, err := node.Client(g.server).CreatePlayerSession(context.Background(), &gamelift.CreatePlayerSessionInput{GameSessionId: &arn, PlayerId: &player})
	if err != nil {
		g.Fatal(err)
	}
	events.Until(g.T, "end of the reservation", func(e node.Event) bool {
		return e.Code == "PLAYER_SESSION_TIMED_OUT" && e.PlayerSessionID == *made.PlayerSession.PlayerSessionId
	})
	return *made.PlayerSession.PlayerSessionId
}

// gameSessionARN returns the ARN that a game session's id of the player API stands for, as
// support staff find it (docs/players.md).
func gameSessionARN(t *testing.T, c *protocol.Connection) string {
	t.Helper()
	region, rest, ok := strings.Cut(c.SessionID, ":")
	if !ok {
		t.Fatalf("the id of the game session is %q", c.SessionID)
	}
	return "arn:aws:gamelift:" + region + "::gamesession/" + strings.ReplaceAll(rest, ":", "/")
}
