package guides

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestPlayers types the commands of the guide for operators: a player's game is found, the player
// is kept out, and a beacon signs a receipt.
func TestPlayers(t *testing.T) {
	t.Parallel()
	needs(t, "aws curl openssl")
	r := newReader(t, "players")
	local := node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "warn")
	r.env = append(r.env, "MUSTER_ENDPOINT="+local.URL, "AWS_ENDPOINT_URL_GAMELIFT="+local.URL,
		"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_DEFAULT_REGION=us-east-1")
	player := r.run("curl -s --fail -X POST " + local.URL + "/player/v1/auth/guest")
	id := member(t, player, "player_id")
	place := node.NewPlace(t, node.Client(local.URL))
	place.Server(t)
	game, err := place.Create(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	node.Follow(t, local.URL).Code(t, "GAME_SESSION_ACTIVATED")
	if _, err := place.Client.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: game.GameSessionId, PlayerId: &id}); err != nil {
		t.Fatal(err)
	}
	r.puts("arn:aws:gamelift:us-east-1::gamesession/fleet-7c0ffee0/gsess-1", *game.GameSessionId)
	r.puts("01a2092a-ca50-7000-bd0f-be570d9e4c46", id)
	r.puts("http://127.0.0.1:9080", local.URL)
	r.puts("/etc/muster/beacon-key", "beacon-key")
	r.puts(":7770", "127.0.0.1:0")
	ready := regexp.MustCompile(`http=(\S+)`)
	r.follow(
		step{"aws gamelift describe-game-sessions", func(text string) {
			lines := commands(text)
			r.prints(lines[0], *game.GameSessionId, `"ACTIVE"`)
			r.prints(lines[1], *game.GameSessionId, id)
			r.prints(lines[2], "GAME_SESSION_ACTIVATED")
		}},
		step{"muster players ban", func(text string) {
			lines := commands(text)
			r.prints(lines[0])
			r.prints("muster players show "+id, "aim bot, ticket 512")
			r.prints(lines[1])
			if out := r.prints("muster players show " + id); strings.Contains(out, "aim bot") {
				t.Errorf("the player is banned still:\n%s", out)
			}
		}},
		step{"player=…", func(text string) {
			var guest struct { // the other one was logged out by the ban
				ID      string `json:"player_id"`
				Secret  string `json:"guest_secret"`
				Refresh string `json:"refresh_token"`
			}
			if err := json.Unmarshal([]byte(r.run("curl -s --fail -X POST "+local.URL+"/player/v1/auth/guest")), &guest); err != nil {
				t.Fatal(err)
			}
			text = strings.NewReplacer("player=…", "player="+guest.ID, "secret=…", "secret="+guest.Secret, "refresh=…", "refresh="+guest.Refresh).Replace(text)
			if out := r.prints(text); strings.Count(out, guest.ID) != 2 || strings.Count(out, `"access_token"`) != 2 || strings.Contains(out, `"guest_secret"`) {
				t.Errorf("a guest who comes back, by each way, is told %s", out)
			}
		}},
		step{"(umask 077;", func(text string) {
			lines := commands(text)
			r.run(r.said(lines[0]))
			out := r.starts(lines[1]+" --http 127.0.0.1:0", "http=")
			at := ready.FindStringSubmatch(out)
			if at == nil {
				t.Fatalf("the beacon says %s", out)
			}
			r.puts("https://ping.fra.example.com", "http://"+at[1])
		}},
		step{"nonce=$(openssl", func(text string) {
			if out := r.prints(text + "echo $receipt"); len(out) < 40 {
				t.Errorf("the receipt is %q", out)
			}
		}},
	)
}

// TestPlayers_File starts a server with the file of the guide: clients are told what is in it, tokens are
// of its issuer, and its limit of guests holds.
func TestPlayers_File(t *testing.T) {
	t.Parallel()
	needs(t, "curl openssl")
	r := newReader(t, "players")
	r.puts("/etc/muster/", r.dir+"/")
	r.write("players.yaml", r.said(document.Find(t, r.guide, "yaml", "issuer:").Text))
	r.run("umask 077; openssl rand -hex 32 > beacon-key; openssl rand -hex 16 > steam-key")
	_, operator := r.serve("data", "--players-file players.yaml")
	node.Matchmaker(t, api(operator), "ranked-5v5", `{"name": "five", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 1, "maxPlayers": 5}]}`)
	var guest struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(r.run("curl -s --fail -X POST "+operator.Endpoint+"/player/v1/auth/guest")), &guest); err != nil {
		t.Fatal(err)
	}
	get := "curl -s -H 'Authorization: Bearer " + guest.Token + "' " + operator.Endpoint + "/player/v1/"
	r.prints(get+"config", `"steam"`, `"apple"`, `"studio"`, `"ranked"`, `"max_party":5`, `"custom-games"`)
	r.prints(get+"locations", "custom-frankfurt", "ping.fra.example.com:7770")
	r.prints(get+`matchmaking/tickets --json '{"matchmaker":"ranked"}'`, `"status":403`)
	if _, claims := tokenOf(t, guest.Token); claims["iss"] != "https://play.example.com/player" || claims["aud"] != "muster" {
		t.Errorf("the token's claims are %v", claims)
	}
	more := strings.TrimSpace(r.run("for n in $(seq 2 11); do curl -s -o answer -w '%{http_code} ' -X POST " + operator.Endpoint + "/player/v1/auth/guest; done"))
	if want := strings.Repeat("201 ", 9) + "429"; more != want {
		t.Errorf("after the first guest, ten more are told %s; the file allows ten an hour", more)
	}
}

// TestPlayers_Matched types the commands of the guide for two players, who are matched into the demo
// game. What they are told, and the token of a player, have the members that the guide shows.
func TestPlayers_Matched(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	g := newGuide(t, "docs/players.md")
	g.serve("local", "--demo-players", "0")
	g.until("muster fleets", "ACTIVE")
	login, search, poll := g.next("api="), g.next("token="), g.next("ticket=")
	connection, claims := object(t, g.next(`{"session_id"`)), object(t, g.next(`{"iss"`))
	var token string
	var polls []string
	for range 2 {
		token = member(t, g.enter(login), "access_token")
		ticket := member(t, g.enter(strings.Replace(search, "token=…", "token="+token, 1)), "ticket_id")
		polls = append(polls, "token="+token+"\n"+strings.Replace(poll, "ticket=…", "ticket="+ticket, 1))
	}
	for _, poll := range polls {
		ticket := object(t, g.until(poll, `"completed"`))
		if got, ok := ticket["connection"].(map[string]any); !ok || !sameMembers(got, connection) {
			t.Errorf("the connection is %v, and in the guide %v", got, connection)
		}
	}
	head, got := tokenOf(t, token)
	if !sameMembers(got, claims) || head["typ"] != "at+jwt" || head["alg"] != "ES256" || got["aud"] != "muster" || got["scope"] != "guest" {
		t.Errorf("the token is %v %v, and in the guide %v", head, got, claims)
	}
}

// member returns a member of one of the objects that a command has printed.
func member(t *testing.T, out, name string) string {
	t.Helper()
	found := regexp.MustCompile(`"` + name + `": ?"([^"]+)"`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no %s in %s", name, out)
	}
	return found[1]
}

func object(t *testing.T, text string) (members map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return members
}

func sameMembers(a, b map[string]any) bool {
	return slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
}

// tokenOf returns what is in a player's access token.
func tokenOf(t *testing.T, token string) (head, claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	for i, into := range []*map[string]any{&head, &claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		*into = object(t, string(text))
	}
	return head, claims
}
