package setup

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/yamlfile"
)

// Setup is all that a file describes. Keys are the names of the resources; members have the
// names and values of the Amazon GameLift API. A member that is left out is as it is: it is
// not compared, and gets the API's default when the resource is created.
type Setup struct {
	Locations                 map[string]*Location // custom ones
	Builds                    map[string]*Build
	ContainerGroupDefinitions map[string]*ContainerGroup
	Fleets                    map[string]*Fleet
	ContainerFleets           map[string]*ContainerFleet
	Aliases                   map[string]*Alias
	GameSessionQueues         map[string]*Queue
	MatchmakingRuleSets       map[string]*RuleSet
	MatchmakingConfigurations map[string]*Matchmaking

	newest     []string                  // keys of Builds as AddBuild got them
	lost       map[string]string         // of fleets whose build has been deleted, its id
	failed     map[string]bool           // fleets in status ERROR
	rolledBack map[string]time.Time      // of builds that a rollback took out of a fleet, when
	given      map[Kind]map[string]Given // of fleets of a server, the capacity that files gave them
	bodies     map[string]body           // of rule sets that were read from files
}

// body is where the body of a rule set is.
type body struct {
	file string
	yamlfile.Span
}

// BodyAt returns where a place in the body of a rule set is, as far as that is known.
func (s *Setup) BodyAt(ruleSet string, line, column int) string {
	b, ok := s.bodies[ruleSet]
	switch {
	case !ok:
		return fmt.Sprintf("MatchmakingRuleSets.%s.RuleSetBody:%d:%d", ruleSet, line, column)
	case b.Block:
		return fmt.Sprintf("%s:%d:%d", b.file, b.Line+line-1, b.Indent+column)
	}
	return fmt.Sprintf("%s:%d: at %d:%d of the text", b.file, b.Line, line, column)
}

// AddBuild adds a build of a server. The caller must add the newest first.
func (s *Setup) AddBuild(key string, b *Build) {
	if s.Builds == nil {
		s.Builds = map[string]*Build{}
	}
	s.Builds[key] = b
	s.newest = append(s.newest, key)
}

// LoseBuild notes that the build of a fleet of a server has been deleted, so that it is not known
// which one it was.
func (s *Setup) LoseBuild(fleet, buildID string) {
	if s.lost == nil {
		s.lost = map[string]string{}
	}
	s.lost[fleet] = buildID
}

// FailFleet notes that a fleet of a server is in status ERROR, which it does not leave.
func (s *Setup) FailFleet(fleet string) {
	if s.failed == nil {
		s.failed = map[string]bool{}
	}
	s.failed[fleet] = true
}

// ReplaceLost makes a fleet whose build has been deleted count as one of another build.
func (s *Setup) ReplaceLost(fleet string) { delete(s.lost, fleet) }

// Tags are the tags of a resource.
type Tags map[string]string

// ContentTag is the tag of a build with the digest of what was uploaded. Files show it as
// Build.Content.
const ContentTag = "muster:content"

// NameTag is the tag of a container fleet with its name in files: the API has no name for it.
const NameTag = "muster:name"

// Location is a custom location.
type Location struct {
	Tags Tags
}

// Build is a build. Its files are a folder or an archive; a build that the server has already
// needs neither.
type Build struct {
	Name             string // default: the key
	Version          *string
	OperatingSystem  types.OperatingSystem
	ServerSdkVersion *string
	Folder           string // what to upload, relative to the file
	Archive          string // the same as zip, tar or tar.gz
	Content          string // digest of what is uploaded; without it, that of Folder or Archive
	Tags             Tags
}

// ContainerGroup is the newest version of a container group definition.
type ContainerGroup struct {
	ContainerGroupType            types.ContainerGroupType
	OperatingSystem               types.ContainerOperatingSystem
	TotalMemoryLimitMebibytes     *int32
	TotalVcpuLimit                *float64
	GameServerContainerDefinition *types.GameServerContainerDefinitionInput
	SupportContainerDefinitions   []types.SupportContainerDefinitionInput
	VersionDescription            *string
	Tags                          Tags
}

