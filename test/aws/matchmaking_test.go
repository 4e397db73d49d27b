package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// duel matches one against one, at most ten points of skill apart until a second has
// passed.
const duel = `{
	"ruleLanguageVersion": "1.0",
	"playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
	"teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 1}, {"name": "blue", "minPlayers": 1, "maxPlayers": 1}],
	"rules": [{"name": "fair", "type": "distance", "maxDistance": 10,
		"measurements": ["max(flatten(teams[*].players.attributes[skill]))"],
		"referenceValue": "min(flatten(teams[*].players.attributes[skill]))"}],
	"expansions": [{"target": "rules[fair].maxDistance", "steps": [{"waitTimeSeconds": 1, "value": 1000}]}]
}`

// matchmaker creates a queue to the bundle's fleet, a rule set and a configuration,
// whose ARN it returns.
func (b bundle) matchmaker(t *testing.T, change func(*gamelift.CreateMatchmakingConfigurationInput)) string {
	t.Helper()
	ctx := t.Context()
	queue := b.queue(t)
	node.Must(b.Client.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("duel"), RuleSetBody: aws.String(duel)}))(t)
	in := &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("mm"), RuleSetName: aws.String("duel"), RequestTimeoutSeconds: aws.Int32(60), AcceptanceRequired: aws.Bool(false),
		GameSessionQueueArns: []string{*queue.GameSessionQueueArn},
	}
	change(in)
	made := node.Must(b.Client.CreateMatchmakingConfiguration(ctx, in))(t)
	return *made.Configuration.ConfigurationArn
}

// enter starts a ticket for a player with the given skill.
func (b bundle) enter(t *testing.T, id string, skill float64) {
	t.Helper()
	out := node.Must(b.Client.StartMatchmaking(t.Context(), &gamelift.StartMatchmakingInput{
		ConfigurationName: aws.String("mm"), TicketId: &id,
		Players: []types.Player{{PlayerId: aws.String("player-" + id), PlayerAttributes: map[string]types.AttributeValue{
			"skill": {N: &skill},
		}}},
	}))(t)
	if got := out.MatchmakingTicket.Status; got != types.MatchmakingConfigurationStatusQueued {
		t.Errorf("a new ticket is %s", got)
	}
}

// become waits until all tickets have a status, and returns them.
func (b bundle) become(t *testing.T, status types.MatchmakingConfigurationStatus, ids ...string) (tickets []types.MatchmakingTicket) {
	t.Helper()
	b.events.Until(t, fmt.Sprintf("%v being %s", ids, status), func(node.Event) bool {
		tickets = node.Must(b.Client.DescribeMatchmaking(t.Context(), &gamelift.DescribeMatchmakingInput{TicketIds: ids}))(t).TicketList
		return len(tickets) == len(ids) && !slices.ContainsFunc(tickets, func(x types.MatchmakingTicket) bool { return x.Status != status })
	})
	return tickets
}

// Two players are matched, accept, and play in a game session whose server is told the
// players of each team.
func TestMatchmaking(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	s := b.Server(t)
	arn := b.matchmaker(t, func(in *gamelift.CreateMatchmakingConfigurationInput) {
		in.AcceptanceRequired, in.AcceptanceTimeoutSeconds = aws.Bool(true), aws.Int32(60)
	})
	b.enter(t, "a", 10)
	b.enter(t, "b", 15)
	b.become(t, types.MatchmakingConfigurationStatusRequiresAcceptance, "a", "b")
	accept := func(id, player string) error {
		_, err := b.Client.AcceptMatch(ctx, &gamelift.AcceptMatchInput{TicketId: &id, PlayerIds: []string{player}, AcceptanceType: types.AcceptanceTypeAccept})
		return err
	}
	refused[*types.InvalidRequestException](t, accept("a", "player-b"), "is not in ticket a")
	for _, id := range []string{"a", "b"} {
		if err := accept(id, "player-"+id); err != nil {
			t.Fatal(err)
		}
	}
	start := receive(t, s.Started())
	done := b.become(t, types.MatchmakingConfigurationStatusCompleted, "a", "b")
	for _, x := range done {
		at := x.GameSessionConnectionInfo
		if *at.GameSessionArn != start.GameSessionID || *at.IpAddress != "127.0.0.1" || *at.Port == 0 || len(at.MatchedPlayerSessions) != 1 ||
			x.EndTime == nil || *x.ConfigurationArn != arn || aws.ToString(x.Players[0].Team) == "" {
			t.Errorf("ticket: %+v at %+v", x, at)
		}
		if err := s.Accept(ctx, start.GameSessionID, *at.MatchedPlayerSessions[0].PlayerSessionId); err != nil {
			t.Errorf("the server refuses %s: %v", *x.Players[0].PlayerId, err)
		}
	}
	if !strings.Contains(start.MatchmakerData, `"matchmakingConfigurationArn":"`+arn+`"`) || !strings.Contains(start.MatchmakerData, `"skill":{"attributeType":"DOUBLE","valueAttribute":15.0}`) {
		t.Errorf("matchmaker data: %s", start.MatchmakerData)
	}
	_, err := b.Client.StopMatchmaking(ctx, &gamelift.StopMatchmakingInput{TicketId: aws.String("a")})
	refused[*types.InvalidRequestException](t, err, "cannot be canceled")
}

