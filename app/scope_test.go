package app_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/cli/client"
)

// A key with a scope can use what is in it, but neither the rest nor everything. Scopes apply
// outside the API as well: a key lets machines join its locations and manages those, and sees its
// own fleets, queues and configurations in the console.
func TestServe_HoldsScopes(t *testing.T) {
	t.Parallel()
	a, clients, _ := serve(t, "admin")
	admin := clients["admin"]
	call := func(operation string, in map[string]any) { answered(t, admin, operation, in) }
	fleet, host, token := map[string]string{"unknown": "fleet-unknown"}, map[string]string{"unknown": "host-unknown"}, map[string]string{}
	for _, name := range []string{"red", "blue"} {
		fleet[name], _ = anywhere(t, admin, name)
		call("CreateGameSessionQueue", map[string]any{"Name": name, "Tags": []map[string]string{{"Key": "team", "Value": name}}})
		call("StartGameSessionPlacement", map[string]any{"PlacementId": "placement-" + name, "GameSessionQueueName": name, "MaximumPlayerSessionCount": 2})
		call("CreateMatchmakingRuleSet", map[string]any{"Name": name, "RuleSetBody": `{"name":"a","ruleLanguageVersion":"1.0","teams":[{"name":"t","minPlayers":2,"maxPlayers":2}]}`})
		call("CreateMatchmakingConfiguration", map[string]any{"Name": name, "RuleSetName": name, "FlexMatchMode": "STANDALONE", "RequestTimeoutSeconds": 100, "AcceptanceRequired": false})
		call("StartMatchmaking", map[string]any{"TicketId": "ticket-" + name, "ConfigurationName": name, "Players": []any{map[string]any{"PlayerId": "p"}}})
		join := must(admin.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "custom-" + name, Uses: 2}))(t)
		token[name] = join.TokenID
		_, joined := askToJoin(t, a, join.Token)
		host[name] = joined.HostID
	}
	names := func(queue ...string) any { return map[string]any{"Names": queue} }
	for what, c := range map[string]*client.Client{
		"ARN": with(t, a, admin, client.KeySpec{Name: "a", Role: "operator", Scope: client.KeyScope{Resources: []string{"arn:aws:gamelift:*:*:gamesessionqueue/re*"}}}),
		"tag": with(t, a, admin, client.KeySpec{Name: "b", Role: "operator", Scope: client.KeyScope{Tags: map[string]string{"team": "red"}}}),
	} {
		for _, call := range []struct {
			operation string
			in        any
			allowed   bool
		}{
			{"DescribeGameSessionQueues", names("red"), true},
			{"UpdateGameSessionQueue", map[string]any{"Name": "red", "TimeoutInSeconds": 20}, true},
			{"ValidateMatchmakingRuleSet", map[string]any{"RuleSetBody": `{"name":"a","ruleLanguageVersion":"1.0","teams":[{"name":"t","minPlayers":1,"maxPlayers":1}]}`}, true},
			{"DescribeGameSessionQueues", names("red", "blue"), false},
			{"DescribeGameSessionQueues", names(), true},
			{"UpdateGameSessionQueue", map[string]any{"Name": "blue", "TimeoutInSeconds": 20}, false},
			{"UpdateGameSessionQueue", map[string]any{"Name": "red", "Destinations": []any{map[string]any{"DestinationArn": "arn:aws:gamelift:us-east-1::alias/alias-1"}}}, false},
			{"ListFleets", map[string]any{}, true},
			{"CreateBuild", map[string]any{"OperatingSystem": "AMAZON_LINUX_2023"}, false},
			{"DescribeGameSessionPlacement", map[string]any{"PlacementId": "nobody-knows"}, false},
			{"DescribeMatchmaking", map[string]any{"TicketIds": []string{"nobody-knows"}}, false},
			{"TagResource", map[string]any{"ResourceARN": "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/blue", "Tags": []map[string]string{{"Key": "team", "Value": "red"}}}, false},
		} {
			err := c.Call(t.Context(), call.operation, call.in, nil)
			if denied := code(err) == "AccessDeniedException"; denied == call.allowed || call.allowed && err != nil {
				t.Errorf("by %s: %s of %v: %v, want allowed %t", what, call.operation, call.in, err, call.allowed)
			}
		}
		if err := c.Events(t.Context(), client.EventQuery{Last: 1}, nil); err == nil {
			t.Errorf("by %s: a key with a scope reads all events", what)
		}
		if _, err := c.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "us-east-1"}); err == nil {
			t.Errorf("by %s: a key with a scope lets machines join", what)
		}
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
	pages := newBrowser(t, a.URL()).logIn(c.Credentials)
	for view, want := range map[string]int{
		"queue?name=red": 200, "queue?name=blue": 403, "matchmaker?name=red": 200, "matchmaker?name=blue": 403, "quality?name=blue": 403,
		"ticket?id=ticket-red": 200, "ticket?id=ticket-blue": 403, "fleet?id=" + fleet["red"]: 200, "fleet?id=" + fleet["blue"]: 403,
		"sessions": 200, "sessions?fleet=" + fleet["blue"]: 403, "now": 403, "world": 403, "queues": 403, "matchmakers": 403, "crashes": 403,
		"host?id=" + host["blue"]: 403, "player-data?id=p": 403,
	} {
		if status, text := pages.view(view); status != want {
			t.Errorf("view %s: %d %s, want %d", view, status, text, want)
		}
	}
	// What is shown of a player, and found, is what the scope allows of it.
	for _, view := range []string{"player?id=p", "search?text=ticket-", "search?text=ticket-blue", "search?text=red", "search?text=blue"} {
		_, text := pages.view(view)
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
