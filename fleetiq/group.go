package fleetiq

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// Group is a game server group.
type Group struct {
	Name       string         `json:"name"`
	RoleARN    string         `json:"role_arn"`
	Balancing  Balancing      `json:"balancing"`
	Protection string         `json:"protection"`
	Types      []InstanceType `json:"types"`
	Suspended  bool           `json:"suspended,omitzero"` // REPLACE_INSTANCE_TYPES
	Machines   Machines       `json:"machines"`
	Scaling    string         `json:"scaling"` // the id in the ARN of its Auto Scaling group
	Status     Status         `json:"status"`
	Force      bool           `json:"force,omitzero"` // its deletion waits for no game server
	Created    time.Time      `json:"created"`
	Updated    time.Time      `json:"updated"`
	Due        time.Time      `json:"due,omitzero"` // when its deletion goes on
}

// Machines describe what AWS would start for a group. Muster starts no machines: it checks
// and stores them.
type Machines struct {
	MinSize         int            `json:"min_size"`
	MaxSize         int            `json:"max_size"`
	TemplateID      string         `json:"template_id,omitzero"`
	TemplateName    string         `json:"template_name,omitzero"`
	TemplateVersion string         `json:"template_version,omitzero"`
	Policy          *ScalingPolicy `json:"policy,omitzero"`
	Subnets         []string       `json:"subnets,omitzero"`
}

// ScalingPolicy is the policy of a group's Auto Scaling group.
type ScalingPolicy struct {
	Target float64       `json:"target"` // of PercentUtilizedGameServers
	Warmup time.Duration `json:"warmup,omitzero"`
}

// InstanceType is a type of instance that a group may use, and its weight ("": 1).
type InstanceType struct {
	Name   string `json:"name"`
	Weight string `json:"weight,omitzero"`
}

// Balancing is a group's strategy for Spot and On-Demand Instances.
type Balancing string

// The balancing strategies of the API.
const (
	SpotOnly      Balancing = "SPOT_ONLY"
	SpotPreferred Balancing = "SPOT_PREFERRED"
	OnDemandOnly  Balancing = "ON_DEMAND_ONLY"
)

// The protection policies of the API.
const (
	NoProtection   = "NO_PROTECTION"
	FullProtection = "FULL_PROTECTION"
)

// DeleteOption is what happens to the game servers of a group that is deleted. The hosts
// stay in each case: they belong to their operator.
type DeleteOption string

// The delete options of the API.
const (
	SafeDelete  DeleteOption = "SAFE_DELETE"  // waits until none is claimed or utilized
	ForceDelete DeleteOption = "FORCE_DELETE" // does not wait
	Retain      DeleteOption = "RETAIN"       // as SafeDelete
)

// StatusReason explains the group's status: why it is not deleted yet, or that its
// balancing strategy has no effect.
func (g *Group) StatusReason() string {
	switch {
	case g.Status == DeleteScheduled && g.Due.IsZero():
		return "waits until none of its game servers is claimed or UTILIZED"
	case g.Status != Active:
		return "its game servers are being deregistered"
	case g.Balancing == OnDemandOnly:
		return ""
	}
	return "BalancingStrategy " + string(g.Balancing) + " has no effect: the instances are hosts that joined, none of which is a Spot Instance"
}

// validate checks the rules that span several members.
func (g *Group) validate() error {
	m := &g.Machines
	switch {
	case m.MinSize > m.MaxSize:
		return fault.Invalid("MinSize: %d is above MaxSize, which is %d; lower MinSize or raise MaxSize", m.MinSize, m.MaxSize)
	case m.TemplateID != "" && m.TemplateName != "":
		return fault.Invalid("LaunchTemplate: has both LaunchTemplateId and LaunchTemplateName; give one of them")
	case m.TemplateID == "" && m.TemplateName == "":
		return fault.Invalid("LaunchTemplate: give LaunchTemplateId or LaunchTemplateName")
	}
	return checkTypes(g.Types)
}

// checkTypes returns an error if a type is listed twice.
func checkTypes(types []InstanceType) error {
	for i, t := range types {
		if slices.ContainsFunc(types[:i], func(u InstanceType) bool { return u.Name == t.Name }) {
			return fault.Invalid("InstanceDefinitions.%d.InstanceType: %s is listed twice; list at least two types, each once", i+1, t.Name)
		}
	}
	return nil
}
