package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsgamelift "github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/filter"
	"github.com/musterhq/muster/sdk/session/gamelift"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// bench is a Muster with a fleet, and the library's client for it.
type bench struct {
	*node.Place
	client *gamelift.Client
	sent   *recorder
}

func newBench(t *testing.T) *bench {
	t.Helper()
	a := node.InProcess(t, nil)
	b := &bench{Place: node.NewPlace(t, node.Client(a.URL())), sent: &recorder{}}
	client := node.Must(gamelift.New(t.Context(), gamelift.Config{
		Endpoint: a.URL(), Region: "us-east-1", AWS: &aws.Config{},
		Credentials: credentials.NewStaticCredentialsProvider("AKIDANY", "secret", ""),
		OnSDK:       []func(*awsgamelift.Options){b.sent.use},
	}))(t)
	b.client = client
	t.Cleanup(func() { b.sent.check(t) })
	return b
}

// create creates a session with the library, as soon as a process is free.
func (b *bench) create(t *testing.T, r session.CreateRequest) session.Info {
	t.Helper()
	return wait.Value(t, "a process is free", func() (session.Info, error) {
		created, err := b.client.Create(t.Context(), r)
		switch {
		case errors.Is(err, session.ErrNoCapacity):
			return session.Info{}, err
		case err != nil:
			t.Fatal(err)
		}
		return *created.Session, nil
	})
}

func TestSession_CreateSearchJoin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.client.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Server(t, func(o *gameserver.Options) { o.Port = 7001 })
	b.Server(t, func(o *gameserver.Options) { o.Port = 7002 })
	at := session.Target{FleetID: b.FleetID, Location: b.Location}
	nasty := `Bob's "best" \ map' OR gameSessionName <> 'x`
	g := b.create(t, session.CreateRequest{Target: at, Name: nasty, CreatorID: "bob", Data: "level 3", MaxPlayers: 2,
		Properties: map[string]string{"mode": "brawl", "map": nasty}, IdempotencyToken: "once-1"})
	again, err := b.client.Create(t.Context(), session.CreateRequest{Target: at, Name: nasty, CreatorID: "bob", Data: "level 3", MaxPlayers: 2,
		Properties: map[string]string{"mode": "brawl", "map": nasty}, IdempotencyToken: "once-1"})
	if err != nil || again.Session.ID != g.ID || g.Properties["map"] != nasty || g.Data != "level 3" || g.CreatorID != "bob" {
		t.Errorf("the same token: got %+v, %v, want %s", again.Session, err, g.ID)
	}
	other := b.create(t, session.CreateRequest{Target: at, Name: "other", MaxPlayers: 2})
	b.join(t, g)
	b.join(t, other)
	b.search(t, at, g, other, nasty)
	if _, err := b.client.Create(t.Context(), session.CreateRequest{Target: at}); !errors.Is(err, session.ErrNoCapacity) {
		t.Errorf("no process left: got %v", err)
	}
	for name, r := range map[string]session.JoinRequest{
		"unknown": {SessionID: g.ID + "0", PlayerID: "x"}, "none": {SessionID: "nonsense", PlayerID: "x"},
	} {
		if _, err := b.client.Reserve(t.Context(), r); !errors.Is(err, session.ErrNotFound) && !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s session: got %v", name, err)
		}
	}
}

// join reserves a place in a session that may still be ACTIVATING.
func (b *bench) join(t *testing.T, g session.Info) {
	t.Helper()
	place := node.Must(b.client.Reserve(t.Context(), session.JoinRequest{SessionID: g.ID, PlayerID: "anna", PlayerData: "hat", WaitActive: time.Minute}))(t)
	left := time.Until(place.ReservedUntil)
	if place.Addr() != fmt.Sprintf("127.0.0.1:%d", g.Port) || place.PlayerSessionID == "" || left < 30*time.Second || left > 61*time.Second {
		t.Errorf("got place %+v in %+v", place, g)
	}
}

