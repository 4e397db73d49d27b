package setup

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// scale runs `muster fleets scale` and returns what it says.
func (g *game) scale(fleet string, s terminal.Scale, asJSON bool) (string, error) {
	var out bytes.Buffer
	err := (&terminal.Terminal{Client: &client.Client{Endpoint: g.Endpoint}, Out: &out, JSON: asJSON}).ScaleFleet(g.Context(), fleet, s)
	return out.String(), err
}

// scales checks what it says.
func (g *game) scales(fleet string, s terminal.Scale, want string) {
	g.Helper()
	if said, err := g.scale(fleet, s, false); err != nil || said != want {
		g.Errorf("scale %s to %+v: %v\n%swant\n%s", fleet, s, err, said, want)
	}
}

// A fleet is scaled in the location named, or else in the only one that may have instances;
// what is not given stays as it was.
func TestScaleFleet(t *testing.T) {
	t.Parallel()
	g := newGame(t, "custom-lab")
	g.writes(1, "    HomeRegion: {MinSize: 0, MaxSize: 0, DesiredInstances: 0}\n    Locations: {custom-lab: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}}")
	g.apply()
	id := g.fleet("game")
	g.scales("game", terminal.Scale{Desired: new(2)}, "game in custom-lab: MinSize 0, DesiredInstances from 1 to 2, MaxSize 2.\n")
	g.sizes("game", "custom-lab", 0, 2, 2)
	g.scales(id, terminal.Scale{Location: "us-east-1", Max: new(3)}, "game in us-east-1: MinSize 0, DesiredInstances 0, MaxSize from 0 to 3.\n")
	g.scales(id[len(id)-12:], terminal.Scale{Location: "us-east-1", Max: new(3)}, "game in us-east-1: MinSize 0, DesiredInstances 0, MaxSize 3.\n")

	for want, s := range map[string]terminal.Scale{
		"has several locations: name one of us-east-1, custom-lab with --location":    {Desired: new(1)},
		`has no location "custom-lap"; it has us-east-1, custom-lab`:                  {Desired: new(1), Location: "custom-lap"},
		"give --desired, --min or --max":                                              {Location: "custom-lab"},
		"DesiredInstances: 9 is not between MinSize 0 and MaxSize 2; add --max 9":     {Desired: new(9), Location: "custom-lab"},
		"DesiredInstances: 2 is not between MinSize 0 and MaxSize 1; add --desired 1": {Max: new(1), Location: "custom-lab"},
		"MinSize: 4 is above MaxSize 2; add --desired 4 --max 4":                      {Min: new(4), Location: "custom-lab"},
		"MinSize: 4 is above MaxSize 2; add --max 5":                                  {Min: new(4), Desired: new(5), Location: "custom-lab"},
		"Member must have value greater than or equal to 0":                           {Desired: new(-1), Location: "custom-lab"},
		"DesiredInstances: 2 is not between MinSize 3 and MaxSize 3; add --desired 3": {Min: new(3), Max: new(3), Location: "custom-lab"},
		"DesiredInstances: 1 is not between MinSize 2 and MaxSize 2":                  {Min: new(2), Desired: new(1), Location: "custom-lab"},
	} {
		if said, err := g.scale("game", s, false); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%+v: %q, %v; want %q", s, said, err, want)
		}
	}
	g.sizes("game", "", 0, 0, 3)
	g.sizes("game", "custom-lab", 0, 2, 2)

	// A fleet whose game servers run anywhere has nothing to scale.
	if _, err := g.API.CreateFleet(t.Context(), &gamelift.CreateFleetInput{Name: new("mine"), ComputeType: types.ComputeTypeAnywhere, Locations: []types.LocationConfiguration{{Location: new("custom-lab")}}}); err != nil {
		t.Fatal(err)
	}
	if said, err := g.scale("mine", terminal.Scale{Desired: new(1)}, false); err == nil || !strings.Contains(err.Error(), "is of ComputeType ANYWHERE, which has no capacity: start and stop its game servers where they run") {
		t.Errorf("%q, %v", said, err)
	}
}

// Whatever the flags are, those that are proposed after a refusal make it succeed, and a refusal without
// a proposal is for flags that contradict each other.
func TestScaleFleet_Proposals(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}")
	g.apply()
	values := []*int{nil, new(0), new(1), new(2), new(3)}
	proposed := 0
	for _, low := range values {
		for _, n := range values {
			for _, high := range values {
				s := terminal.Scale{Min: low, Desired: n, Max: high}
				if s == (terminal.Scale{}) {
					continue
				}
				g.operator("", 1, 1, 2)
				_, err := g.scale("game", s, false)
				if err == nil {
					continue
				}
				_, more, proposes := strings.Cut(err.Error(), "; add ")
				words := strings.Fields(more)
				for i := 0; i+1 < len(words); i += 2 {
					value, err := strconv.Atoi(words[i+1])
					flag := map[string]**int{"--min": &s.Min, "--desired": &s.Desired, "--max": &s.Max}[words[i]]
					if err != nil || flag == nil || *flag != nil {
						t.Fatalf("%q proposes a flag that was given, or none", more)
					}
					*flag = &value
				}
				if proposes {
					proposed++
					if _, err := g.scale("game", s, false); err != nil {
						t.Errorf("with %s: %v", more, err)
					}
					continue
				}
				orderly := func(a, b *int) bool { return a == nil || b == nil || *a <= *b }
				if orderly(low, n) && orderly(n, high) && orderly(low, high) {
					t.Errorf("%v has no remedy, though the flags agree", err)
				}
			}
		}
	}
	if proposed == 0 {
		t.Error("nothing was proposed")
	}
}

