package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/hosts/protocol"
)

// joinAs creates a host, without an agent, in the location of a token.
func joinAs(t *testing.T, a *app.App, token string) (hostID string) {
	t.Helper()
	body, err := json.Marshal(protocol.JoinRequest{Token: token, Facts: protocol.Facts{
		Name: "m", IPAddress: "127.0.0.1", CPUMillis: 1000, MemoryMiB: 1024, PortFrom: 20000, PortTo: 20100,
	}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(a.URL()+protocol.PathJoin, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var joined protocol.JoinResponse
	if err := json.NewDecoder(answer.Body).Decode(&joined); err != nil || joined.HostID == "" {
		t.Fatalf("join: %s, %v", answer.Status, err)
	}
	return joined.HostID
}

// Scopes apply outside the API as well: a key lets machines join its locations and manages
// those, and sees its own fleets, queues and configurations in the console.
func TestServe_HoldsScopesBesideTheAPI(t *testing.T) {
	t.Parallel()
	a, clients, _ := serve(t, "admin")
	admin := clients["admin"]
	call := func(operation string, in map[string]any) map[string]any {
		t.Helper()
		var out map[string]any
		if err := admin.Call(t.Context(), operation, in, &out); err != nil {
			t.Fatalf("%s: %v", operation, err)
		}
		return out
	}
	fleet, host, token := map[string]string{"unknown": "fleet-unknown"}, map[string]string{"unknown": "host-unknown"}, map[string]string{}
	for _, name := range []string{"red", "blue"} {
		call("CreateLocation", map[string]any{"LocationName": "custom-" + name})
		made := call("CreateFleet", map[string]any{"Name": name, "ComputeType": "ANYWHERE", "Locations": []any{map[string]any{"Location": "custom-" + name}}})
		fleet[name] = made["FleetAttributes"].(map[string]any)["FleetId"].(string)
		call("CreateGameSessionQueue", map[string]any{"Name": name})
		call("StartGameSessionPlacement", map[string]any{"PlacementId": "placement-" + name, "GameSessionQueueName": name, "MaximumPlayerSessionCount": 2})
		call("CreateMatchmakingRuleSet", map[string]any{"Name": name, "RuleSetBody": `{"name":"a","ruleLanguageVersion":"1.0","teams":[{"name":"t","minPlayers":2,"maxPlayers":2}]}`})
		call("CreateMatchmakingConfiguration", map[string]any{"Name": name, "RuleSetName": name, "FlexMatchMode": "STANDALONE", "RequestTimeoutSeconds": 100, "AcceptanceRequired": false})
		call("StartMatchmaking", map[string]any{"TicketId": "ticket-" + name, "ConfigurationName": name, "Players": []any{map[string]any{"PlayerId": "p"}}})
		made2, err := admin.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "custom-" + name, Uses: 2})
		if err != nil {
			t.Fatal(err)
		}
		token[name] = made2.TokenID
		host[name] = joinAs(t, a, made2.Token)
	}
	c := with(t, a, admin, client.KeySpec{Name: "red", Role: "operator", Scope: client.KeyScope{Resources: []string{
		"arn:aws:gamelift:*:*:location/custom-red", "arn:aws:gamelift:*:*:gamesessionqueue/red",
		"arn:aws:gamelift:*:*:matchmakingconfiguration/red", "arn:aws:gamelift:*:*:fleet/" + fleet["red"],
	}}})
	ctx := t.Context()
	for what, ask := range map[string]func(name string) error{
		"make a join token": func(name string) error {
			_, err := c.CreateJoinToken(ctx, client.JoinTokenInput{Location: "custom-" + name})
			return err
		},
		"see a host":   func(name string) error { _, err := c.Hosts().Get(ctx, host[name]); return err },
		"drain a host": func(name string) error { _, err := c.Hosts().Drain(ctx, host[name]); return err },
		"read events": func(name string) error {
			return c.Events(ctx, client.EventQuery{FleetID: fleet[name], Last: 10}, func(client.Event) error { return nil })
		},
		"read a session's events": func(name string) error {
			session := "arn:aws:gamelift:us-east-1::gamesession/" + fleet[name] + "/custom-" + name + "/s"
			return c.Events(ctx, client.EventQuery{GameSessionID: session, Last: 10}, func(client.Event) error { return nil })
		},
		"read a session's events of its fleet's location": func(name string) error {
			session := "arn:aws:gamelift:us-east-1::gamesession/" + fleet["red"] + "/custom-" + name + "/s"
			return c.Events(ctx, client.EventQuery{GameSessionID: session, Last: 10}, func(client.Event) error { return nil })
		},
		"find a fleet":            func(name string) error { _, err := c.FindFleet(ctx, fleet[name]); return err },
		"see processes":           func(name string) error { _, err := c.Processes(ctx, fleet[name]); return err },
		"explain a placement":     func(name string) error { _, _, err := c.Placements().Explain(ctx, "placement-"+name); return err },
		"explain a ticket":        func(name string) error { _, _, err := c.Matchmaking().ExplainTicket(ctx, "ticket-"+name); return err },
		"explain a configuration": func(name string) error { _, _, err := c.Matchmaking().Explain(ctx, name); return err },
		"trace a configuration":   func(name string) error { return c.Matchmaking().Trace(ctx, name, time.Time{}, io.Discard) },
	} {
		if err := ask("red"); err != nil {
			t.Errorf("%s in its scope: %v", what, err)
		}
		for _, name := range []string{"blue", "unknown"} {
			if err := ask(name); err == nil || !strings.Contains(err.Error(), "scope") {
				t.Errorf("%s of %s: %v, want a refusal for its scope", what, name, err)
			}
		}
	}
	for what, ask := range map[string]func() error{
		"revoke a join token": func() error { return c.RevokeJoinToken(ctx, token["blue"]) },
		"remove a host":       func() error { _, err := c.Hosts().Remove(ctx, host["blue"], true); return err },
		"rotate a host":       func() error { _, err := c.Hosts().Rotate(ctx, host["blue"]); return err },
		"make a token for the home region": func() error {
			_, err := c.CreateJoinToken(ctx, client.JoinTokenInput{})
			return err
		},
		"list hosts":     func() error { _, err := c.Hosts().List(ctx); return err },
		"list fleets":    func() error { _, err := c.Fleets(ctx); return err },
		"list queues":    func() error { _, err := c.Placements().Queues(ctx); return err },
		"list processes": func() error { _, err := c.Processes(ctx, ""); return err },
		"read all events": func() error {
			return c.Events(ctx, client.EventQuery{Last: 1}, func(client.Event) error { return nil })
		},
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "scope") {
			t.Errorf("%s: %v, want a refusal for its scope", what, err)
		}
	}
	if err := c.RevokeJoinToken(ctx, token["red"]); err != nil {
		t.Errorf("revoke a join token in its scope: %v", err)
	}
	if gone, err := c.Hosts().Remove(ctx, host["red"], true); err != nil || !gone {
		t.Errorf("remove a host in its scope: %v", err)
	}
	pages := &browser{T: t, url: a.URL()}
	pages.logIn(c.Credentials)
	for view, want := range map[string]int{
		"queue?name=red": 200, "queue?name=blue": 403, "matchmaker?name=red": 200, "matchmaker?name=blue": 403, "quality?name=blue": 403,
		"ticket?id=ticket-red": 200, "ticket?id=ticket-blue": 403, "fleet?id=" + fleet["red"]: 200, "fleet?id=" + fleet["blue"]: 403,
		"sessions": 200, "sessions?fleet=" + fleet["blue"]: 403, "now": 403, "world": 403, "queues": 403, "matchmakers": 403, "crashes": 403,
		"host?id=" + host["blue"]: 403, "player-data?id=p": 403,
	} {
		if status, text := pages.send(http.MethodGet, "/console/api/views/"+view, "", nil); status != want {
			t.Errorf("view %s: %d %s, want %d", view, status, text, want)
		}
	}
	// What is shown of a player, and found, is what the scope allows of it.
	for _, view := range []string{"player?id=p", "search?text=ticket-", "search?text=ticket-blue", "search?text=red", "search?text=blue"} {
		_, text := pages.send(http.MethodGet, "/console/api/views/"+view, "", nil)
		if strings.Contains(text, "blue") || strings.Contains(text, fleet["blue"]) {
			t.Errorf("view %s tells of what is not in its scope: %s", view, text)
		}
		if view == "player?id=p" && !strings.Contains(text, "ticket-red") {
			t.Errorf("view %s lacks the ticket in its scope: %s", view, text)
		}
	}
	if _, _, err := c.Placements().Explain(ctx, "nt-blue"); err == nil || strings.Contains(err.Error(), "placement-blue") {
		t.Errorf("a beginning or end of an id that is not in its scope is answered with %v", err)
	}
	if _, _, err := admin.Placements().Explain(ctx, "placement-unknown"); err == nil || !strings.Contains(err.Error(), `there is no placement "placement-unknown"`) {
		t.Errorf("without a scope an unknown placement is answered with %v", err)
	}
}
