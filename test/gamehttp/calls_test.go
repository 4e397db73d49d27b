package gamehttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// puppet is a game server that a test plays: its program does nothing, and the test calls
// the interface with its token.
type puppet struct {
	*game
	url, token string
}

const sleeper = `printf '%s %s' "$MUSTER_GAME_URL" "$MUSTER_GAME_TOKEN" > address.new
mv address.new address
exec sleep 10000
`

func newPuppet(t *testing.T) *puppet {
	t.Helper()
	p := &puppet{game: start(t, sleeper, "game.sh", "exec sh")}
	p.until("the program runs", func() bool {
		text, err := os.ReadFile(filepath.Join(p.dir, "address"))
		p.url, p.token, _ = strings.Cut(string(text), " ")
		return err == nil
	})
	return p
}

// status is the answer of most calls.
type status struct {
	Version  uint64
	State    string
	EndBy    *string `json:"end_by"`
	Backfill *struct {
		TicketID string `json:"ticket_id"`
		State    string
	}
	Session *struct {
		SessionID string `json:"session_id"`
		Name      string
		Match     *struct {
			Teams []struct {
				Players []struct {
					PlayerID string `json:"playerId"`
				}
			}
		}
	}
	Players  []struct{ PlayerSessionID, State string }
	PlayerID string `json:"player_id"`
	TicketID string `json:"ticket_id"`
	Code     string
}

// players returns the ids of the match's players, sorted.
func (s status) players() (all []string) {
	if s.Session == nil || s.Session.Match == nil {
		return nil
	}
	for _, team := range s.Session.Match.Teams {
		for _, one := range team.Players {
			all = append(all, one.PlayerID)
		}
	}
	slices.Sort(all)
	return all
}

// call calls the interface and returns the answer, which must have the HTTP status.
func (p *puppet) call(want int, method, path string, body string) (answer status) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		p.t.Fatalf("%s %s: %s %s, %v; want %d", method, path, res.Status, text, err, want)
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &answer); err != nil {
			p.t.Fatalf("%s %s: %s: %v", method, path, text, err)
		}
	}
	return answer
}

// next waits for a state of which is returns true.
func (p *puppet) next(now status, what string, is func(status) bool) status {
	p.t.Helper()
	for range 10 {
		if is(now) {
			return now
		}
		now = p.call(200, "GET", fmt.Sprintf("/session?wait=60&after=%d", now.Version), "")
	}
	p.t.Fatalf("waited in vain for %s: %+v", what, now)
	return now
}

// Muster requests the end of a process: a wait ends with the state ending, and the process
// ends in order.
func TestCalls_Ending(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	if now := p.call(200, "GET", "/session", ""); now.State != "starting" || now.Session != nil {
		t.Errorf("at first the state is %+v", now)
	}
	if now := p.call(200, "POST", "/ready", `{"log_paths": ["logs"], "health_timeout_seconds": 600}`); now.State != "ready" {
		t.Errorf("after ready the state is %s", now.State)
	}
	p.call(409, "POST", "/session/activate", "")
	ready := make(chan *types.GameSession)
	go func() { ready <- p.host() }()
	now := p.call(200, "GET", "/session?wait=60", "")
	if now.State != "activating" || now.Session.Name != "friday" {
		t.Errorf("assigned: %+v", now)
	}
	if now = p.call(200, "POST", "/session/activate", ""); now.State != "active" {
		t.Errorf("after activate the state is %s", now.State)
	}
	g := <-ready

	ann := p.reserve(g, "ann")
	p.call(200, "PATCH", "/session", `{"accepting_players": false}`)
	if _, err := p.client.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("ben")}); err == nil {
		t.Error("a game session that takes no new players took one")
	}
	if all := p.call(200, "GET", "/players?state=reserved", ""); len(all.Players) != 1 {
		t.Errorf("reserved are %+v", all.Players)
	}
	if who := p.call(200, "POST", "/players", `{"player_session_id": "`+ann+`"}`); who.PlayerID != "ann" || who.State != "active" {
		t.Errorf("accepted %+v", who)
	}
	if all := p.call(200, "GET", "/players?state=reserved", ""); len(all.Players) != 0 {
		t.Errorf("reserved are %+v", all.Players)
	}
	p.call(204, "DELETE", "/players/"+ann, "")
	p.call(204, "DELETE", "/players/"+ann, "") // as after a lost answer
	p.call(204, "POST", "/health", "")

	if _, err := p.client.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{
		GameSessionId: g.GameSessionId, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	}); err != nil {
		t.Fatal(err)
	}
	if now = p.next(now, "the end", func(s status) bool { return s.State == "ending" }); now.EndBy == nil {
		t.Errorf("it does not say until when: %+v", now)
	}
	if now = p.call(200, "POST", "/end", ""); now.State != "ended" {
		t.Errorf("after end the state is %s", now.State)
	}
	if e := p.seen.Code(t, "SERVER_PROCESS_ENDED"); !strings.HasSuffix(*g.GameSessionId, e.GameSessionID) {
		t.Errorf("what ended is %+v", e)
	}
}

