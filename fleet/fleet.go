package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// ComputeType says where a fleet's machines come from.
type ComputeType string

// The compute types of the API.
const (
	EC2       ComputeType = "EC2"
	Container ComputeType = "CONTAINER"
	Anywhere  ComputeType = "ANYWHERE"
)

// Protection says whether a scale-down may end a game session that has players.
type Protection string

// The protection policies of the API.
const (
	NoProtection   Protection = "NoProtection"
	FullProtection Protection = "FullProtection"
)

// Defaults of a runtime configuration (AWS CLI reference, describe-runtime-configuration).
const (
	DefaultActivationTimeout = 300 * time.Second
	UnlimitedActivations     = 2147483647
)

// Fleet is one fleet.
type Fleet struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Description   string          `json:"description,omitzero"`
	ComputeType   ComputeType     `json:"compute_type"`
	Status        Status          `json:"status"`
	Created       time.Time       `json:"created"`
	Terminated    time.Time       `json:"terminated,omitzero"`
	Protection    Protection      `json:"protection"`
	CreationLimit *CreationLimit  `json:"creation_limit,omitzero"`
	MetricGroups  []string        `json:"metric_groups,omitzero"`
	Cost          string          `json:"cost,omitzero"` // Anywhere: price per hour, for placement by cost
	LogPaths      []string        `json:"log_paths,omitzero"`
	Home          string          `json:"home"`                // the home region, a location of every fleet
	Locations     []LocationState `json:"locations,omitzero"`  // those that can host; in a managed fleet the home region is the first
	Managed       *Managed        `json:"managed,omitzero"`    // for a fleet whose instances Muster creates
	Containers    *Containers     `json:"containers,omitzero"` // for a managed fleet of container groups
	Runtime       Runtime         `json:"runtime,omitzero"`
	Gateway       Gateway         `json:"gateway,omitzero"`
	AsOnDemand    bool            `json:"as_on_demand,omitzero"` // an Anywhere fleet with an explicit FleetType, which has no effect
}

// Gateway is the requested configuration of a player gateway. It is stored and returned,
// but no location has a gateway: players reach game servers directly.
type Gateway struct {
	Mode       string `json:"mode,omitzero"`        // PlayerGatewayMode; "" is DISABLED
	IPProtocol string `json:"ip_protocol,omitzero"` // GameServerIpProtocolSupported
}

// gatewayRequired is the mode that a location without a player gateway cannot provide
// (API reference, CreateFleet).
const gatewayRequired = "REQUIRED"

func (g Gateway) check() error {
	if g.Mode == gatewayRequired {
		return fault.Invalid("PlayerGatewayMode: no location has a player gateway; use ENABLED, with which players reach game servers directly where there is none, or DISABLED")
	}
	return nil
}

// LocationState is the state of one location of a fleet. The home region of an Anywhere
// fleet, which hosts nothing, has none.
type LocationState struct {
	Location string `json:"location"`
	Status   Status `json:"status"`

	// For a managed fleet:
	Capacity       Capacity `json:"capacity,omitzero"`
	ScalingStopped bool     `json:"scaling_stopped,omitzero"` // StopFleetActions
	WaitsForHost   bool     `json:"waits_for_host,omitzero"`  // no host has room for all desired instances
	Unused         bool     `json:"unused,omitzero"`          // it was created to have no instances as soon as its capacity can be changed (CapacityTag), which has not been done
}

// CreationLimit limits how many game sessions one creator may create in a sliding period
// (ResourceCreationLimitPolicy). If a member is zero, there is no limit.
type CreationLimit struct {
	Sessions int           `json:"sessions"` // NewGameSessionsPerCreator
	Period   time.Duration `json:"period"`   // PolicyPeriodInMinutes
}

// Runtime says what runs on each instance or agent-run compute, and limits activations.
// Zero members mean the API's defaults.
type Runtime struct {
	Processes         []ProcessSpec `json:"processes,omitzero"`
	MaxActivations    int           `json:"max_activations,omitzero"`
	ActivationTimeout time.Duration `json:"activation_timeout,omitzero"`
}

// ProcessSpec is one entry of a runtime configuration.
type ProcessSpec struct {
	LaunchPath string `json:"launch_path"`
	Parameters string `json:"parameters,omitzero"`
	Concurrent int    `json:"concurrent"`
}

// ActivationTimeoutOrDefault returns how long a game session may take from its start to
// ActivateGameSession.
func (r Runtime) ActivationTimeoutOrDefault() time.Duration {
	return cmp.Or(r.ActivationTimeout, DefaultActivationTimeout)
}

// MaxActivationsOrDefault returns how many game sessions one compute may be activating at
// a time.
func (r Runtime) MaxActivationsOrDefault() int { return cmp.Or(r.MaxActivations, UnlimitedActivations) }

// Has reports whether the fleet has the location and it hosts game sessions.
func (f *Fleet) Has(location string) bool {
	return slices.ContainsFunc(f.Locations, func(l LocationState) bool {
		return l.Location == location && l.Status.Serves()
	})
}

// Place returns a pointer into the fleet to the state of a location, "" being the home
// region, or nil.
func (f *Fleet) Place(location string) *LocationState {
	location = cmp.Or(location, f.Home)
	at := slices.IndexFunc(f.Locations, func(l LocationState) bool { return l.Location == location })
	if at < 0 {
		return nil
	}
	return &f.Locations[at]
}

// leaving reports whether the fleet or one of its locations is being deleted.
func (f *Fleet) leaving() bool {
	return f.Status == Deleting || slices.ContainsFunc(f.Locations, func(l LocationState) bool { return l.Status == Deleting })
}

// clone returns a copy of the fleet to modify and put.
func (f *Fleet) clone() *Fleet {
	c := *f
	c.Locations = slices.Clone(f.Locations)
	return &c
}

// maxProcessesPerInstance is the limit on the sum over a runtime configuration (API
// reference, RuntimeConfiguration).
const maxProcessesPerInstance = 50

// Validate checks the rules that span several members.
func (r Runtime) Validate() error {
	total := 0
	for _, p := range r.Processes {
		total += p.Concurrent
	}
	if total > maxProcessesPerInstance {
		return fault.Invalid("RuntimeConfiguration.ServerProcesses: the ConcurrentExecutions sum up to %d; an instance runs at most %d processes", total, maxProcessesPerInstance)
	}
	return nil
}
