package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/scaling"
)

func (h handlers) registerScaling(srv *awsrpc.Server) {
	on(srv, "PutScalingPolicy", h.putScalingPolicy)
	on(srv, "DescribeScalingPolicies", h.describeScalingPolicies)
	on(srv, "DeleteScalingPolicy", h.deleteScalingPolicy)
}

func (h handlers) putScalingPolicy(ctx context.Context, in *gamelift.PutScalingPolicyInput) (*gamelift.PutScalingPolicyOutput, error) {
	p, err := h.Scaling.Put.Do(ctx, scaling.Input{
		FleetID: *in.FleetId, Name: *in.Name, Metric: *in.MetricName, Kind: scaling.Kind(val(in.PolicyType)),
		Comparison: val(in.ComparisonOperator), Threshold: in.Threshold, Type: scaling.Adjustment(val(in.ScalingAdjustmentType)),
		Periods: count(in.EvaluationPeriods), By: count(in.ScalingAdjustment), Target: val(in.TargetConfiguration).TargetValue,
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.PutScalingPolicyOutput{Name: &p.Name}, nil
}

func (h handlers) deleteScalingPolicy(ctx context.Context, in *gamelift.DeleteScalingPolicyInput) (*gamelift.DeleteScalingPolicyOutput, error) {
	return nil, h.Scaling.Delete.Do(ctx, scaling.Name{FleetID: *in.FleetId, Name: *in.Name})
}

func (h handlers) describeScalingPolicies(_ context.Context, in *gamelift.DescribeScalingPoliciesInput) (*gamelift.DescribeScalingPoliciesOutput, error) {
	f, err := h.Fleets.Find(h.Store.View(), *in.FleetId)
	if err != nil {
		return nil, err
	}
	if err := checkLocation(f, in.Location); err != nil {
		return nil, err
	}
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*scaling.Policy] {
		all := h.Scaling.After(h.Store.View(), f.ID, after)
		return filtered(all, func(*scaling.Policy) bool { return in.StatusFilter == nil || *in.StatusFilter == policyActive })
	}, func(p *scaling.Policy) string { return p.Name }, "DescribeScalingPolicies", f.ID, val(in.StatusFilter), val(in.Location))
	if err != nil {
		return nil, err
	}
	out := list(page, func(p *scaling.Policy) gamelift.ScalingPolicy { return h.policyOut(p, in.Location) })
	return &gamelift.DescribeScalingPoliciesOutput{ScalingPolicies: out, NextToken: next}, nil
}

// policyActive is the status of every existing policy: policies are created and deleted
// immediately.
const policyActive = "ACTIVE"

func (h handlers) policyOut(p *scaling.Policy, location *string) gamelift.ScalingPolicy {
	out := gamelift.ScalingPolicy{
		FleetId: &p.FleetID, FleetArn: h.fleetARN(p.FleetID), Name: &p.Name, Status: new(policyActive),
		MetricName: &p.Metric, PolicyType: new(string(p.Kind)), Location: location,
	}
	if p.Kind == scaling.TargetBased {
		out.TargetConfiguration = &gamelift.TargetConfiguration{TargetValue: &p.Target}
		return out
	}
	out.ScalingAdjustment, out.ScalingAdjustmentType = num(p.By), new(string(p.Type))
	out.ComparisonOperator, out.Threshold, out.EvaluationPeriods = &p.Comparison, &p.Threshold, num(p.Periods)
	return out
}