// search checks that sessions are found by each kind of attribute; a value that looks
// like an expression matches only that text.
func (b *bench) search(t *testing.T, at session.Target, g, other session.Info, nasty string) {
	t.Helper()
	cases := []struct {
		what string
		e    filter.Expr
		want []string
	}{
		{"all", filter.Expr{}, []string{g.ID, other.ID}},
		{"name", filter.Name(filter.Eq, nasty), []string{g.ID}},
		{"other name", filter.Name(filter.Ne, nasty), []string{other.ID}},
		{"property", filter.Property("map", filter.Eq, nasty), []string{g.ID}},
		{"id", filter.ID(filter.Eq, other.ID), []string{other.ID}},
		{"numbers", filter.And(filter.Players(filter.Eq, 1), filter.MaxPlayers(filter.Ge, 2), filter.HasRoom(true)), []string{g.ID, other.ID}},
		{"times", filter.Created(filter.Gt, time.Now().Add(time.Hour)), nil},
		{"either", filter.And(filter.HasRoom(true), filter.Or(filter.Name(filter.Eq, "none"), filter.Property("mode", filter.Eq, "brawl"))), []string{g.ID}},
		{"not", filter.Not(filter.Or(filter.Name(filter.Eq, nasty), filter.HasRoom(false))), []string{other.ID}},
	}
	for _, c := range cases {
		text := node.Must(filter.Write(c.e))(t)
		r := session.SearchRequest{Target: at, Filter: text, Sort: filter.ByName(filter.Ascending), PageSize: 1}
		var got []string
		for info, err := range b.client.Search(t.Context(), r) {
			if err != nil {
				t.Fatalf("%s: %s: %v", c.what, text, err)
			}
			got = append(got, info.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s: found %q, want %q", c.what, text, got, c.want)
		}
	}
}

func TestSession_PlaceOnQueue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	queue := "queue-" + uuid.NewString()
	node.Must(b.Client.CreateGameSessionQueue(t.Context(), &awsgamelift.CreateGameSessionQueueInput{
		Name: &queue, TimeoutInSeconds: aws.Int32(600),
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: &b.FleetARN}},
	}))(t)
	r := session.CreateRequest{
		Target: session.Target{QueueName: queue, FleetID: "fleet-not-looked-at"}, Name: "placed", MaxPlayers: 4, PlacementID: "place-1",
		Players:    []session.NewPlayer{{PlayerID: "anna", Data: "hat"}, {PlayerID: "ben"}},
		Latency:    map[string]map[string]time.Duration{"anna": {b.Location: 20 * time.Millisecond}, "ben": {b.Location: 30 * time.Millisecond}},
		Properties: map[string]string{"mode": "duel"}, Data: "level",
	}
	created, err := b.client.Create(t.Context(), r)
	if err != nil || created.PlacementID != "place-1" || created.Session != nil {
		t.Fatalf("got %+v, %v", created, err)
	}
	b.Server(t)
	p, err := b.client.WaitPlacement(t.Context(), "place-1")
	if err != nil || p.Status != session.PlacementFulfilled || len(p.Connections) != 2 ||
		p.Connections["anna"].Addr() != "127.0.0.1:7777" || !strings.HasPrefix(p.Connections["ben"].PlayerSessionID, "psess-") {
		t.Fatalf("got %+v, %v", p, err)
	}
	if err := b.client.CancelPlacement(t.Context(), "place-1"); err != nil {
		t.Errorf("cancel a placement that is over: %v", err)
	}
	if _, err := b.client.Reserve(t.Context(), session.JoinRequest{SessionID: p.SessionID, PlayerID: "cleo", WaitActive: time.Minute}); err != nil {
		t.Error(err)
	}
	var found []string
	for info, err := range b.client.Search(t.Context(), session.SearchRequest{Target: session.Target{QueueName: queue}}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, info.ID)
	}
	if !slices.Equal(found, []string{p.SessionID}) {
		t.Errorf("searching the queue found %q, want %q", found, p.SessionID)
	}
	b.cancel(t, queue)
}

// cancel cancels a placement that finds no process.
func (b *bench) cancel(t *testing.T, queue string) {
	t.Helper()
	created := node.Must(b.client.Create(t.Context(), session.CreateRequest{Target: session.Target{QueueName: queue}, MaxPlayers: 1}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.client.WaitPlacement(ctx, created.PlacementID); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for too little: got %v", err)
	}
	if err := b.client.CancelPlacement(t.Context(), created.PlacementID); err != nil {
		t.Error(err)
	}
	_, err := b.client.WaitPlacement(t.Context(), created.PlacementID)
	ended, ok := errors.AsType[*session.PlacementError](err)
	if !ok || ended.Placement.Status != session.PlacementCancelled {
		t.Errorf("got %v, want the placement CANCELLED", err)
	}
	if _, err := b.client.WaitPlacement(t.Context(), "never-started"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("unknown placement: got %v", err)
	}
}

func TestSession_AliasAndItsEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Server(t)
	alias := node.Must(b.Client.CreateAlias(t.Context(), &awsgamelift.CreateAliasInput{Name: aws.String("live"),
		RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &b.FleetID}}))(t)
	at := session.Target{AliasID: *alias.Alias.AliasId, Location: b.Location}
	g := b.create(t, session.CreateRequest{Target: at, MaxPlayers: 1})
	if g.FleetID != b.FleetID {
		t.Errorf("got %+v", g)
	}
	if _, err := b.client.Reserve(t.Context(), session.JoinRequest{SessionID: g.ID, PlayerID: "anna", WaitActive: time.Minute}); err != nil {
		t.Error(err)
	}
	if _, err := b.client.Reserve(t.Context(), session.JoinRequest{SessionID: g.ID, PlayerID: "ben"}); !errors.Is(err, session.ErrFull) {
		t.Errorf("full: got %v", err)
	}
	node.Must(b.Client.UpdateAlias(t.Context(), &awsgamelift.UpdateAliasInput{AliasId: alias.Alias.AliasId,
		RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal, Message: aws.String("the servers are closed")}}))(t)
	_, err := b.client.Create(t.Context(), session.CreateRequest{Target: at, MaxPlayers: 1})
	if closed, ok := errors.AsType[*session.TerminalAliasError](err); !ok || closed.Message != "the servers are closed" {
		t.Errorf("closed alias: got %v", err)
	}
}

