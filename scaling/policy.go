package scaling

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// Kind is the kind of a policy, spelled as the API's PolicyType.
type Kind string

// The kinds of policies.
const (
	RuleBased   Kind = "RuleBased"
	TargetBased Kind = "TargetBased"
)

// Adjustment is how a rule changes capacity, spelled as the API's ScalingAdjustmentType.
type Adjustment string

// The ways to change capacity.
const (
	Change  Adjustment = "ChangeInCapacity"
	Exact   Adjustment = "ExactCapacity"
	Percent Adjustment = "PercentChangeInCapacity"
)

// targetMetric is the only metric that a TargetBased policy can use.
const targetMetric = "PercentAvailableGameSessions"

// Policy is a scaling policy of a fleet. It applies to each of the fleet's locations.
type Policy struct {
	FleetID string    `json:"fleet_id"`
	Name    string    `json:"name"`
	Kind    Kind      `json:"kind"`
	Metric  string    `json:"metric"`
	Set     time.Time `json:"set"` // when it was last put

	// For a TargetBased policy:
	Target float64 `json:"target,omitzero"` // percentage of game sessions to keep available

	// For a RuleBased policy: if Metric Comparison Threshold holds for Periods minutes,
	// capacity changes by By.
	Comparison string     `json:"comparison,omitzero"`
	Threshold  float64    `json:"threshold,omitzero"`
	Periods    int        `json:"periods,omitzero"`
	Type       Adjustment `json:"type,omitzero"`
	By         int        `json:"by,omitzero"`

	Acted map[string]time.Time `json:"acted,omitempty"` // by location: when the policy last changed capacity
}

func (p *Policy) clone() *Policy {
	c := *p
	c.Acted = maps.Clone(p.Acted)
	return &c
}

// comparisons are the values of the API's ComparisonOperatorType.
var comparisons = []string{
	"GreaterThanOrEqualToThreshold", "GreaterThanThreshold", "LessThanThreshold", "LessThanOrEqualToThreshold",
}

// Input describes the policy to put. Members that are not set are nil or "".
type Input struct {
	FleetID, Name, Metric string
	Kind                  Kind // "" is RuleBased
	Target                *float64
	Comparison            string
	Threshold             *float64
	Periods               *int
	Type                  Adjustment
	By                    *int
}

// policy validates an input and returns its policy (API reference, PutScalingPolicy).
func (in Input) policy() (*Policy, error) {
	switch in.Kind {
	case TargetBased:
		return in.targetBased()
	case RuleBased, "":
		return in.ruleBased()
	}
	return nil, fault.Invalid("PolicyType: %q is none of %s, %s", in.Kind, RuleBased, TargetBased)
}

func (in Input) targetBased() (*Policy, error) {
	switch {
	case in.Metric != targetMetric:
		return nil, fault.Invalid("MetricName: a TargetBased policy takes %s only", targetMetric)
	case in.Target == nil:
		return nil, fault.Invalid("TargetConfiguration: required for a TargetBased policy")
	case !(*in.Target >= 0 && *in.Target < 100):
		return nil, fault.Invalid("TargetConfiguration.TargetValue: must be a percentage from 0 to below 100")
	case in.Comparison != "" || in.Threshold != nil || in.Periods != nil || in.Type != "" || in.By != nil:
		return nil, fault.Invalid("ScalingAdjustment, ScalingAdjustmentType, Threshold, ComparisonOperator, EvaluationPeriods: allowed for RuleBased policies only")
	}
	return &Policy{FleetID: in.FleetID, Name: in.Name, Kind: TargetBased, Metric: in.Metric, Target: *in.Target}, nil
}

func (in Input) ruleBased() (*Policy, error) {
	switch {
	case in.Target != nil:
		return nil, fault.Invalid("TargetConfiguration: allowed for TargetBased policies only")
	case in.By == nil || in.Type == "" || in.Threshold == nil || in.Comparison == "" || in.Periods == nil:
		return nil, fault.Invalid("ScalingAdjustment, ScalingAdjustmentType, Threshold, ComparisonOperator, EvaluationPeriods: all are required for a RuleBased policy")
	case math.IsNaN(*in.Threshold) || math.IsInf(*in.Threshold, 0):
		return nil, fault.Invalid("Threshold: must be a number")
	case !slices.Contains(comparisons, in.Comparison):
		return nil, fault.Invalid("ComparisonOperator: %q is none of %v", in.Comparison, comparisons)
	case !slices.Contains([]Adjustment{Change, Exact, Percent}, in.Type):
		return nil, fault.Invalid("ScalingAdjustmentType: %q is unknown", in.Type)
	case in.Type == Exact && *in.By < 0:
		return nil, fault.Invalid("ScalingAdjustment: must not be negative for %s", Exact)
	case *in.Periods < 1:
		return nil, fault.Invalid("EvaluationPeriods: must be at least 1")
	}
	return &Policy{
		FleetID: in.FleetID, Name: in.Name, Kind: RuleBased, Metric: in.Metric,
		Comparison: in.Comparison, Threshold: *in.Threshold, Periods: *in.Periods, Type: in.Type, By: *in.By,
	}, nil
}
