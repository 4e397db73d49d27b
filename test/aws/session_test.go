package aws

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

func TestCreate_Idempotent(t *testing.T) {
	b := setup(t)
	s := b.Server(t)
	token := func(in *gamelift.CreateGameSessionInput) { in.IdempotencyToken = aws.String("game-1") }
	g := b.active(t, s, 2, token)
	b.Server(t)
	if !strings.HasSuffix(*g.GameSessionId, "/game-1") {
		t.Errorf("the token is not the last part of %s", *g.GameSessionId)
	}
	again := node.Must(b.Create(t.Context(), 2, token))(t)
	if *again.GameSessionId != *g.GameSessionId || again.Status != types.GameSessionStatusActive {
		t.Errorf("the same request gives %s, %s", *again.GameSessionId, again.Status)
	}
	_, err := b.Create(t.Context(), 3, token)
	refused[*types.IdempotentParameterMismatchException](t, err, "game-1")
	if err := s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if over := node.Must(b.Create(t.Context(), 2, token))(t); over.Status != types.GameSessionStatusTerminated {
		t.Errorf("after its end the same request gives it %s", over.Status)
	}
}

func TestCreate_CreatorLimit(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	node.Must(b.Client.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{
		FleetId:                     &b.FleetID,
		ResourceCreationLimitPolicy: &types.ResourceCreationLimitPolicy{NewGameSessionsPerCreator: aws.Int32(1), PolicyPeriodInMinutes: aws.Int32(10)},
	}))(t)
	b.Server(t)
	b.Server(t)
	by := func(who string) func(*gamelift.CreateGameSessionInput) {
		return func(in *gamelift.CreateGameSessionInput) { in.CreatorId = &who }
	}
	node.Must(b.Create(ctx, 1, by("ana")))(t)
	_, err := b.Create(ctx, 1, by("ana"))
	refused[*types.LimitExceededException](t, err, "ana")
	_, err = b.Create(ctx, 1)
	refused[*types.InvalidRequestException](t, err, "CreatorId")
	node.Must(b.Create(ctx, 1, by("ben")))(t)
}

func TestUpdateGameSession(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	s := b.Server(t)
	g := b.active(t, s, 3, func(in *gamelift.CreateGameSessionInput) {
		in.GameProperties = []types.GameProperty{{Key: aws.String("map"), Value: aws.String("winter")}, {Key: aws.String("mode"), Value: aws.String("ctf")}}
	})
	b.reserve(t, g, "ana")
	b.reserve(t, g, "ben")
	_, err := c.UpdateGameSession(ctx, &gamelift.UpdateGameSessionInput{GameSessionId: g.GameSessionId, MaximumPlayerSessionCount: aws.Int32(1)})
	refused[*types.InvalidRequestException](t, err, "MaximumPlayerSessionCount")
	out := node.Must(c.UpdateGameSession(ctx, &gamelift.UpdateGameSessionInput{
		GameSessionId: g.GameSessionId, MaximumPlayerSessionCount: aws.Int32(4), Name: aws.String("renamed"),
		PlayerSessionCreationPolicy: types.PlayerSessionCreationPolicyDenyAll, ProtectionPolicy: types.ProtectionPolicyFullProtection,
		GameProperties: []types.GameProperty{{Key: aws.String("map"), Value: aws.String("summer")}, {Key: aws.String("laps"), Value: aws.String("3")}},
	}))(t).GameSession
	properties := map[string]string{}
	for _, p := range out.GameProperties {
		properties[*p.Key] = *p.Value
	}
	if *out.Name != "renamed" || *out.MaximumPlayerSessionCount != 4 || *out.CurrentPlayerSessionCount != 2 ||
		len(properties) != 3 || properties["map"] != "summer" || properties["mode"] != "ctf" || properties["laps"] != "3" {
		t.Errorf("updated %+v %v", *out, properties)
	}
	details := node.Must(c.DescribeGameSessionDetails(ctx, &gamelift.DescribeGameSessionDetailsInput{GameSessionId: g.GameSessionId}))(t).GameSessionDetails
	if len(details) != 1 || details[0].ProtectionPolicy != types.ProtectionPolicyFullProtection {
		t.Errorf("details %+v", details)
	}
	_, err = c.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("eve")})
	refused[*types.InvalidGameSessionStatusException](t, err, "DENY_ALL")
	if err := s.SetPolicy(ctx, *g.GameSessionId, "ACCEPT_ALL"); err != nil {
		t.Fatal(err)
	}
	b.reserve(t, g, "eve")
	if err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = c.UpdateGameSession(ctx, &gamelift.UpdateGameSessionInput{GameSessionId: g.GameSessionId, Name: aws.String("late")})
	refused[*types.InvalidGameSessionStatusException](t, err, "over")
}

