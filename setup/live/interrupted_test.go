package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
	"github.com/musterhq/muster/test/node"
)

// game is a fleet with its canary: an alias and two queues lead to them. Anywhere fleets stand
// for those of builds, which need machines.
type game struct {
	*testing.T
	*Server
	url       string
	old, next string // ids
}

func newGame(t *testing.T, url string) *game {
	g := &game{T: t, url: url}
	g.Server = g.killed(0, false)
	_, err := g.API.CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: aws.String("custom-lab")})
	g.must(err)
	g.old, g.next = g.fleet("arena"), g.fleet(setup.NextName("arena"))
	live, err := g.API.CreateAlias(t.Context(), &gamelift.CreateAliasInput{
		Name: aws.String("live"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &g.old},
	})
	g.must(err)
	m := g.begin(g.Server)
	for name, arn := range map[string]string{"fleet": *m.fleets["arena"].FleetArn, "alias": *live.Alias.AliasArn} {
		_, err := g.API.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
			Name: &name, Destinations: []types.GameSessionQueueDestination{{DestinationArn: &arn}},
		})
		g.must(err)
	}
	if queues, err := m.lead(t.Context(), m.fleets["arena"], m.fleets[setup.NextName("arena")]); err != nil || queues != 2 {
		t.Fatalf("the canary is in %d queues, %v", queues, err)
	}
	return g
}

func (g *game) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// killed returns the server as a command sees it that is killed at a change; at 0 it is not.
func (g *game) killed(at int, carried bool) *Server {
	c := node.Client(g.url, func(o *gamelift.Options) {
		o.Retryer = aws.NopRetryer{}
		if at > 0 {
			o.HTTPClient = node.Killed(at, carried)
		}
	})
	return &Server{API: c, Endpoint: g.url, Region: "us-east-1", Patience: time.Minute, Every: time.Millisecond}
}

func (g *game) fleet(name string) string {
	g.Helper()
	made, err := g.API.CreateFleet(g.Context(), &gamelift.CreateFleetInput{
		Name: &name, ComputeType: types.ComputeTypeAnywhere, Locations: []types.LocationConfiguration{{Location: aws.String("custom-lab")}},
	})
	g.must(err)
	return *made.FleetAttributes.FleetId
}

// begin reads the state for a command.
func (g *game) begin(s *Server) *rollout {
	g.Helper()
	m, err := s.open(g.Context())
	g.must(err)
	return m
}

// leads returns the ids of the fleets that the alias and each queue lead to, in order.
func (g *game) leads() map[string][]string {
	g.Helper()
	aliases, err := g.API.ListAliases(g.Context(), &gamelift.ListAliasesInput{})
	g.must(err)
	queues, err := g.API.DescribeGameSessionQueues(g.Context(), &gamelift.DescribeGameSessionQueuesInput{})
	g.must(err)
	if len(aliases.Aliases) != 1 || len(queues.GameSessionQueues) != 2 {
		g.Fatalf("there are %d aliases and %d queues", len(aliases.Aliases), len(queues.GameSessionQueues))
	}
	live := aliases.Aliases[0]
	all := map[string][]string{"live": {*live.RoutingStrategy.FleetId}}
	for _, q := range queues.GameSessionQueues {
		for _, d := range q.Destinations {
			id := resource(*d.DestinationArn)
			if *d.DestinationArn == *live.AliasArn {
				id = *live.RoutingStrategy.FleetId
			}
			all[*q.Name] = append(all[*q.Name], id[strings.LastIndexByte(id, '/')+1:])
		}
	}
	return all
}

// only checks that everything leads to one fleet, which has a name.
func (g *game) only(when, id, name string) {
	g.Helper()
	for from, to := range g.leads() {
		if all := slices.Compact(to); len(all) != 1 || all[0] != id {
			g.Errorf("%s: %s leads to %v, want %s alone", when, from, to, id)
		}
	}
	if f := g.begin(g.Server).fleets[name]; val(f.FleetId) != id {
		g.Errorf("%s: fleet %s is %q, want %s", when, name, val(f.FleetId), id)
	}
}

// A promotion is killed at each of its changes. What follows, a rollback or the deployment of
// another build, takes the new fleet out while the former one has its name, and otherwise
// refuses to; then another promotion ends the first. Nothing leads to a fleet that is deleted.
func TestPromote_Interrupted(t *testing.T) {
	t.Parallel()
	const changes = 5 // the alias, two queues, and the names of the former fleet and the new one
	next := setup.NextName("arena")
	for what, follow := range map[string]func(context.Context, *rollout) error{
		"rollback": func(ctx context.Context, m *rollout) error { return m.Rollback(ctx, "arena", nil) },
		"deployment": func(ctx context.Context, m *rollout) error {
			m.want.Fleets = map[string]*setup.Fleet{"arena": {Build: "another"}}
			_, _, err := m.next(ctx, "arena", 1) // which fails later: an Anywhere fleet has no capacity
			return err
		},
	} {
		for at := 1; at <= changes; at++ {
			for _, carried := range []bool{false, true} {
				when := fmt.Sprintf("%s after a promotion was killed at change %d, carried out %v", what, at, carried)
				g := newGame(t, node.InProcess(t, nil).URL())
				if err := g.begin(g.killed(at, carried)).promote(t.Context(), "arena", next); !errors.Is(err, node.ErrKilled) {
					t.Fatalf("%s: the promotion ended with %v", when, err)
				}
				if at == changes && carried {
					g.only(when, g.next, "arena")
					continue
				}
				err := follow(t.Context(), g.begin(g.Server))
				renamed := at > changes-1 || at == changes-1 && carried
				if refused := err != nil && strings.Contains(err.Error(), "deploy --promote"); refused != renamed {
					t.Errorf("%s: %v", when, err)
				}
				if !renamed {
					g.only(when, g.old, "arena")
					if _, ok := g.begin(g.Server).fleets[next]; ok {
						t.Errorf("%s: the new fleet is left", when)
					}
					continue
				}
				g.only(when, g.next, next)
				g.must(g.begin(g.Server).promote(t.Context(), "arena", next))
				g.only(when, g.next, "arena")
				if f := g.begin(g.Server).fleets[setup.PreviousName("arena")]; val(f.FleetId) != g.old {
					t.Errorf("%s: the former fleet is %q, want %s", when, val(f.FleetId), g.old)
				}
			}
		}
	}
}
