package placement

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/placement/remote"
	"github.com/musterhq/muster/test/node"
)

// realm is a Muster with an account and a region of its own, and a place there.
type realm struct {
	region, account string
	url             string
	client          *gamelift.Client
	admin           client.Client // of its own API
	place           *node.Place
	config          remote.Config // as other Musters are told of it
}

// open creates the place of a realm, and the configuration by which others reach it at a
// URL.
func (r *realm) open(t *testing.T, at string) {
	t.Helper()
	r.place = node.NewPlace(t, r.client)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.config = remote.Config{
		Name: r.region, Region: r.region, Account: r.account, Endpoint: at, AccessKeyID: "AKIDANY", SecretFile: secret,
		Poll: time.Second, Timeout: 20 * time.Second,
	}
}

// inProcess returns a realm in this process that accepts any key.
func inProcess(t *testing.T, region, account string) *realm {
	t.Helper()
	a := node.InProcess(t, func(o *app.Options) { o.Region, o.Account = region, account })
	r := &realm{region: region, account: account, url: a.URL(), client: node.Client(a.URL())}
	r.open(t, a.URL())
	return r
}

// keyed returns a realm with its own keys: of the other Muster it knows a key of the role
// game-backend.
func keyed(t *testing.T, region, account string) *realm {
	t.Helper()
	dir := t.TempDir()
	a := node.InProcess(t, func(o *app.Options) { o.Region, o.Account, o.AcceptAny, o.DataDir = region, account, false, dir })
	id, secret := adminKey(t, dir)
	r := &realm{region: region, account: account, url: a.URL(), client: node.ClientAs(a.URL(), id, secret, func(o *gamelift.Options) { o.Region = region })}
	r.open(t, a.URL())
	r.grant(t, id, secret)
	return r
}

// adminKey returns the key that a Muster makes at its first start.
func adminKey(t *testing.T, dir string) (id, secret string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "admin-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		switch name {
		case "aws_access_key_id":
			id = value
		case "aws_secret_access_key":
			secret = value
		}
	}
	return id, secret
}

// grant makes a key of the role game-backend, which is what others know of the realm.
func (r *realm) grant(t *testing.T, id, secret string) {
	t.Helper()
	admin := client.Client{Endpoint: r.url, Credentials: client.Credentials{AccessKeyID: id, SecretAccessKey: secret}, Region: r.region}
	key, err := admin.Keys().Create(t.Context(), client.KeySpec{Name: "overflow", Role: "game-backend"})
	if err != nil {
		t.Fatal(err)
	}
	r.config.AccessKeyID = key.ID
	if err := os.WriteFile(r.config.SecretFile, []byte(key.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRemotes places across three deployments that know nothing of each other but the public
// API: the own one first, then by cost, then by latency. One of them has keys of its own.
func TestRemotes(t *testing.T) {
	near, far := inProcess(t, "eu-west-1", "222222222222"), keyed(t, "ap-south-1", "333333333333")
	near.config.PricePerHour, far.config.PricePerHour = 5, 2
	a := node.InProcess(t, func(o *app.Options) { o.Remotes = []remote.Config{near.config, far.config} })
	home := &realm{url: a.URL(), client: node.Client(a.URL())}
	home.place = node.NewPlace(t, home.client)
	h := &homeOf{T: t, realm: home, told: node.Follow(t, home.url)}
	h.everywhere(near, far)
	h.matched(near)
}

// everywhere places at home, near and far: the own one first, then by cost, then by latency.
func (h *homeOf) everywhere(near, far *realm) {
	h.Helper()
	t, home := h.T, h.realm
	_, err := home.client.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("nowhere"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: aws.String("arn:aws:gamelift:us-west-2:444444444444:fleet/fleet-1")}},
	})
	if err == nil || !strings.Contains(err.Error(), "NotFoundException") || !strings.Contains(err.Error(), "--remotes") {
		t.Errorf("a destination that nobody knows: %v", err)
	}
	h.queue("own", []string{h.aliasAt(near), far.place.FleetARN, home.place.FleetARN}, types.PriorityTypeCost)
	home.place.Server(t)
	if p := h.placed("own", "own", nil); !strings.Contains(*p.GameSessionArn, home.place.FleetID) { // nothing is free elsewhere
		t.Errorf("the first placement is at %s", *p.GameSessionArn)
	}
	// More than are taken, for what was sent may count twice until the next survey.
	for _, r := range []*realm{far, far, far, near, near, near, near, near, near} {
		r.place.Server(t)
	}
	// What is free behind these is first asked now, when every server is ready.
	nearARN, farARN := h.aliasAt(near), h.aliasAt(far)
	h.queue("cost", []string{nearARN, farARN, home.place.FleetARN}, types.PriorityTypeCost)
	h.queue("latency", []string{farARN, home.place.FleetARN, nearARN}, types.PriorityTypeLatency)
	h.queue("far", []string{farARN}, types.PriorityTypeDestination)
	h.queue("near", []string{nearARN}, types.PriorityTypeDestination)
	h.placed("far", "far", nil) // from now on it is known what is free there
	h.placed("near", "near", nil)
	if p := h.placed("cost", "cheaper", nil); !strings.Contains(*p.GameSessionArn, far.place.FleetID) { // 2 an hour, not 5
		t.Errorf("the placement by cost is at %s, want fleet %s", *p.GameSessionArn, far.place.FleetID)
	}
	home.place.Server(t)
	p := h.placed("latency", "close", map[string]float32{near.place.Location: 20, home.place.Location: 90})
	if !strings.Contains(*p.GameSessionArn, near.place.FleetID) {
		t.Errorf("the placement by latency is at %s", *p.GameSessionArn)
	}
	h.joins(near, p)
}