func TestPlayerSessions(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	g := b.active(t, b.Server(t), 3)
	made := node.Must(c.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{
		GameSessionId: g.GameSessionId, PlayerIds: []string{"ana", "ben"}, PlayerDataMap: map[string]string{"ben": "blue", "nobody": "x"},
	}))(t).PlayerSessions
	if len(made) != 2 || *made[0].PlayerId != "ana" || made[0].PlayerData != nil || *made[1].PlayerData != "blue" {
		t.Errorf("made %+v", made)
	}
	_, err := c.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{GameSessionId: g.GameSessionId, PlayerIds: []string{"eve", "joe"}})
	refused[*types.GameSessionFullException](t, err, "1 free slot")
	_, err = c.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("ben")})
	refused[*types.InvalidRequestException](t, err, "ben") // with other player data than before
	if again := b.reserve(t, g, "ana"); *again.PlayerSessionId != *made[0].PlayerSessionId {
		t.Errorf("asked again, ana has %s", *again.PlayerSessionId)
	}
	b.reserve(t, g, "eve") // the refused pair left the slot free
	_, err = c.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("joe")})
	refused[*types.GameSessionFullException](t, err, "0 free slots")

	describe := func(in gamelift.DescribePlayerSessionsInput) []string {
		return names(node.Must(c.DescribePlayerSessions(ctx, &in))(t).PlayerSessions, "PlayerId")
	}
	for _, q := range []struct {
		in   gamelift.DescribePlayerSessionsInput
		want []string
	}{
		{gamelift.DescribePlayerSessionsInput{GameSessionId: g.GameSessionId}, []string{"ana", "ben", "eve"}},
		{gamelift.DescribePlayerSessionsInput{GameSessionId: g.GameSessionId, PlayerSessionStatusFilter: aws.String("ACTIVE")}, nil},
		{gamelift.DescribePlayerSessionsInput{PlayerId: aws.String("ben")}, []string{"ben"}},
		{gamelift.DescribePlayerSessionsInput{PlayerId: aws.String("nobody")}, nil},
		{gamelift.DescribePlayerSessionsInput{PlayerSessionId: made[0].PlayerSessionId}, []string{"ana"}},
		// The filter has no effect on these, nor pages on the last (API reference).
		{gamelift.DescribePlayerSessionsInput{PlayerId: aws.String("ben"), PlayerSessionStatusFilter: aws.String("COMPLETED")}, []string{"ben"}},
		{gamelift.DescribePlayerSessionsInput{PlayerSessionId: made[0].PlayerSessionId, PlayerSessionStatusFilter: aws.String("COMPLETED")}, []string{"ana"}},
		{gamelift.DescribePlayerSessionsInput{PlayerSessionId: made[0].PlayerSessionId, Limit: aws.Int32(1), NextToken: aws.String("x")}, []string{"ana"}},
	} {
		if got := describe(q.in); !slices.Equal(got, q.want) {
			t.Errorf("described %v, want %v", got, q.want)
		}
	}

	at := node.Must(c.GetPlayerConnectionDetails(ctx, &gamelift.GetPlayerConnectionDetailsInput{GameSessionId: g.GameSessionId, PlayerIds: []string{"ana"}}))(t)
	if len(at.PlayerConnectionDetails) != 1 || *at.PlayerConnectionDetails[0].PlayerId != "ana" {
		t.Errorf("connection details %+v", at.PlayerConnectionDetails)
	}
}

func TestSearch(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	for _, m := range []struct {
		name, level string
		slots       int32
	}{{"alpha", "10", 1}, {"beta", "9", 2}, {"it's", "3", 3}} {
		s := b.Server(t)
		g := b.active(t, s, m.slots, func(in *gamelift.CreateGameSessionInput) {
			in.Name = &m.name
			in.GameProperties = []types.GameProperty{{Key: aws.String("level"), Value: &m.level}}
		})
		b.reserve(t, g, "ana")
	}
	b.Server(t, manual)
	node.Must(b.Create(ctx, 1))(t) // ACTIVATING: never found
	for _, q := range []struct{ filter, sort, want string }{
		{"", "creationTimeMillis ASC", "alpha beta it's"},
		{"hasAvailablePlayerSessions=true", "maximumSessions DESC", "it's beta"},
		{"maximumSessions>=2 AND NOT gameSessionName='beta'", "", "it's"},
		{"gameSessionName = 'it\\'s' OR playerSessionCount > 5", "", "it's"},
		{"gameSessionProperties.level = '9'", "", "beta"},
		{"", "gameSessionProperties.level ASC", "alpha it's beta"}, // as text
		{"gameSessionProperties.none <> 'x'", "", ""},
	} {
		in := &gamelift.SearchGameSessionsInput{FleetId: &b.FleetID}
		if q.filter != "" {
			in.FilterExpression = &q.filter
		}
		if q.sort != "" {
			in.SortExpression = &q.sort
		}
		if got := strings.Join(names(node.Must(c.SearchGameSessions(ctx, in))(t).GameSessions, "Name"), " "); got != q.want {
			t.Errorf("search %q sorted by %q gives %q, want %q", q.filter, q.sort, got, q.want)
		}
	}
	for _, bad := range []string{"name = 'x'", "maximumSessions = 'x'", "gameSessionName < 'x'", "maximumSessions = 1 AND", "("} {
		_, err := c.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{FleetId: &b.FleetID, FilterExpression: &bad})
		refused[*types.InvalidRequestException](t, err, "")
	}
}