// A match comes with its players; a backfill finds another one, and a second is stopped.
func TestCalls_Backfill(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	now := p.call(200, "POST", "/ready", "")
	match := func(playerID string) {
		t.Helper()
		if _, err := p.client.StartMatchmaking(t.Context(), &gamelift.StartMatchmakingInput{
			ConfigurationName: aws.String("exec"), Players: []types.Player{{PlayerId: &playerID}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	match("ann")
	match("ben")
	now = p.next(now, "a game session", func(s status) bool { return s.Session != nil })
	if got := now.players(); !slices.Equal(got, []string{"ann", "ben"}) {
		t.Fatalf("matched are %q", got)
	}
	now = p.call(200, "POST", "/session/activate", "")
	p.call(409, "POST", "/backfill", "") // nobody has connected
	found, err := p.client.DescribePlayerSessions(t.Context(), &gamelift.DescribePlayerSessionsInput{GameSessionId: &now.Session.SessionID})
	for err == nil && len(found.PlayerSessions) < 2 {
		found, err = p.client.DescribePlayerSessions(t.Context(), &gamelift.DescribePlayerSessionsInput{GameSessionId: &now.Session.SessionID})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found.PlayerSessions {
		p.call(200, "POST", "/players", `{"player_session_id": "`+*one.PlayerSessionId+`"}`)
	}
	ticket := p.call(200, "POST", "/backfill", "")
	if ticket.TicketID == "" || ticket.State != "searching" {
		t.Errorf("the backfill is %+v", ticket)
	}
	match("cleo")
	now = p.next(now, "the backfill's result", func(s status) bool { return s.Backfill != nil && s.Backfill.State != "searching" })
	if got := now.players(); now.Backfill.State != "completed" || now.Backfill.TicketID != ticket.TicketID || !slices.Equal(got, []string{"ann", "ben", "cleo"}) {
		t.Errorf("the backfill is %+v, matched are %q", now.Backfill, got)
	}
	named := p.call(200, "POST", "/backfill", `{"ticket_id": "mine", "players": [{"player_id": "ann", "attributes": {"skill": 3, "mode": "duel", "maps": ["a"], "wins": {"b": 1}}}]}`)
	if named.TicketID != "mine" {
		t.Errorf("the backfill is %+v", named)
	}
	p.call(204, "DELETE", "/backfill/mine", "")
	now = p.next(now, "the end of the backfill", func(s status) bool { return s.Backfill.TicketID == "mine" && s.Backfill.State != "searching" })
	if now.Backfill.State != "canceled" {
		t.Errorf("the stopped backfill is %+v", now.Backfill)
	}
	p.call(200, "POST", "/end", "")
	p.seen.Code(t, "SERVER_PROCESS_ENDED")
}
