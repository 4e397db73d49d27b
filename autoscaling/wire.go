package autoscaling

import (
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/fleetiq"
)

// targetTracking is the type of the policies of game server groups.
const targetTracking = "TargetTrackingScaling"

type groupsResult struct {
	Groups struct {
		Members []group `xml:"member"`
	} `xml:"AutoScalingGroups"`
	NextToken string `xml:",omitempty"`
}

type group struct {
	Name            string `xml:"AutoScalingGroupName"`
	ARN             string `xml:"AutoScalingGroupARN"`
	Mixed           mixed  `xml:"MixedInstancesPolicy"`
	MinSize         int
	MaxSize         int
	DesiredCapacity int
	DefaultCooldown int
	Zones           struct{} `xml:"AvailabilityZones"`
	HealthCheckType string
	CreatedTime     string
}

type mixed struct {
	Template struct {
		Specification specification `xml:"LaunchTemplateSpecification"`
		Overrides     struct {
			Members []override `xml:"member"`
		}
	} `xml:"LaunchTemplate"`
}

type specification struct {
	ID      string `xml:"LaunchTemplateId,omitempty"`
	Name    string `xml:"LaunchTemplateName,omitempty"`
	Version string `xml:",omitempty"`
}

type override struct {
	InstanceType     string
	WeightedCapacity string `xml:",omitempty"`
}

type policiesResult struct {
	Policies struct {
		Members []policy `xml:"member"`
	} `xml:"ScalingPolicies"`
}

type policy struct {
	Group   string `xml:"AutoScalingGroupName"`
	Name    string `xml:"PolicyName"`
	ARN     string `xml:"PolicyARN"`
	Type    string `xml:"PolicyType"`
	Warmup  int    `xml:"EstimatedInstanceWarmup,omitempty"`
	Enabled bool
	Target  struct {
		Metric metric  `xml:"CustomizedMetricSpecification"`
		Value  float64 `xml:"TargetValue"`
	} `xml:"TargetTrackingConfiguration"`
}

type metric struct {
	Name      string `xml:"MetricName"`
	Namespace string
	Statistic string
}

// group returns the Auto Scaling group of a game server group. Its capacity is the number of
// the group's hosts that the caller may see.
func (d *Door) group(g *fleetiq.Group, caller auth.Caller) group {
	out := group{
		Name: fleetiq.AutoScalingGroup(g.Name), ARN: d.opts.Groups.Groups.AutoScalingARN(g),
		MinSize: g.Machines.MinSize, MaxSize: g.Machines.MaxSize, DefaultCooldown: 300, HealthCheckType: "EC2",
		CreatedTime: g.Created.UTC().Format(time.RFC3339),
	}
	for i := range d.opts.Groups.Instances.Of(d.opts.Store.View(), g, "") {
		if caller.ReachesBeside(d.opts.Groups.Instances.LocationARN(i)) {
			out.DesiredCapacity++
		}
	}
	m := g.Machines
	out.Mixed.Template.Specification = specification{m.TemplateID, m.TemplateName, m.TemplateVersion}
	for _, t := range g.Types {
		out.Mixed.Template.Overrides.Members = append(out.Mixed.Template.Overrides.Members, override{t.Name, t.Weight})
	}
	return out
}
