package live

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// The routes to a fleet are the aliases that lead to it, and the queues that have it or one of
// them as a destination.

// move lets each alias and queue that leads to one fleet lead to another. In a queue the new
// one may stand before the old one already (lead): then it stands there alone.
func (m *rollout) move(ctx context.Context, old, to types.FleetAttributes) error {
	through := map[string]bool{} // ARNs of aliases that lead to it, before or now
	for page := gamelift.NewListAliasesPaginator(m.API, &gamelift.ListAliasesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, a := range out.Aliases {
			at := val(a.RoutingStrategy.FleetId)
			if at != *old.FleetId && at != *to.FleetId {
				continue
			}
			through[*a.AliasArn] = true
			if at == *to.FleetId {
				continue
			}
			_, err := m.API.UpdateAlias(ctx, &gamelift.UpdateAliasInput{AliasId: a.AliasId, RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: to.FleetId}})
			if err != nil {
				return err
			}
			m.tell("alias %s leads to fleet %s now", val(a.Name), *to.FleetId)
		}
	}
	return m.queuesOf(ctx, func(all []string) []string {
		direct := slices.Contains(all, *old.FleetArn)
		aliased := slices.ContainsFunc(all, func(arn string) bool { return through[arn] })
		if !direct && !aliased {
			return all
		}
		var out []string
		for _, arn := range all {
			switch arn {
			case *to.FleetArn:
			case *old.FleetArn:
				out = append(out, *to.FleetArn)
			default:
				out = append(out, arn)
			}
		}
		return out
	})
}

// queuesOf calls change with the destinations of each queue, and updates the queues whose
// destinations change returns differently.
func (m *rollout) queuesOf(ctx context.Context, change func(arns []string) []string) error {
	for page := gamelift.NewDescribeGameSessionQueuesPaginator(m.API, &gamelift.DescribeGameSessionQueuesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, q := range out.GameSessionQueues {
			var before []string
			for _, d := range q.Destinations {
				before = append(before, *d.DestinationArn)
			}
			after := change(slices.Clone(before))
			if slices.Equal(before, after) {
				continue
			}
			to := []types.GameSessionQueueDestination{}
			for _, arn := range after {
				to = append(to, types.GameSessionQueueDestination{DestinationArn: aws.String(arn)})
			}
			if _, err := m.API.UpdateGameSessionQueue(ctx, &gamelift.UpdateGameSessionQueueInput{Name: q.Name, Destinations: to}); err != nil {
				return err
			}
			m.tell("queue %s: its destinations are %s", *q.Name, strings.Join(short(after), ", "))
		}
	}
	return nil
}

// short returns the last parts of ARNs.
func short(arns []string) (out []string) {
	for _, arn := range arns {
		out = append(out, resource(arn))
	}
	return out
}

// lead puts a fleet before each destination that leads to another one, and returns how many
// queues have it.
func (m *rollout) lead(ctx context.Context, old, to types.FleetAttributes) (queues int, err error) {
	through, err := m.aliasesOf(ctx, old)
	if err != nil {
		return 0, err
	}
	err = m.queuesOf(ctx, func(all []string) []string {
		at := slices.IndexFunc(all, func(arn string) bool { return arn == *old.FleetArn || through[arn] })
		if at < 0 {
			return all
		}
		queues++
		if slices.Contains(all, *to.FleetArn) {
			return all
		}
		return slices.Insert(all, at, *to.FleetArn)
	})
	return queues, err
}

// aliasesOf returns the ARNs of the aliases that lead to a fleet.
func (m *rollout) aliasesOf(ctx context.Context, f types.FleetAttributes) (map[string]bool, error) {
	arns := map[string]bool{}
	for page := gamelift.NewListAliasesPaginator(m.API, &gamelift.ListAliasesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range out.Aliases {
			if val(a.RoutingStrategy.FleetId) == *f.FleetId {
				arns[*a.AliasArn] = true
			}
		}
	}
	return arns, nil
}