// The members that the library sends are listed here, so that a change is noticed.
func TestSession_SendsWhatIsDocumented(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	every := session.CreateRequest{Name: "n", Data: "d", Properties: map[string]string{"k": "v"}, MaxPlayers: 1}
	fleet, queue, ordered := every, every, every
	fleet.Target, fleet.CreatorID, fleet.IdempotencyToken = session.Target{FleetID: b.FleetID, Location: b.Location}, "c", "t"
	queue.Target, queue.PlacementID, queue.Players = session.Target{QueueName: "q"}, "p", []session.NewPlayer{{PlayerID: "a", Data: "d"}}
	queue.Latency = map[string]map[string]time.Duration{"a": {b.Location: 1}}
	ordered.Target, ordered.LocationOrder, ordered.NoFallback = queue.Target, []string{b.Location}, true
	b.client.Create(ctx, fleet)
	b.client.Create(ctx, queue)
	b.client.Create(ctx, ordered)
	b.client.WaitPlacement(ctx, "p")
	b.client.CancelPlacement(ctx, "p")
	b.client.SearchPage(ctx, session.SearchRequest{Target: fleet.Target, Filter: "maximumSessions>1", Sort: "gameSessionName ASC"})
	b.client.Describe(ctx, "g")
	b.client.Reserve(ctx, session.JoinRequest{SessionID: "g", PlayerID: "p", PlayerData: "d"})
	b.client.StartMatchmaking(ctx, session.MatchRequest{Configuration: "c", Players: []session.Player{{ID: "a",
		Attributes: map[string]session.Attribute{"s": session.String("x"), "n": session.Number(1), "l": session.StringList("x"),
			"m": session.StringNumberMap(map[string]float64{"k": 1})}, Latency: map[string]time.Duration{b.Location: 1}}}})
	b.client.AcceptMatch(ctx, "t", true, "a")
	b.client.DescribeTickets(ctx, "t")
	b.client.StopMatchmaking(ctx, "t")
	want := map[string][]string{
		"CreateGameSession":            {"CreatorId", "FleetId", "GameProperties", "GameSessionData", "IdempotencyToken", "Location", "MaximumPlayerSessionCount", "Name"},
		"StartGameSessionPlacement":    {"DesiredPlayerSessions", "GameProperties", "GameSessionData", "GameSessionName", "GameSessionQueueName", "MaximumPlayerSessionCount", "PlacementId", "PlayerLatencies", "PriorityConfigurationOverride"},
		"DescribeGameSessionPlacement": {"PlacementId"},
		"StopGameSessionPlacement":     {"PlacementId"},
		"SearchGameSessions":           {"FilterExpression", "FleetId", "Limit", "Location", "SortExpression"},
		"DescribeGameSessions":         {"GameSessionId"},
		"CreatePlayerSession":          {"GameSessionId", "PlayerData", "PlayerId"},
		"StartMatchmaking":             {"ConfigurationName", "Players", "TicketId"},
		"AcceptMatch":                  {"AcceptanceType", "PlayerIds", "TicketId"},
		"DescribeMatchmaking":          {"TicketIds"},
		"StopMatchmaking":              {"TicketId"},
	}
	got := b.sent.sent()
	for operation, members := range want {
		if !slices.Equal(got[operation], members) {
			t.Errorf("%s: sent %q, want %q", operation, got[operation], members)
		}
	}
	if len(got) != len(want) {
		t.Errorf("sent %d operations, want %d", len(got), len(want))
	}
}