// aliasAt returns the ARN of a new alias that leads to the fleet of a realm.
func (h *homeOf) aliasAt(r *realm) string {
	h.Helper()
	alias, err := r.client.CreateAlias(h.Context(), &gamelift.CreateAliasInput{
		Name: aws.String("live"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &r.place.FleetID},
	})
	h.must(err)
	return *alias.Alias.AliasArn
}

// matched matches two players by a configuration whose queue leads to a remote first: their
// tickets say where they play, as if it were here.
func (h *homeOf) matched(at *realm) {
	h.Helper()
	ctx := h.Context()
	_, err := h.client.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("duel"), RuleSetBody: aws.String(
		`{"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 4}]}`)})
	h.must(err)
	queue := fmt.Sprintf("arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/%s", "latency")
	_, err = h.client.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("mm"), RuleSetName: aws.String("duel"), RequestTimeoutSeconds: aws.Int32(60), AcceptanceRequired: aws.Bool(false),
		GameSessionQueueArns: []string{queue}, BackfillMode: types.BackfillModeAutomatic,
	})
	h.must(err)
	for _, player := range []string{"cat", "dan"} {
		_, err := h.client.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{
			ConfigurationName: aws.String("mm"), TicketId: &player,
			Players: []types.Player{{PlayerId: &player, LatencyInMs: map[string]int32{at.place.Location: 10}}},
		})
		h.must(err)
	}
	h.told.Until(h, "the match is placed", func(e node.Event) bool { return e.Code == "PLACEMENT_FULFILLED" })
	found, err := h.client.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: []string{"cat", "dan"}})
	h.must(err)
	there := map[string]string{}
	if len(found.TicketList) != 2 {
		h.Fatalf("%d tickets", len(found.TicketList))
	}
	for _, ticket := range found.TicketList {
		if ticket.Status != types.MatchmakingConfigurationStatusCompleted || !strings.Contains(*ticket.GameSessionConnectionInfo.GameSessionArn, at.place.FleetID) {
			h.Fatalf("ticket %s is %s at %+v", *ticket.TicketId, ticket.Status, ticket.GameSessionConnectionInfo)
		}
		slots, err := at.client.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{GameSessionId: ticket.GameSessionConnectionInfo.GameSessionArn})
		h.must(err)
		for _, slot := range slots.PlayerSessions {
			there[*slot.PlayerId] = *slot.PlayerSessionId
		}
		for _, player := range ticket.GameSessionConnectionInfo.MatchedPlayerSessions {
			if there[*player.PlayerId] != *player.PlayerSessionId {
				h.Errorf("%s is told player session %s; the remote has %q", *player.PlayerId, *player.PlayerSessionId, there[*player.PlayerId])
			}
		}
		if n := len(ticket.GameSessionConnectionInfo.MatchedPlayerSessions); n != 1 {
			h.Errorf("ticket %s shows %d players", *ticket.TicketId, n)
		}
	}
}

