package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// signing returns AWS's client that signs for a region.
func signing(url, region string) *gamelift.Client {
	return node.Client(url, func(o *gamelift.Options) { o.Region = region })
}

// regionsOf opens a place in each region of a deployment at a URL, the home region's first.
func regionsOf(t *testing.T, url string, names []string) (all []*realm) {
	t.Helper()
	for _, name := range names {
		r := &realm{region: name, account: app.DefaultAccount, url: url, client: signing(url, name)}
		r.place = node.NewPlace(t, r.client)
		all = append(all, r)
	}
	return all
}

var threeRegions = []string{"us-east-1", "eu-central-1", "ap-northeast-1"}

// TestRegions places in the regions of one deployment, by queues of each of them: nothing says
// how a region is reached. A game session is of its own region, has what was asked for, and its
// id ends with that of the placement.
func TestRegions(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{threeRegions[:2], threeRegions} {
		t.Run(fmt.Sprint(len(names)), func(t *testing.T) {
			t.Parallel()
			a := node.InProcess(t, func(o *app.Options) { o.Regions = names })
			all := regionsOf(t, a.URL(), names)
			for _, r := range all {
				h := &homeOf{T: t, realm: r}
				var destinations []string
				for _, other := range all {
					destinations = append(destinations, h.aliasAt(other))
				}
				h.queue("everywhere", destinations, types.PriorityTypeLatency)
				for i, there := range all {
					latency := map[string]float32{there.place.Location: 10}
					for _, other := range all {
						if other != there {
							latency[other.place.Location] = 200
						}
					}
					there.place.Server(t)
					id := fmt.Sprintf("p-%s-%d", r.region, i)
					p := h.placed("everywhere", id, latency)
					if want := "arn:aws:gamelift:" + there.region + "::gamesession/" + there.place.FleetID + "/" + there.place.Location + "/" + id; *p.GameSessionArn != want {
						t.Errorf("the game session of %s is %s, want %s", id, *p.GameSessionArn, want)
					}
					h.joins(there, p)
				}
			}
		})
	}
}