// Who scales a location that something else scales, too, is told so, and what keeps the number.
func TestScaleFleet_IsScaled(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, "    HomeRegion: {MinSize: 0, MaxSize: 4, DesiredInstances: 1}")
	g.apply()
	id := g.fleet("game")
	policy := func(in *gamelift.PutScalingPolicyInput) {
		t.Helper()
		in.FleetId = &id
		if _, err := g.API.PutScalingPolicy(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	policy(&gamelift.PutScalingPolicyInput{
		Name: new("keep-20"), PolicyType: types.PolicyTypeTargetBased, MetricName: types.MetricNamePercentAvailableGameSessions, TargetConfiguration: &types.TargetConfiguration{TargetValue: new(20.0)},
	})
	g.scales("game", terminal.Scale{Desired: new(3)}, "game in us-east-1: MinSize 0, DesiredInstances from 1 to 3, MaxSize 4.\n"+
		"Scaling policy keep-20 changes DesiredInstances again, between MinSize and MaxSize, as soon as it has a reason to; --min 3 keeps it from going below 3.\n")
	policy(&gamelift.PutScalingPolicyInput{
		Name: new("empty"), MetricName: types.MetricNameIdleInstances, ComparisonOperator: types.ComparisonOperatorTypeGreaterThanThreshold, Threshold: new(100.0), EvaluationPeriods: new(int32(5)),
		ScalingAdjustmentType: types.ScalingAdjustmentTypeChangeInCapacity, ScalingAdjustment: new(int32(-1)),
	})
	g.scales("game", terminal.Scale{Min: new(3)}, "game in us-east-1: MinSize from 0 to 3, DesiredInstances 3, MaxSize 4.\n"+
		"Scaling policies empty, keep-20 change DesiredInstances again, between MinSize and MaxSize, as soon as it has a reason to.\n")
	g.scales("game", terminal.Scale{Max: new(3)}, "game in us-east-1: MinSize 3, DesiredInstances 3, MaxSize from 4 to 3.\n") // nothing can change it
	said, err := g.scale("game", terminal.Scale{Min: new(0), Desired: new(0)}, true)
	var got struct {
		FleetId, Location string
		From, To          struct{ MinSize, DesiredInstances, MaxSize int }
		ScalingPolicies   []string
	}
	if err != nil || json.Unmarshal([]byte(said), &got) != nil || got.FleetId != id || got.Location != "us-east-1" || got.From.MinSize != 3 || got.From.DesiredInstances != 3 ||
		got.To.MinSize != 0 || got.To.DesiredInstances != 0 || got.To.MaxSize != 3 || strings.Join(got.ScalingPolicies, " ") != "empty keep-20" {
		t.Errorf("%v\n%s", err, said)
	}
	g.scales("game", terminal.Scale{Max: new(2)}, "game in us-east-1: MinSize 0, DesiredInstances 0, MaxSize from 3 to 2.\n"+
		"Scaling policies empty, keep-20 do not change DesiredInstances while it is 0.\n")

	// While its scaling is stopped, nothing else changes it.
	if _, err := g.API.StopFleetActions(t.Context(), &gamelift.StopFleetActionsInput{FleetId: &id, Actions: []types.FleetAction{types.FleetActionAutoScaling}}); err != nil {
		t.Fatal(err)
	}
	g.scales("game", terminal.Scale{Desired: new(1)}, "game in us-east-1: MinSize 0, DesiredInstances from 0 to 1, MaxSize 2.\n")
	if _, err := g.API.StartFleetActions(t.Context(), &gamelift.StartFleetActionsInput{FleetId: &id, Actions: []types.FleetAction{types.FleetActionAutoScaling}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"empty", "keep-20"} {
		if _, err := g.API.DeleteScalingPolicy(t.Context(), &gamelift.DeleteScalingPolicyInput{FleetId: &id, Name: &name}); err != nil {
			t.Fatal(err)
		}
	}

	// The server sets the minimum of a location that it scales to zero and from zero.
	if _, err := g.API.UpdateFleetCapacity(t.Context(), &gamelift.UpdateFleetCapacityInput{FleetId: &id, ManagedCapacityConfiguration: &types.ManagedCapacityConfiguration{
		ZeroCapacityStrategy: types.ZeroCapacityStrategyScaleToAndFromZero, ScaleInAfterInactivityMinutes: new(int32(5)),
	}}); err != nil {
		t.Fatal(err)
	}
	g.scales("game", terminal.Scale{Desired: new(2)}, "game in us-east-1: MinSize 1, DesiredInstances from 1 to 2, MaxSize 2.\nIt is scaled to zero after 5 minutes without game sessions (SCALE_TO_AND_FROM_ZERO).\n")
	g.scales("game", terminal.Scale{Desired: new(0)}, "game in us-east-1: MinSize from 1 to 0, DesiredInstances from 2 to 0, MaxSize 2.\nThe first game session that is asked for there gets an instance (SCALE_TO_AND_FROM_ZERO).\n")
	for want, s := range map[string]terminal.Scale{
		"MinSize: not allowed with SCALE_TO_AND_FROM_ZERO, which sets it itself":  {Min: new(1)},
		"DesiredInstances: 3 is not between MinSize 1 and MaxSize 2; add --max 3": {Desired: new(3)},
	} {
		if said, err := g.scale("game", s, false); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%+v: %q, %v; want %q", s, said, err, want)
		}
	}
}
