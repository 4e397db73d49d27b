package app_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/gameserver"
)

// worldView is the part of the view that tests read.
type worldView struct {
	Locations []struct {
		Location, City string
		At             *struct{ Lat, Lon float64 }
		Known          int
		Median         *float64 `json:"median_ms"`
		Players        int      `json:"current_player_sessions"`
	}
	Flows []struct {
		From, To string
		Players  int
	}
	Chosen *struct {
		Playing, Measured []int
		Queues            []struct {
			Name string
			Caps []struct{ Max int }
		}
	}
}

// hosting is a server with a game server process in each location.
func hosting(t *testing.T, locations ...map[string]any) (c *client.Client, fleetARN string) {
	t.Helper()
	a := start(t, func(o *app.Options) { o.Store = "sqlite" })
	c = at(a)
	var at []any
	for _, l := range locations {
		answered(t, c, "CreateLocation", l)
		at = append(at, map[string]any{"Location": l["LocationName"]})
	}
	made := answered(t, c, "CreateFleet", map[string]any{
		"Name": "f", "ComputeType": "ANYWHERE", "Locations": at, "AnywhereConfiguration": map[string]any{"Cost": "1"},
	})["FleetAttributes"].(map[string]any)
	id := made["FleetId"].(string)
	for _, l := range locations {
		name := l["LocationName"].(string)
		joined := answered(t, c, "RegisterCompute", map[string]any{"FleetId": id, "ComputeName": "in-" + name, "Location": name, "IpAddress": "127.0.0.1"})
		token := answered(t, c, "GetComputeAuthToken", map[string]any{"FleetId": id, "ComputeName": "in-" + name})
		s := must(gameserver.Start(t.Context(), gameserver.Options{
			Endpoint: joined["Compute"].(map[string]any)["GameLiftServiceSdkEndpoint"].(string),
			Token:    token["AuthToken"].(string), FleetID: id, ComputeName: "in-" + name,
		}))(t)
		t.Cleanup(s.Kill)
	}
	return c, made["FleetArn"].(string)
}

// viewOf reads a view of the console.
func viewOf(t *testing.T, c *client.Client, query string, data any) {
	t.Helper()
	by := direct
	if c.HTTP != nil {
		by = c.HTTP
	}
	answer, text := send(t, by, http.MethodGet, c.Endpoint+"/console/api/views/"+query, "", nil)
	frame := struct{ Data any }{data}
	if err := json.Unmarshal([]byte(text), &frame); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("view %s: %s %s, %v", query, answer.Status, text, err)
	}
}