// Fleet is a fleet whose machines run a build (EC2) or are registered (ANYWHERE).
type Fleet struct {
	Description                     *string
	ComputeType                     types.ComputeType
	AnywhereConfiguration           *types.AnywhereConfiguration
	Build                           string // key in Builds
	EC2InstanceType                 types.EC2InstanceType
	FleetType                       types.FleetType
	CertificateConfiguration        *types.CertificateConfiguration
	EC2InboundPermissions           []types.IpPermission
	RuntimeConfiguration            *types.RuntimeConfiguration
	NewGameSessionProtectionPolicy  types.ProtectionPolicy
	ResourceCreationLimitPolicy     *types.ResourceCreationLimitPolicy
	MetricGroups                    []string
	PlayerGatewayMode               types.PlayerGatewayMode
	InstanceRoleArn                 *string
	InstanceRoleCredentialsProvider types.InstanceRoleCredentialsProvider
	HomeRegion                      *Capacity            // of the region in which the fleet is created
	Locations                       map[string]*Capacity // the others
	ScalingPolicies                 map[string]*ScalingPolicy
	Tags                            Tags
}

// Capacity is how many instances a location of a managed fleet has. Locations of an ANYWHERE
// fleet have no members.
type Capacity struct {
	MinSize                      *int32
	MaxSize                      *int32
	DesiredInstances             *int32 // once a fleet has scaling policies, they decide on it within the limits
	ManagedCapacityConfiguration *types.ManagedCapacityConfiguration
	StoppedActions               []types.FleetAction
}

// ScalingPolicy is a scaling policy of a fleet.
type ScalingPolicy struct {
	PolicyType            types.PolicyType
	MetricName            types.MetricName
	TargetConfiguration   *types.TargetConfiguration
	ComparisonOperator    types.ComparisonOperatorType
	Threshold             *float64
	EvaluationPeriods     *int32
	ScalingAdjustment     *int32
	ScalingAdjustmentType types.ScalingAdjustmentType
}

// ContainerFleet is a fleet that runs container groups.
type ContainerFleet struct {
	Description                          *string
	GameServerContainerGroupDefinition   string // key in ContainerGroupDefinitions, or KEY:VERSION
	PerInstanceContainerGroupDefinition  string // likewise
	FleetRoleArn                         *string
	InstanceType                         *string
	BillingType                          types.ContainerFleetBillingType
	GameServerContainerGroupsPerInstance *int32
	GameSessionCreationLimitPolicy       *types.GameSessionCreationLimitPolicy
	InstanceConnectionPortRange          *types.ConnectionPortRange
	InstanceInboundPermissions           []types.IpPermission
	LogConfiguration                     *types.LogConfiguration
	MetricGroups                         []string
	NewGameSessionProtectionPolicy       types.ProtectionPolicy
	PlayerGatewayMode                    types.PlayerGatewayMode
	HomeRegion                           *Capacity
	Locations                            map[string]*Capacity
	ScalingPolicies                      map[string]*ScalingPolicy
	Tags                                 Tags
}

// Alias leads to a fleet, or to a message.
type Alias struct {
	Description    *string
	Fleet          string // key in Fleets
	ContainerFleet string // or key in ContainerFleets
	Message        *string
	Tags           Tags
}

// Queue is a game session queue.
type Queue struct {
	Destinations          []Destination
	TimeoutInSeconds      *int32
	PlayerLatencyPolicies []types.PlayerLatencyPolicy
	FilterConfiguration   *types.FilterConfiguration
	PriorityConfiguration *types.PriorityConfiguration
	CustomEventData       *string
	NotificationTarget    *string
	Tags                  Tags
}

// Destination is one destination of a queue: one of its members is given.
type Destination struct {
	Fleet          string // key in Fleets
	ContainerFleet string // key in ContainerFleets
	Alias          string // key in Aliases
	DestinationArn string // of something that the file does not have
}

// RuleSet is a matchmaking rule set.
type RuleSet struct {
	RuleSetBody *string
	RuleSetFile string // file with the body, relative to the file
	Tags        Tags
}

// Matchmaking is a matchmaking configuration.
type Matchmaking struct {
	Description              *string
	RuleSet                  string   // key in MatchmakingRuleSets
	GameSessionQueues        []string // keys in GameSessionQueues, or ARNs
	FlexMatchMode            types.FlexMatchMode
	BackfillMode             types.BackfillMode
	RequestTimeoutSeconds    *int32
	AcceptanceRequired       *bool
	AcceptanceTimeoutSeconds *int32
	AdditionalPlayerCount    *int32
	GameProperties           []types.GameProperty
	GameSessionData          *string
	CustomEventData          *string
	NotificationTarget       *string
	Tags                     Tags
}