// homeOf is the Muster whose queues lead elsewhere.
type homeOf struct {
	*testing.T
	*realm
	told *node.Events // nil: its event log is not followed
}

func (h *homeOf) must(err error) {
	if err != nil {
		h.Helper()
		h.Fatal(err)
	}
}

func (h *homeOf) queue(name string, to []string, first types.PriorityType) {
	h.Helper()
	in := &gamelift.CreateGameSessionQueueInput{Name: &name, PriorityConfiguration: &types.PriorityConfiguration{PriorityOrder: []types.PriorityType{first}}}
	for _, d := range to {
		in.Destinations = append(in.Destinations, types.GameSessionQueueDestination{DestinationArn: &d})
	}
	_, err := h.client.CreateGameSessionQueue(h.Context(), in)
	h.must(err)
}

// start starts a placement for ann and bob.
func (h *homeOf) start(queue, id string, latency map[string]float32) error {
	in := &gamelift.StartGameSessionPlacementInput{
		GameSessionQueueName: &queue, PlacementId: &id, MaximumPlayerSessionCount: aws.Int32(4),
		GameProperties:        []types.GameProperty{{Key: aws.String("map"), Value: aws.String("forest")}},
		DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("ann")}, {PlayerId: aws.String("bob")}},
	}
	for location, ms := range latency {
		in.PlayerLatencies = append(in.PlayerLatencies, types.PlayerLatency{PlayerId: aws.String("ann"), RegionIdentifier: &location, LatencyInMilliseconds: &ms})
	}
	_, err := h.client.StartGameSessionPlacement(h.Context(), in)
	return err
}

// placed starts a placement and returns it once it is FULFILLED.
func (h *homeOf) placed(queue, id string, latency map[string]float32) *types.GameSessionPlacement {
	h.Helper()
	h.must(h.start(queue, id, latency))
	if h.told == nil {
		return h.until(id, types.GameSessionPlacementStateFulfilled)
	}
	h.told.Until(h, id+" is placed", func(e node.Event) bool { return e.Code == "PLACEMENT_FULFILLED" && e.Resource == id })
	return h.describe(id)
}

// until waits for a status of a placement.
func (h *homeOf) until(id string, want types.GameSessionPlacementState) *types.GameSessionPlacement {
	h.Helper()
	// The server that is asked may be a new one, so there is no stream to wait for.
	return wait.Value(h, fmt.Sprintf("placement %s is %s", id, want), func() (*types.GameSessionPlacement, error) {
		p := h.describe(id)
		if p.Status != want {
			return nil, fmt.Errorf("it is %+v", p)
		}
		return p, nil
	})
}

func (h *homeOf) describe(id string) *types.GameSessionPlacement {
	h.Helper()
	out, err := h.client.DescribeGameSessionPlacement(h.Context(), &gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
	h.must(err)
	return out.GameSessionPlacement
}

// joins checks that a fulfilled placement says of the game session what its deployment does.
func (h *homeOf) joins(at *realm, p *types.GameSessionPlacement) {
	h.Helper()
	found, err := at.client.DescribeGameSessions(h.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: p.GameSessionArn})
	h.must(err)
	g := found.GameSessions[0]
	if g.Status != types.GameSessionStatusActive || *p.IpAddress != *g.IpAddress || *p.Port != *g.Port || *p.GameSessionRegion != *g.Location ||
		len(g.GameProperties) != 1 || *g.GameProperties[0].Value != "forest" || *g.MaximumPlayerSessionCount != 4 {
		h.Errorf("the placement says %+v, its game session %+v", p, g)
	}
	there, err := at.client.DescribePlayerSessions(h.Context(), &gamelift.DescribePlayerSessionsInput{GameSessionId: p.GameSessionArn})
	h.must(err)
	slots := map[string]string{}
	for _, s := range there.PlayerSessions {
		slots[*s.PlayerId] = *s.PlayerSessionId
	}
	if len(there.PlayerSessions) != 2 || len(p.PlacedPlayerSessions) != 2 {
		h.Errorf("%d slots are reserved for %d players", len(there.PlayerSessions), len(p.PlacedPlayerSessions))
	}
	for _, s := range p.PlacedPlayerSessions {
		if slots[*s.PlayerId] != *s.PlayerSessionId {
			h.Errorf("%s got player session %s, and has %s", *s.PlayerId, *s.PlayerSessionId, slots[*s.PlayerId])
		}
	}
}