// The world shows where the players of a placement are, how far away, and where they would
// have been nearer.
func TestConsole_World(t *testing.T) {
	t.Parallel()
	c, fleetARN := hosting(t,
		map[string]any{"LocationName": "custom-far", "Tags": []any{map[string]any{"Key": "muster:coordinates", "Value": "52.5 13.4"}, map[string]any{"Key": "muster:city", "Value": "Berlin"}}},
		map[string]any{"LocationName": "custom-nowhere"})
	answered(t, c, "CreateGameSessionQueue", map[string]any{
		"Name": "q", "Destinations": []any{map[string]any{"DestinationArn": fleetARN}},
		"FilterConfiguration":   map[string]any{"AllowedLocations": []any{"custom-far"}},
		"PlayerLatencyPolicies": []any{map[string]any{"MaximumIndividualPlayerLatencyMilliseconds": 200}, map[string]any{"MaximumIndividualPlayerLatencyMilliseconds": 120, "PolicyDurationSeconds": 60}},
	})
	players, latencies := []any{}, []any{}
	for i, name := range []string{"a", "b", "c"} {
		players = append(players, map[string]any{"PlayerId": name})
		latencies = append(latencies,
			map[string]any{"PlayerId": name, "RegionIdentifier": "custom-far", "LatencyInMilliseconds": 61 + 20*i},
			map[string]any{"PlayerId": name, "RegionIdentifier": "custom-nowhere", "LatencyInMilliseconds": 90})
	}
	answered(t, c, "StartGameSessionPlacement", map[string]any{
		"PlacementId": "p", "GameSessionQueueName": "q", "MaximumPlayerSessionCount": 4, "DesiredPlayerSessions": players, "PlayerLatencies": latencies,
	})
	var v worldView
	wait.Until(t, "the placement is on the map", func() bool {
		v = worldView{}
		viewOf(t, c, "world?location=custom-far", &v)
		return len(v.Locations) == 2 && v.Locations[0].Known+v.Locations[1].Known > 0
	})
	for _, l := range v.Locations {
		switch l.Location {
		case "custom-far":
			if l.City != "Berlin" || l.At == nil || l.At.Lat != 52.5 || l.At.Lon != 13.4 || l.Known != 3 || l.Median == nil || math.Abs(*l.Median-81) > 5 || l.Players != 3 {
				t.Errorf("far: %+v", l)
			}
		default:
			if l.At != nil || l.Known != 0 || l.Median != nil || l.Players != 0 {
				t.Errorf("nowhere: %+v", l)
			}
		}
	}
	if len(v.Flows) != 1 || v.Flows[0].From != "custom-nowhere" || v.Flows[0].To != "custom-far" || v.Flows[0].Players != 1 {
		t.Errorf("flows: %+v", v.Flows)
	}
	d := v.Chosen
	if d == nil || d.Playing[61/5] != 1 || d.Playing[81/5] != 1 || d.Playing[101/5] != 1 {
		t.Fatalf("chosen: %+v", d)
	}
	if len(d.Queues) != 1 || d.Queues[0].Name != "q" || len(d.Queues[0].Caps) != 2 || d.Queues[0].Caps[0].Max != 120 || d.Queues[0].Caps[1].Max != 200 {
		t.Errorf("queues: %+v", d.Queues)
	}
	v = worldView{}
	viewOf(t, c, "world?location=custom-nowhere", &v)
	if v.Chosen == nil || v.Chosen.Measured[90/5] != 3 || len(v.Chosen.Queues) != 0 {
		t.Errorf("nowhere: %+v", v.Chosen)
	}
	if status, _ := get(t, c.Endpoint+"/console/api/views/world?location=custom-other"); status != http.StatusNotFound {
		t.Errorf("another location: %d", status)
	}
}

// qualityView is the part of the view that tests read.
type qualityView struct {
	RuleSet  string `json:"rule_set"`
	Before   string
	Matches  int
	Earlier  int
	Measures []struct {
		Key    string
		Limits []struct {
			At    float64
			After int `json:"after_ms"`
		}
		Now    struct{ Median float64 }
		Before *struct{ Median float64 }
		Change *struct {
			Clear bool
			By    float64
		}
	}
}

