package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/fleet"
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
	input := scaling.Input{
		FleetID: *in.FleetId, Name: *in.Name, Metric: *in.MetricName, Kind: scaling.Kind(val(in.PolicyType)),
		Comparison: val(in.ComparisonOperator), Threshold: in.Threshold, Type: scaling.Adjustment(val(in.ScalingAdjustmentType)),
	}
	if in.TargetConfiguration != nil {
		input.Target = in.TargetConfiguration.TargetValue
	}
	if in.EvaluationPeriods != nil {
		input.Periods = new(int(*in.EvaluationPeriods))
	}
	if in.ScalingAdjustment != nil {
		input.By = new(int(*in.ScalingAdjustment))
	}
	p, err := h.Scaling.Put(ctx, input)
	if err != nil {
		return nil, err
	}
	return &gamelift.PutScalingPolicyOutput{Name: &p.Name}, nil
}

func (h handlers) deleteScalingPolicy(ctx context.Context, in *gamelift.DeleteScalingPolicyInput) (*gamelift.DeleteScalingPolicyOutput, error) {
	return nil, h.Scaling.Delete(ctx, *in.FleetId, *in.Name)
}

func (h handlers) describeScalingPolicies(_ context.Context, in *gamelift.DescribeScalingPoliciesInput) (*gamelift.DescribeScalingPoliciesOutput, error) {
	f, err := h.Fleets.Find(h.Store.View(), *in.FleetId)
	if err != nil {
		return nil, err
	}
	if err := checkLocation(f, in.Location); err != nil {
		return nil, err
	}
	request := []string{"DescribeScalingPolicies", f.ID, val(in.StatusFilter), val(in.Location)}
	after, err := cursor[string](in.NextToken, request...)
	if err != nil {
		return nil, err
	}
	page, more := take(h.policiesOf(f, val(in.StatusFilter), after), limit(in.Limit, defaultPage, largestPage))
	if more {
		after = page[len(page)-1].Name
	}
	out := list(page, func(p *scaling.Policy) gamelift.ScalingPolicy { return h.policyOut(p, in.Location) })
	return &gamelift.DescribeScalingPoliciesOutput{ScalingPolicies: out, NextToken: nextToken(more, after, request...)}, nil
}

// policyActive is the status of every existing policy: policies are created and deleted
// immediately.
const policyActive = "ACTIVE"

func (h handlers) policiesOf(f *fleet.Fleet, status, after string) iter.Seq[*scaling.Policy] {
	if status != "" && status != policyActive {
		return func(func(*scaling.Policy) bool) {}
	}
	return h.Scaling.After(h.Store.View(), f.ID, after)
}

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
