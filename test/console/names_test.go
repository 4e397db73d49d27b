package console

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// hostile are names that would be run, that turn around what follows them, and that are long.
var hostile = []string{
	`<img src=x onerror="ran=1;alert(1)">`, "a\u202egnirts \u2066\u202d b", `"><script>alert(2)</script>&#x26;?id=1#/../`, strings.Repeat("W", 1000),
	"\u05de\u05e9\u05d7\u05e7 7 \u0627\u0644\u0642\u0627\u0639\u0629 (2 of 8)", // letters that run to the left
}

// longest is text of 10,000 letters, which what belongs to a game session may have.
var longest = `<b>` + strings.Repeat("\u05e9W", 4998) + `</b>`

// What strangers call themselves and their games runs nowhere, and disturbs no page.
func TestNames(t *testing.T) {
	needs(t)
	d := startDemo(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	events := node.Follow(t, d.server.URL)
	var demo string
	for range hostile {
		demo = events.Code(t, "SERVER_PROCESS_ACTIVE").FleetID
	}
	operator := &client.Client{Endpoint: d.server.URL}
	for _, name := range hostile {
		_, err := d.aws.CreateFleet(ctx, &gamelift.CreateFleetInput{
			Name: &name, Description: &name, ComputeType: types.ComputeTypeAnywhere, Locations: []types.LocationConfiguration{{Location: aws.String("custom-local")}},
		})
		must(err)
		_, err = operator.Keys().Create(ctx, client.KeySpec{Name: name[:min(len(name), 60)], Role: "read-only"})
		if err != nil {
			t.Logf("a key called %.20q is refused: %v", name, err) // which is well, too
		}
		place := node.Place{Client: d.aws, FleetID: demo, Location: "custom-local"}
		made, err := place.Create(ctx, 8, func(in *gamelift.CreateGameSessionInput) {
			in.Name, in.CreatorId, in.GameSessionData = &name, &name, aws.String(name+longest)
			in.GameProperties = []types.GameProperty{{Key: aws.String(name[:min(len(name), 32)]), Value: aws.String(name[:min(len(name), 96)])}}
		})
		must(err)
		events.Until(t, "active game session", func(e node.Event) bool {
			return e.Code == "GAME_SESSION_ACTIVATED" && e.GameSessionID == *made.GameSessionId
		})
		_, err = d.aws.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: made.GameSessionId, PlayerId: &name, PlayerData: &name})
		must(err)
	}
	// The longest names that the API allows where it allows few characters.
	long := strings.Repeat("a", 128)
	_, err := d.aws.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: &long, CustomEventData: aws.String(hostile[0])})
	must(err)
	node.Matchmaker(t, d.aws, long, duels, func(in *gamelift.CreateMatchmakingConfigurationInput) {
		in.CustomEventData = aws.String(hostile[0][:36])
	})
	ticket := strings.Repeat("t", 128)
	_, err = d.aws.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{ConfigurationName: &long, TicketId: &ticket, Players: []types.Player{{PlayerId: &hostile[0]}}})
	must(err)
	if _, err := d.aws.CreateLocation(ctx, &gamelift.CreateLocationInput{
		LocationName: aws.String("custom-" + strings.Repeat("l", 57)),
		Tags:         []types.Tag{{Key: aws.String("muster:coordinates"), Value: aws.String("52.5 13.4")}, {Key: aws.String("muster:city"), Value: aws.String(hostile[0] + hostile[1] + strings.Repeat("W", 180))}},
	}); err != nil {
		t.Fatal(err)
	}
	node.Join(t, operator, strings.Repeat("h", 63), "custom-"+strings.Repeat("l", 57))
	run(t, "hostile.mjs", task{Base: d.server.URL, About: map[string]any{"names": hostile, "fleet": demo, "tickets": []string{ticket}}}, nil)
}

// Figures are those of the API at the same event.
func TestFigures(t *testing.T) {
	needs(t)
	d := startDemo(t)
	d.waitInVain(t)
	end := d.play(t)
	run(t, "figures.mjs", task{Base: d.server.URL}, map[string]func(string) any{
		"still": func(string) any { end(); return nil },
	})
}