// Matches are measured as the rules saw them, by the rule set that they followed.
func TestConsole_Quality(t *testing.T) {
	t.Parallel()
	c, _ := hosting(t, map[string]any{"LocationName": "custom-a"})
	for _, limit := range []int{90, 200} {
		answered(t, c, "CreateMatchmakingRuleSet", map[string]any{"Name": fmt.Sprint("within-", limit), "RuleSetBody": fmt.Sprintf(`{"name":"r","ruleLanguageVersion":"1.0",
			"playerAttributes":[{"name":"skill","type":"number"},{"name":"map","type":"string","default":"a"}],
			"teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}],
			"rules":[{"name":"Fair","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":%d}],
			"expansions":[{"target":"rules[Fair].maxDistance","steps":[{"waitTimeSeconds":30,"value":500}]}]}`, limit)})
	}
	answered(t, c, "CreateMatchmakingConfiguration", map[string]any{
		"Name": "duel", "RuleSetName": "within-90", "FlexMatchMode": "STANDALONE", "RequestTimeoutSeconds": 100, "AcceptanceRequired": false,
	})
	played := 0
	play := func(a, b int) {
		t.Helper()
		for i, skill := range []int{a, b} {
			answered(t, c, "StartMatchmaking", map[string]any{"ConfigurationName": "duel", "Players": []any{map[string]any{
				"PlayerId": fmt.Sprintf("p%d-%d", played, i), "PlayerAttributes": map[string]any{"skill": map[string]any{"N": skill}},
			}}})
		}
		played++
		wait.Until(t, fmt.Sprintf("match %d is measured", played), func() bool {
			var v qualityView
			viewOf(t, c, "quality?name=duel", &v)
			return v.Matches+v.Earlier == played
		})
	}
	play(100, 140)
	var v qualityView
	viewOf(t, c, "quality?name=duel", &v)
	if v.RuleSet != "within-90" || v.Before != "" {
		t.Errorf("one match: %+v", v)
	}
	answered(t, c, "UpdateMatchmakingConfiguration", map[string]any{"Name": "duel", "RuleSetName": "within-200"})
	play(100, 250)
	v = qualityView{}
	viewOf(t, c, "quality?name=duel", &v)
	if v.RuleSet != "within-200" || v.Before != "within-90" || v.Matches != 1 || v.Earlier != 1 {
		t.Errorf("two matches: %+v", v)
	}
	seen := map[string]bool{}
	for _, m := range v.Measures {
		seen[m.Key] = true
		switch m.Key {
		case "rule Fair", "teams skill", "spread skill":
			if m.Now.Median != 150 || m.Before == nil || m.Before.Median != 40 || m.Change == nil || m.Change.By != 110 {
				t.Errorf("%+v", m)
			}
		case "wait":
			if m.Now.Median < 0 || m.Now.Median > 30 || math.IsNaN(m.Now.Median) {
				t.Errorf("%+v", m)
			}
		default:
			t.Errorf("a measure %q of nothing", m.Key)
		}
		if m.Key == "rule Fair" && (len(m.Limits) != 2 || m.Limits[0].At != 200 || m.Limits[1].At != 500 || m.Limits[1].After != 30_000) {
			t.Errorf("limits: %+v", m.Limits)
		}
	}
	if len(seen) != 4 {
		t.Errorf("measures: %v", seen)
	}
}

// queueView is the part of the view that tests read.
type queueView struct {
	Counts map[string]int
	Series struct {
		Begun  time.Time
		Values map[string][]*float64
	}
}

// fails has a server record a placement that fails.
func fails(t *testing.T, a *app.App) {
	t.Helper()
	_, fleet := anywhere(t, at(a), "empty")
	call(t, a, "CreateGameSessionQueue", map[string]any{"Name": "q", "TimeoutInSeconds": 600, "Destinations": []any{map[string]any{"DestinationArn": fleet}}})
	call(t, a, "StartGameSessionPlacement", map[string]any{"GameSessionQueueName": "q", "PlacementId": "p", "MaximumPlayerSessionCount": 2})
	call(t, a, "StopGameSessionPlacement", map[string]any{"PlacementId": "p"})
}

// canceled returns what a server knows of the placement of fails, in each range.
func canceled(t *testing.T, a *app.App) (all map[string]queueView) {
	t.Helper()
	all = map[string]queueView{}
	for _, name := range []string{"15m", "1h", "24h", "7d"} {
		var v queueView
		viewOf(t, &client.Client{Endpoint: a.URL()}, "queue?name=q&range="+name, &v)
		all[name] = v
	}
	return all
}

// A range that there is not is refused with the ranges that there are.
func TestConsole_RangeRefused(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) {})
	for _, view := range []string{"now", "crashes", "queues", "queue", "matchmakers", "matchmaker", "fleet"} {
		status, body := get(t, a.URL()+"/console/api/views/"+view+"?range=2h")
		if status != http.StatusBadRequest || !strings.Contains(body, "none of 15m, 1h, 24h and 7d") {
			t.Errorf("%s: %d %s", view, status, body)
		}
	}
}