// TestRegions_Missing creates queues whose destinations are of the deployment and do not exist.
func TestRegions_Missing(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, func(o *app.Options) { o.Regions = threeRegions[:2] })
	home := signing(a.URL(), threeRegions[0])
	for destination, want := range map[string]string{
		"arn:aws:gamelift:eu-central-1:000000000000:fleet/fleet-none": "does not exist in region eu-central-1",
		"arn:aws:gamelift:eu-central-1::alias/alias-none":             "does not exist in region eu-central-1",
		"arn:aws:gamelift:eu-west-1:000000000000:fleet/fleet-1":       "--remotes names no deployment",
	} {
		_, err := home.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
			Name: aws.String("q"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: &destination}},
		})
		if err == nil || !strings.Contains(err.Error(), "NotFoundException") || !strings.Contains(err.Error(), want) {
			t.Errorf("destination %s: %v", destination, err)
		}
	}
	_, err := home.CreateMatchmakingRuleSet(t.Context(), &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("duel"), RuleSetBody: aws.String(
		`{"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 4}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = home.CreateMatchmakingConfiguration(t.Context(), &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("mm"), RuleSetName: aws.String("duel"), RequestTimeoutSeconds: aws.Int32(60), AcceptanceRequired: aws.Bool(false),
		GameSessionQueueArns: []string{"arn:aws:gamelift:eu-central-1:000000000000:gamesessionqueue/q"},
	})
	if err == nil || !strings.Contains(err.Error(), "NotFoundException") || !strings.Contains(err.Error(), "its destinations may be in every region") {
		t.Errorf("a configuration with a queue of another region: %v", err)
	}
}

// TestRegions_Filter allows locations of one region only, and prefers locations, by the queue and
// by a request.
func TestRegions_Filter(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, func(o *app.Options) { o.Regions = threeRegions })
	all := regionsOf(t, a.URL(), threeRegions)
	h := &homeOf{T: t, realm: all[0]}
	var destinations []types.GameSessionQueueDestination
	for _, r := range all {
		destinations = append(destinations, types.GameSessionQueueDestination{DestinationArn: &r.place.FleetARN})
		for range 3 {
			r.place.Server(t)
		}
	}
	at := func(i int) string { return all[i].place.Location }
	for name, in := range map[string]gamelift.CreateGameSessionQueueInput{
		"allowed": {FilterConfiguration: &types.FilterConfiguration{AllowedLocations: []string{at(2)}}},
		"ordered": {PriorityConfiguration: &types.PriorityConfiguration{PriorityOrder: []types.PriorityType{types.PriorityTypeLocation}, LocationOrder: []string{at(1), at(2), at(0)}}},
	} {
		in.Name, in.Destinations = &name, destinations
		_, err := h.client.CreateGameSessionQueue(t.Context(), &in)
		h.must(err)
	}
	for id, want := range map[string]int{"allowed": 2, "ordered": 1} {
		if p := h.placed(id, id, nil); *p.GameSessionRegion != at(want) {
			t.Errorf("the placement of queue %s is in %s, want %s", id, *p.GameSessionRegion, at(want))
		}
	}
	_, err := h.client.StartGameSessionPlacement(t.Context(), &gamelift.StartGameSessionPlacementInput{
		GameSessionQueueName: aws.String("ordered"), PlacementId: aws.String("override"), MaximumPlayerSessionCount: aws.Int32(2),
		PriorityConfigurationOverride: &types.PriorityConfigurationOverride{LocationOrder: []string{at(2)}},
	})
	h.must(err)
	if p := h.until("override", types.GameSessionPlacementStateFulfilled); *p.GameSessionRegion != at(2) {
		t.Errorf("the placement with an override is in %s, want %s", *p.GameSessionRegion, at(2))
	}
}

// TestRegions_Matched matches players into the region that is nearest to both. The game session
// has the matchmaker data, and the tickets its address.
func TestRegions_Matched(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, func(o *app.Options) { o.Regions = threeRegions[:2] })
	all := regionsOf(t, a.URL(), threeRegions[:2])
	h := &homeOf{T: t, realm: all[0], told: node.Follow(t, a.URL())}
	h.queue("latency", []string{all[0].place.FleetARN, all[1].place.FleetARN}, types.PriorityTypeLatency)
	for _, r := range all {
		r.place.Server(t)
	}
	h.matched(all[1])
	found, err := h.client.DescribeMatchmaking(t.Context(), &gamelift.DescribeMatchmakingInput{TicketIds: []string{"cat"}})
	h.must(err)
	id := found.TicketList[0].GameSessionConnectionInfo.GameSessionArn
	games, err := all[1].client.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: id})
	h.must(err)
	if data := aws.ToString(games.GameSessions[0].MatchmakerData); !strings.Contains(data, `"cat"`) || !strings.Contains(data, "matchmakingconfiguration/mm") {
		t.Errorf("the matchmaker data of %s are %q", *id, data)
	}
	if !strings.HasPrefix(*id, "arn:aws:gamelift:eu-central-1::gamesession/") {
		t.Errorf("the game session is %s", *id)
	}
}

// TestRegions_SameID starts placements with one id in two regions, which get game sessions of
// their own on one fleet; what one of them stops is not the other's.
func TestRegions_SameID(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, func(o *app.Options) { o.Regions = threeRegions })
	all := regionsOf(t, a.URL(), threeRegions)
	target := all[1]
	for range 3 {
		target.place.Server(t)
	}
	games := map[string]string{}
	for _, r := range all {
		h := &homeOf{T: t, realm: r}
		h.queue("q", []string{target.place.FleetARN}, types.PriorityTypeDestination)
		p := h.placed("q", "same", nil)
		if other, taken := games[*p.GameSessionArn]; taken {
			t.Errorf("%s and %s got the game session %s", r.region, other, *p.GameSessionArn)
		}
		games[*p.GameSessionArn] = r.region
		h.joins(target, p)
	}
}

// draw is a random set of regions with game servers, a queue over all of them, and latencies.
type draw struct {
	*homeOf
	all     []*realm
	free    []int     // game servers by region
	latency []float32 // of the player, by region
	allowed []bool    // by the queue's filter
	limit   int32     // of the queue's only latency policy
}

// may reports whether the rules allow a region.
func (w *draw) may(i int) bool { return w.allowed[i] && w.latency[i] <= float32(w.limit) }

// TestRegions_Random states what holds for any regions, game servers and rules: a placement is
// never where the filter or a latency policy forbids it, and as many are fulfilled as there are
// free processes where they may be.
func TestRegions_Random(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 11))
			names := threeRegions[:2+random.IntN(2)]
			a := node.InProcess(t, func(o *app.Options) { o.Regions = names })
			all := regionsOf(t, a.URL(), names)
			w := &draw{homeOf: &homeOf{T: t, realm: all[random.IntN(len(all))]}, all: all, limit: 100}
			room := 0
			for i := range all {
				w.free = append(w.free, random.IntN(3))
				w.latency = append(w.latency, float32(random.IntN(160)))
				w.allowed = append(w.allowed, random.IntN(4) > 0)
				for range w.free[i] {
					all[i].place.Server(t)
				}
				if w.may(i) {
					room += w.free[i]
				}
			}
			w.open(random)
			w.place(room)
		})
	}
}

// open creates the queue, with its destinations in a random order.
func (w *draw) open(random *rand.Rand) {
	w.Helper()
	in := &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("q"), PlayerLatencyPolicies: []types.PlayerLatencyPolicy{{MaximumIndividualPlayerLatencyMilliseconds: &w.limit}},
		FilterConfiguration: &types.FilterConfiguration{AllowedLocations: []string{w.realm.region}}, // not empty: that allows all
	}
	for _, i := range random.Perm(len(w.all)) {
		in.Destinations = append(in.Destinations, types.GameSessionQueueDestination{DestinationArn: &w.all[i].place.FleetARN})
		if w.allowed[i] {
			in.FilterConfiguration.AllowedLocations = append(in.FilterConfiguration.AllowedLocations, w.all[i].place.Location)
		}
	}
	_, err := w.client.CreateGameSessionQueue(w.Context(), in)
	w.must(err)
}

// place starts one placement more than there is room for.
func (w *draw) place(room int) {
	w.Helper()
	latency := map[string]float32{}
	for i, r := range w.all {
		latency[r.place.Location] = w.latency[i]
	}
	ids := make([]string, room+1)
	for i := range ids {
		ids[i] = fmt.Sprint("p-", i)
		w.must(w.start("q", ids[i], latency))
	}
	placed := wait.Value(w, fmt.Sprintf("%d placements are fulfilled, with free %v, latencies %v and allowed %v", room, w.free, w.latency, w.allowed), func() ([]int, error) {
		var at []int
		for _, id := range ids {
			p := w.describe(id)
			switch p.Status {
			case types.GameSessionPlacementStateFulfilled:
				at = append(at, slices.IndexFunc(w.all, func(r *realm) bool { return r.place.Location == *p.GameSessionRegion }))
			case types.GameSessionPlacementStatePending:
			default:
				return nil, fmt.Errorf("%s is %s", id, p.Status)
			}
		}
		if len(at) < room {
			return nil, fmt.Errorf("%d are", len(at))
		}
		return at, nil
	})
	if len(placed) > room {
		w.Errorf("%d placements have game sessions on %d processes", len(placed), room)
	}
	used := make([]int, len(w.all))
	for _, i := range placed {
		if used[i]++; !w.may(i) || used[i] > w.free[i] {
			w.Errorf("%d placements are in %s: free %v, latencies %v, allowed %v", used[i], w.all[i].region, w.free, w.latency, w.allowed)
		}
	}
}
