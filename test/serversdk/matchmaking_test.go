package serversdk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/wait"
)

// matchmakerData is the part of a game session's matchmaker data that users of the SDK
// read.
type matchmakerData struct {
	MatchID       string `json:"matchId"`
	Configuration string `json:"matchmakingConfigurationArn"`
	Teams         []struct {
		Name    string
		Players []struct {
			PlayerID string `json:"playerId"`
		}
	}
	AutoTicket string `json:"autoBackfillTicketId"`
}

// squad has one team of two to four, and player attributes of every type.
const squad = `{"ruleLanguageVersion": "1.0", "teams": [{"name": "squad", "minPlayers": 2, "maxPlayers": 4}],
	"playerAttributes": [{"name": "skill", "type": "number", "default": 1}, {"name": "mode", "type": "string", "default": "ctf"},
		{"name": "maps", "type": "string_list", "default": ["a"]}, {"name": "prefs", "type": "string_number_map", "default": {"a": 1}}]}`

// matchmaker creates a queue to a fleet and two configurations, with manual and with
// automatic backfill, and returns their ARNs.
func (m *muster) matchmaker(fleetID string) (manual, automatic string) {
	m.t.Helper()
	var fleets struct{ FleetAttributes []struct{ FleetArn string } }
	m.call("DescribeFleetAttributes", object{"FleetIds": []string{fleetID}}, &fleets)
	var queue struct {
		GameSessionQueue struct{ GameSessionQueueArn string }
	}
	m.call("CreateGameSessionQueue", object{"Name": "q", "Destinations": []object{{"DestinationArn": fleets.FleetAttributes[0].FleetArn}}}, &queue)
	m.call("CreateMatchmakingRuleSet", object{"Name": "squad", "RuleSetBody": squad}, nil)
	arns := map[string]string{}
	for _, mode := range []string{"MANUAL", "AUTOMATIC"} {
		var out struct {
			Configuration struct{ ConfigurationArn string }
		}
		m.call("CreateMatchmakingConfiguration", object{"Name": mode, "RuleSetName": "squad", "RequestTimeoutSeconds": 600, "AcceptanceRequired": false,
			"GameSessionQueueArns": []string{queue.GameSessionQueue.GameSessionQueueArn}, "BackfillMode": mode}, &out)
		arns[mode] = out.Configuration.ConfigurationArn
	}
	return arns["MANUAL"], arns["AUTOMATIC"]
}

func (m *muster) enter(configuration, ticket string, players ...string) {
	m.t.Helper()
	in := object{"ConfigurationName": configuration, "TicketId": ticket}
	list := []object{}
	for _, p := range players {
		list = append(list, object{"PlayerId": p})
	}
	in["Players"] = list
	m.call("StartMatchmaking", in, nil)
}

// becomes polls a ticket until it has the given status.
func (m *muster) becomes(ticket, status string) {
	m.t.Helper()
	wait.For(m.t, "ticket "+ticket+" is "+status, func() error {
		var out struct{ TicketList []struct{ Status string } }
		m.call("DescribeMatchmaking", object{"TicketIds": []string{ticket}}, &out)
		if now := out.TicketList[0].Status; now != status {
			return fmt.Errorf("it is %s", now)
		}
		return nil
	})
}

// matchedSession is the SDK's model of a game session created for a match.
type matchedSession struct{ GameSessionId, MatchmakerData string }

func (g matchedSession) data(t *testing.T) (d matchmakerData) {
	t.Helper()
	if err := json.Unmarshal([]byte(g.MatchmakerData), &d); err != nil {
		t.Fatalf("matchmaker data %q: %v", g.MatchmakerData, err)
	}
	return d
}

// update is the SDK's model of an UpdateGameSession message.
type update struct {
	GameSession      matchedSession
	UpdateReason     json.RawMessage
	BackfillTicketID string `json:"BackfillTicketId"`
}

// TestMatchmaking: a game server is told its players, requests a backfill, gets more
// players, and stops the next backfill.
func TestMatchmaking(t *testing.T) {
	m := startMuster(t)
	fleetID, env := m.fleet()
	configuration, _ := m.matchmaker(fleetID)
	p := readyProbe(t, env)
	m.enter("MANUAL", "first", "ann", "bob")
	var told matchedSession
	p.event("start", &told)
	if d := told.data(t); d.Configuration != configuration || len(d.Teams) != 1 || len(d.Teams[0].Players) != 2 {
		t.Errorf("the SDK was told %s", told.MatchmakerData)
	}
	p.do(nil, "activate")
	m.becomes("first", "COMPLETED")

	var asked struct{ TicketId string }
	p.do(&asked, "backfill", told.GameSessionId, configuration, "ann:squad", "bob:squad")
	p.refused("is no team of the rule set", "backfill", told.GameSessionId, configuration, "ann:red")
	m.enter("MANUAL", "second", "cid")
	var now update
	p.event("update", &now)
	if d := now.GameSession.data(t); len(d.Teams[0].Players) != 3 || !strings.Contains(string(now.UpdateReason), "MATCHMAKING_DATA_UPDATED") {
		t.Errorf("after the backfill: %s because %s", now.GameSession.MatchmakerData, now.UpdateReason)
	}
	m.becomes("second", "COMPLETED")

	p.do(&asked, "backfill", told.GameSessionId, configuration, "ann:squad", "bob:squad", "cid:squad")
	p.do(nil, "stopbackfill", told.GameSessionId, configuration, asked.TicketId)
	p.event("update", &now)
	if now.BackfillTicketID != asked.TicketId || !strings.Contains(string(now.UpdateReason), "BACKFILL_CANCELLED") {
		t.Errorf("after the stop: %+v", now)
	}
	p.do(nil, "end")
}

// TestMatchmaking_Automatic: a game session is backfilled without a request.
func TestMatchmaking_Automatic(t *testing.T) {
	m := startMuster(t)
	fleetID, env := m.fleet()
	_, configuration := m.matchmaker(fleetID)
	p := readyProbe(t, env)
	m.enter("AUTOMATIC", "first", "ann", "bob")
	var told matchedSession
	p.event("start", &told)
	first := told.data(t).AutoTicket
	if !strings.HasPrefix(first, "auto-backfill-") {
		t.Fatalf("the SDK was told %s", told.MatchmakerData)
	}
	p.do(nil, "activate")
	m.becomes("first", "COMPLETED")
	m.enter("AUTOMATIC", "second", "cid")
	var now update
	p.event("update", &now)
	if next := now.GameSession.data(t).AutoTicket; next == "" || next == first {
		t.Errorf("after the backfill: %s", now.GameSession.MatchmakerData)
	}
	p.do(nil, "stopbackfill", told.GameSessionId, configuration, first) // any ticket of the game session's is accepted
	p.event("update", &now)
	if !strings.Contains(string(now.UpdateReason), "BACKFILL_CANCELLED") {
		t.Errorf("after the stop: %+v", now)
	}
	p.do(nil, "end")
}
