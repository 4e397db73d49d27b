package scenario

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestGuide_Players types the commands that docs/players.md shows for two players:
// they are matched, as the document says.
func TestGuide_Players(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("install curl to run the commands of the guide")
	}
	server, _ := startWithDemo(t)
	node.Follow(t, server).Code(t, "SERVER_PROCESS_ACTIVE") // the demo has created what players need
	blocks := document.Blocks(t, "docs/players.md")
	blocks = slices.DeleteFunc(blocks, func(b document.Block) bool { return b.Section != "Try it" || b.Language != "sh" })
	if len(blocks) == 0 || !strings.Contains(blocks[0].Text, "/auth/guest") {
		t.Fatal("docs/players.md does not log in a guest first, under Try it")
	}
	first, second := &typist{T: t}, &typist{T: t}
	for _, player := range []*typist{first, second} {
		for _, block := range blocks {
			for line := range strings.Lines(strings.ReplaceAll(block.Text, "http://127.0.0.1:9080", server)) {
				player.types(line, block.Lead)
			}
		}
	}
	for _, player := range []*typist{first, second} { // the last command waits for changes
		wait.For(t, "the ticket is completed, since both have asked", func() error {
			if player.answer["state"] == "completed" {
				return nil
			}
			player.types(player.last, "")
			return fmt.Errorf("it is %v", player.answer)
		})
		connection, _ := player.answer["connection"].(map[string]any)
		if want, got := members(t, document.Find(t, "docs/players.md", "json", `"player_session_id"`)), slices.Sorted(maps.Keys(connection)); !slices.Equal(got, want) {
			t.Errorf("the connection has %v, and in docs/players.md %v", got, want)
		}
	}
	connection := first.answer["connection"].(map[string]any)
	playerID := first.answer["players"].([]any)[0].(map[string]any)["player_id"].(string)
	foundBySupport(t, server, playerID, connection["session_id"].(string))
	_, token, _ := strings.Cut(first.known, "token=\"")
	token, _, _ = strings.Cut(token, "\"")
	asDocumented(t, token, playerID)
}

// members returns the names of the members of an object that a document shows.
func members(t *testing.T, block document.Block) []string {
	t.Helper()
	var shown map[string]any
	if err := json.Unmarshal([]byte(block.Text), &shown); err != nil {
		t.Fatalf("line %d: %v", block.Line, err)
	}
	return slices.Sorted(maps.Keys(shown))
}

// foundBySupport checks that a player's game is found as docs/players.md says, by the id that the
// player has of it and by the id of the player.
func foundBySupport(t *testing.T, server, playerID, sessionID string) {
	t.Helper()
	arn := gameSessionARN(t, &protocol.Connection{SessionID: sessionID})
	c := node.Client(server)
	games, err := c.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: &arn})
	if err != nil || len(games.GameSessions) != 1 {
		t.Fatalf("%s, from %s: %v, %v", arn, sessionID, games, err)
	}
	places, err := c.DescribePlayerSessions(t.Context(), &gamelift.DescribePlayerSessionsInput{PlayerId: &playerID})
	if err != nil || len(places.PlayerSessions) != 1 || *places.PlayerSessions[0].GameSessionId != arn {
		t.Errorf("the games of player %s: %v, %v; want %s", playerID, places, err, arn)
	}
}

// asDocumented checks that an access token has the claims that docs/players.md shows.
func asDocumented(t *testing.T, token, playerID string) {
	t.Helper()
	parts := strings.Split(token, ".")
	var head, claims map[string]any
	for i, into := range []*map[string]any{&head, &claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	if want, got := members(t, document.Find(t, "docs/players.md", "json", `"aud"`)), slices.Sorted(maps.Keys(claims)); !slices.Equal(got, want) {
		t.Errorf("a token has the claims %v, and in docs/players.md %v", got, want)
	}
	if head["typ"] != "at+jwt" || head["alg"] != "ES256" || claims["aud"] != "muster" || claims["sub"] != playerID || claims["scope"] != "guest" {
		t.Errorf("the token of %s: %v %v", playerID, head, claims)
	}
}

// typist types the commands of a guide, line by line, into one shell.
type typist struct {
	*testing.T
	known  string // assignments typed so far
	last   string // the last command
	answer map[string]any
}

// types types a line. NAME=… takes the member that the line before the block names from the
// previous answer.
func (p *typist) types(line, lead string) {
	p.Helper()
	name, _, taken := strings.Cut(line, "=…")
	switch {
	case taken:
		_, member, _ := strings.Cut(lead, "its `")
		member, _, _ = strings.Cut(member, "`")
		value, ok := p.answer[member].(string)
		if !ok {
			p.Fatalf("%q: the answer before was %v", line, p.answer)
		}
		p.known += fmt.Sprintf("%s=%q\n", name, value)
		return
	case !strings.HasPrefix(line, "curl "):
		p.known += line
		return
	}
	p.last, p.answer = line, nil
	const failing = `curl() { command curl --fail-with-body "$@"; }` + "\n"
	out, err := exec.CommandContext(p.Context(), "bash", "-c", failing+p.known+line).Output()
	if err == nil {
		err = json.Unmarshal(out, &p.answer)
	}
	if err != nil {
		p.Fatalf("%s: %v\n%s", line, err, out)
	}
}