// The ticket of a player who rejects is cancelled; the other, who has not answered yet, searches on.
func TestMatchmaking_Rejected(t *testing.T) {
	b := setup(t)
	b.matchmaker(t, func(in *gamelift.CreateMatchmakingConfigurationInput) {
		in.AcceptanceRequired, in.AcceptanceTimeoutSeconds = aws.Bool(true), aws.Int32(60)
	})
	b.enter(t, "a", 10)
	b.enter(t, "b", 15)
	b.become(t, types.MatchmakingConfigurationStatusRequiresAcceptance, "a", "b")
	node.Must(b.Client.AcceptMatch(t.Context(), &gamelift.AcceptMatchInput{
		TicketId: aws.String("b"), PlayerIds: []string{"player-b"}, AcceptanceType: types.AcceptanceTypeReject,
	}))(t)
	b.become(t, types.MatchmakingConfigurationStatusSearching, "a")
	b.become(t, types.MatchmakingConfigurationStatusCancelled, "b")
	node.Must(b.Client.StopMatchmaking(t.Context(), &gamelift.StopMatchmakingInput{TicketId: aws.String("a")}))(t)
	b.become(t, types.MatchmakingConfigurationStatusCancelled, "a")
}

// Configurations and rule sets are described, changed and deleted.
func TestMatchmaking_Resources(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	arn := b.matchmaker(t, func(in *gamelift.CreateMatchmakingConfigurationInput) {
		in.Tags = []types.Tag{{Key: aws.String("team"), Value: aws.String("red")}}
	})
	tags := node.Must(b.Client.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: &arn}))(t)
	if len(tags.Tags) != 1 {
		t.Errorf("tags: %v", tags.Tags)
	}
	node.Must(b.Client.ValidateMatchmakingRuleSet(ctx, &gamelift.ValidateMatchmakingRuleSetInput{RuleSetBody: aws.String(duel)}))(t)
	b.enter(t, "a", 1)
	_, err := b.Client.DeleteMatchmakingConfiguration(ctx, &gamelift.DeleteMatchmakingConfigurationInput{Name: aws.String("mm")})
	refused[*types.InvalidRequestException](t, err, "has active tickets")
	node.Must(b.Client.StopMatchmaking(ctx, &gamelift.StopMatchmakingInput{TicketId: aws.String("a")}))(t)
	changed := node.Must(b.Client.UpdateMatchmakingConfiguration(ctx, &gamelift.UpdateMatchmakingConfigurationInput{Name: &arn, RequestTimeoutSeconds: aws.Int32(9)}))(t)
	if got := *changed.Configuration.RequestTimeoutSeconds; got != 9 {
		t.Errorf("RequestTimeoutSeconds is %d", got)
	}
	of := node.Must(b.Client.DescribeMatchmakingConfigurations(ctx, &gamelift.DescribeMatchmakingConfigurationsInput{RuleSetName: aws.String("duel")}))(t)
	if len(of.Configurations) != 1 {
		t.Errorf("%d configurations use the rule set", len(of.Configurations))
	}
	node.Must(b.Client.DeleteMatchmakingConfiguration(ctx, &gamelift.DeleteMatchmakingConfigurationInput{Name: aws.String("mm")}))(t)
	node.Must(b.Client.DeleteMatchmakingRuleSet(ctx, &gamelift.DeleteMatchmakingRuleSetInput{Name: aws.String("duel")}))(t)
	_, err = b.Client.DescribeMatchmakingRuleSets(ctx, &gamelift.DescribeMatchmakingRuleSetsInput{Names: []string{"duel"}})
	refused[*types.NotFoundException](t, err, "does not exist")
}

// A backfill as AWS's C# SDK was recorded to send it, byte for byte through the
// WebSocket, starts a ticket with all that it says of the players.
func TestBackfill_CSharp(t *testing.T) {
	b := setup(t)
	arn := b.matchmaker(t, func(*gamelift.CreateMatchmakingConfigurationInput) {})
	s := b.Server(t)
	b.enter(t, "a", 1)
	b.enter(t, "b", 2)
	matched := b.become(t, types.MatchmakingConfigurationStatusCompleted, "a", "b")
	player := *matched[0].GameSessionConnectionInfo.MatchedPlayerSessions[0].PlayerId
	frame := `{"GameSessionArn":"` + *matched[0].GameSessionConnectionInfo.GameSessionArn + `","MatchmakingConfigurationArn":"` + arn + `","TicketId":"from-csharp",` +
		`"Players":[{"PlayerId":"` + player + `","PlayerAttributes":{"skill":{"attrType":"DOUBLE","S":null,"N":10.0,"SL":null,"SDM":null}},"Team":"red","LatencyInMS":{"us-east-1":20}}],` +
		`"Action":"StartMatchBackfill","RequestId":"r-1"}`
	answer := node.Must(s.Frame(t.Context(), "r-1", []byte(frame)))(t)
	if !strings.Contains(string(answer), `"TicketId":"from-csharp"`) {
		t.Errorf("the answer is %s", answer)
	}
	tickets := node.Must(b.Client.DescribeMatchmaking(t.Context(), &gamelift.DescribeMatchmakingInput{TicketIds: []string{"from-csharp"}}))(t).TicketList
	if len(tickets) != 1 || len(tickets[0].Players) != 1 {
		t.Fatalf("the ticket is %+v", tickets)
	}
	p := tickets[0].Players[0]
	skill := p.PlayerAttributes["skill"]
	if *p.PlayerId != player || aws.ToString(p.Team) != "red" || skill.N == nil || *skill.N != 10 || skill.S != nil || p.LatencyInMs["us-east-1"] != 20 {
		t.Errorf("the player is %+v with the skill %+v", p, skill)
	}
}
