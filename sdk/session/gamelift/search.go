package gamelift

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/sdk/session"
)

// Search implements session.Sessions.
func (c *Client) Search(ctx context.Context, r session.SearchRequest) iter.Seq2[session.Info, error] {
	return func(yield func(session.Info, error) bool) {
		if err := r.Validate(); err != nil {
			yield(session.Info{}, err)
			return
		}
		targets, err := c.destinations(ctx, r.Target)
		if err != nil {
			yield(session.Info{}, err)
			return
		}
		seen := map[string]bool{}
		for _, target := range targets {
			one := r
			one.Target = target
			if !c.searchOne(ctx, one, seen, yield) {
				return
			}
		}
	}
}

// searchOne yields the sessions of an alias or fleet that were not seen before. It
// returns false when the search is over.
func (c *Client) searchOne(ctx context.Context, r session.SearchRequest, seen map[string]bool, yield func(session.Info, error) bool) bool {
	tokens := map[string]bool{}
	for {
		page, err := c.SearchPage(ctx, r)
		if err != nil {
			yield(session.Info{}, err)
			return false
		}
		for _, info := range page.Sessions {
			if seen[info.ID] {
				continue
			}
			seen[info.ID] = true
			if !yield(info, nil) || len(seen) == r.Max {
				return false
			}
		}
		if page.NextToken == "" {
			return true
		}
		if tokens[page.NextToken] {
			yield(session.Info{}, fmt.Errorf("search game sessions: %w: the same page came twice", session.ErrUnavailable))
			return false
		}
		tokens[page.NextToken], r.NextToken = true, page.NextToken
	}
}

// SearchPage implements session.Sessions.
func (c *Client) SearchPage(ctx context.Context, r session.SearchRequest) (session.Page, error) {
	if err := r.Validate(); err != nil {
		return session.Page{}, err
	}
	in := &gamelift.SearchGameSessionsInput{
		FilterExpression: optional(r.Filter), SortExpression: optional(r.Sort),
		Location: optional(r.Location), NextToken: optional(r.NextToken), Limit: aws.Int32(20),
	}
	if r.PageSize > 0 {
		in.Limit = aws.Int32(int32(r.PageSize))
	}
	switch r.Kind() {
	case session.OnAlias:
		in.AliasId = &r.AliasID
	case session.OnFleet:
		in.FleetId = &r.FleetID
	default:
		return session.Page{}, fmt.Errorf("%w: Target: a queue is searched as a whole, with Search", session.ErrInvalid)
	}
	out, err := c.api.SearchGameSessions(ctx, in)
	if err != nil {
		return session.Page{}, wrap("search game sessions", err)
	}
	page := session.Page{NextToken: aws.ToString(out.NextToken)}
	for i := range out.GameSessions {
		page.Sessions = append(page.Sessions, infoOf(&out.GameSessions[i]))
	}
	return page, nil
}

// destinations returns the aliases and fleets that a target stands for: a queue's
// destinations in order, or the target itself.
func (c *Client) destinations(ctx context.Context, t session.Target) ([]session.Target, error) {
	if t.Kind() != session.OnQueue {
		return []session.Target{t}, nil
	}
	out, err := c.api.DescribeGameSessionQueues(ctx, &gamelift.DescribeGameSessionQueuesInput{Names: []string{t.QueueName}})
	if err != nil {
		return nil, wrap("describe queue", err)
	}
	if len(out.GameSessionQueues) == 0 {
		return nil, fmt.Errorf("%w: queue %s", session.ErrNotFound, t.QueueName)
	}
	var targets []session.Target
	for _, d := range out.GameSessionQueues[0].Destinations {
		arn := aws.ToString(d.DestinationArn)
		if _, id, ok := strings.Cut(arn, ":alias/"); ok {
			targets = append(targets, session.Target{AliasID: id, Location: t.Location})
		} else if _, id, ok := strings.Cut(arn, "fleet/"); ok { // of kind fleet or containerfleet
			targets = append(targets, session.Target{FleetID: id, Location: t.Location})
		}
	}
	return targets, nil
}
