package setup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// Kind is a kind of resource, as plans call it.
type Kind string

// The kinds, in the order in which resources are created: each may refer to those before it.
const (
	LocationKind       Kind = "location"
	BuildKind          Kind = "build"
	ContainerGroupKind Kind = "container group definition"
	FleetKind          Kind = "fleet"
	ContainerFleetKind Kind = "container fleet"
	AliasKind          Kind = "alias"
	QueueKind          Kind = "queue"
	RuleSetKind        Kind = "rule set"
	MatchmakingKind    Kind = "matchmaking configuration"
)

// Op is what is done with a resource.
type Op string

// The operations of a plan.
const (
	Create  Op = "create"
	Update  Op = "update"
	Replace Op = "replace" // create the new one, move what leads to the old one, then remove that
	Delete  Op = "delete"
	Leave   Op = "leave" // the server has it, and the file does not
)

// Change is one member that is different. From is "" if there is none, To if it is removed.
type Change struct {
	Member   string // its path, such as Locations.custom-lab.MaxSize
	From, To string
}

// Action is what is done with one resource.
type Action struct {
	Op      Op
	Kind    Kind
	Name    string
	Changes []Change
}

// Plan is what makes one set-up another, in the order in which it is done.
type Plan []Action

// Changes reports whether the plan changes anything.
func (p Plan) Changes() bool {
	return slices.ContainsFunc(p, func(a Action) bool { return a.Op != Leave })
}

// fixed are the members that cannot be changed: another value needs another resource.
var fixed = map[Kind][]string{
	BuildKind:          {"OperatingSystem", "ServerSdkVersion", "Content"},
	ContainerGroupKind: {"ContainerGroupType"},
	FleetKind: {
		"Build", "ComputeType", "EC2InstanceType", "FleetType", "CertificateConfiguration", "PlayerGatewayMode", "InstanceRoleArn", "InstanceRoleCredentialsProvider",
	},
	ContainerFleetKind: {"FleetRoleArn", "InstanceType", "PlayerGatewayMode"},
	RuleSetKind:        {"RuleSetBody"},
}

// Compare returns what makes have, the set-up of a server, what want describes. Resources that
// only the server has are deleted if remove says so, and else left. Errors name what cannot be
// done. Compare changes neither of them.
func Compare(want, have *Setup, remove bool) (Plan, error) {
	have = have.matching(want)
	c := &comparison{want: want, have: have}
	compare(c, LocationKind, want.Locations, have.Locations)
	compare(c, BuildKind, want.Builds, have.Builds)
	compare(c, ContainerGroupKind, want.ContainerGroupDefinitions, have.ContainerGroupDefinitions)
	compare(c, FleetKind, want.Fleets, have.Fleets)
	compare(c, ContainerFleetKind, want.ContainerFleets, have.ContainerFleets)
	compare(c, AliasKind, want.Aliases, have.Aliases)
	compare(c, QueueKind, want.GameSessionQueues, have.GameSessionQueues)
	compare(c, RuleSetKind, want.MatchmakingRuleSets, have.MatchmakingRuleSets)
	compare(c, MatchmakingKind, want.MatchmakingConfigurations, have.MatchmakingConfigurations)
	for _, a := range c.plan {
		if a.Kind == FleetKind && a.Op != Update && have.Fleets[ReturningName(a.Name)] != nil {
			c.fail(fmt.Errorf("fleet %s: a rollback to %s has stopped: finish it with 'muster deploy --rollback --fleet %s' first", a.Name, ReturningName(a.Name), a.Name))
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	plan := Plan(c.plan)
	slices.Reverse(c.rest)
	for _, a := range c.rest {
		kept := a.Kind == FleetKind && Former(a.Name) // 'muster deploy' deletes them
		base, standIn := strings.CutSuffix(a.Name, Replacing)
		if standIn = standIn && a.Kind == RuleSetKind && want.MatchmakingRuleSets[base] != nil; standIn || remove && !kept {
			a.Op = Delete
		}
		plan = append(plan, a)
	}
	return plan, nil
}

type comparison struct {
	want, have *Setup
	plan, rest []Action
	replaced   map[string]bool // builds
	err        error
}

// compare adds the actions for the resources of one kind.
func compare[T any](c *comparison, kind Kind, want, have map[string]*T) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, h := want[name], have[name]
		if h == nil && kind == FleetKind && have[NextName(name)] != nil {
			c.plan = append(c.plan, Action{Replace, kind, name, []Change{{Member: "Name", From: NextName(name), To: name}}})
			continue
		}
		if h == nil {
			if err := creatable(any(w), name); err != nil {
				c.fail(err)
			}
			c.plan = append(c.plan, Action{Create, kind, name, Differences(kind, w, new(T))})
			continue
		}
		a := Action{Update, kind, name, Differences(kind, w, h)}
		for _, change := range a.Changes {
			if Fixed(kind, change.Member) {
				a.Op = Replace
			}
		}
		if f, ok := any(w).(*Fleet); ok && c.replaced[f.Build] && a.Op != Replace {
			a.Op = Replace
			a.Changes = append(a.Changes, Change{Member: "Build", From: f.Build, To: f.Build + " (its new files)"})
		}
		if len(a.Changes) == 0 {
			continue
		}
		if a.Op == Replace {
			c.replace(a, any(h))
		}
		c.plan = append(c.plan, a)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if want[name] == nil {
			c.rest = append(c.rest, Action{Op: Leave, Kind: kind, Name: name})
		}
	}
}

// replace notes a replacement, or that it is impossible.
func (c *comparison) replace(a Action, have any) {
	switch a.Kind {
	case BuildKind:
		if c.replaced == nil {
			c.replaced = map[string]bool{}
		}
		c.replaced[a.Name] = true
	case FleetKind:
		if have.(*Fleet).ComputeType == types.ComputeTypeAnywhere {
			c.fail(fmt.Errorf("fleet %s: %s cannot be changed: its computes are registered with this very fleet. Give the new one another name", a.Name, a.Changes[0].Member))
		}
	case ContainerGroupKind, ContainerFleetKind:
		for _, change := range a.Changes {
			if Fixed(a.Kind, change.Member) {
				c.fail(fmt.Errorf("%s %s: %s cannot be changed. Give the new one another name, and let aliases and queues lead to it", a.Kind, a.Name, change.Member))
			}
		}
	}
}

func (c *comparison) fail(err error) {
	if c.err == nil {
		c.err = err
	} else {
		c.err = fmt.Errorf("%w\n%w", c.err, err)
	}
}

// creatable reports what is missing for creating a resource.
func creatable(w any, name string) error {
	if b, ok := w.(*Build); ok && b.Folder == "" && b.Archive == "" {
		return fmt.Errorf("build %s: the server does not have it, and the file names neither its Folder nor its Archive", name)
	}
	return nil
}

// Key returns the key of a build in the set-up of a server.
func (b *Build) Key() string {
	if b.Version == nil {
		return b.Name
	}
	return b.Name + "@" + *b.Version
}

// is reports whether h, of a server, is the build w, whose key in a file is key.
func (b *Build) is(key string, h *Build) bool {
	return h.Name == cmp.Or(b.Name, key) && (b.Version == nil || h.Version != nil && *b.Version == *h.Version)
}

// Matching returns the keys that want uses for the builds of a server, by their own keys. They
// have the same name and, if want gives one, the same version; of several, the newest is meant.
func (s *Setup) Matching(want *Setup) map[string]string {
	renamed := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(want.Builds)) {
		w := want.Builds[key]
		if h := s.Builds[key]; h != nil && w.is(key, h) {
			renamed[key] = key
			continue
		}
		for _, old := range append(slices.Clone(s.newest), slices.Sorted(maps.Keys(s.Builds))...) {
			h := s.Builds[old]
			if _, taken := renamed[old]; taken || old != h.Name && old != h.Key() {
				continue // of builds with one name and version, the newest has its key alone
			}
			if w.is(key, h) {
				renamed[old] = key
				break
			}
		}
	}
	for old, h := range s.Builds {
		if _, is := renamed[old]; !is && want.Builds[old] != nil { // another version
			renamed[old] = h.Key() + " (another)"
		}
	}
	return renamed
}

// matching returns a copy of the set-up of a server in which builds have the keys of want.
func (s *Setup) matching(want *Setup) *Setup {
	out := *s
	renamed := s.Matching(want)
	out.Builds = map[string]*Build{}
	for old, h := range s.Builds {
		out.Builds[cmp.Or(renamed[old], old)] = h
	}
	out.Fleets = map[string]*Fleet{}
	for name, f := range s.Fleets {
		copied := *f
		copied.Build = cmp.Or(renamed[f.Build], f.Build)
		if w := want.Fleets[name]; w != nil {
			copied.scaled(w)
		}
		out.Fleets[name] = &copied
	}
	out.ContainerFleets = map[string]*ContainerFleet{}
	for name, f := range s.ContainerFleets {
		copied := *f
		if w := want.ContainerFleets[name]; w != nil && Scaled(w.ScalingPolicies, f.ScalingPolicies) {
			copied.HomeRegion, copied.Locations = scaledAll(w.HomeRegion, w.Locations, f.HomeRegion, f.Locations)
		}
		out.ContainerFleets[name] = &copied
	}
	return &out
}

// scaled takes the desired capacity of want where scaling policies decide on it.
func (f *Fleet) scaled(want *Fleet) {
	if Scaled(want.ScalingPolicies, f.ScalingPolicies) {
		f.HomeRegion, f.Locations = scaledAll(want.HomeRegion, want.Locations, f.HomeRegion, f.Locations)
	}
}

// Scaled reports whether scaling policies decide how many instances a fleet desires: it has some
// now, and keeps some. Before, and from then on, the file does. Nil means that those stay.
func Scaled(want, have map[string]*ScalingPolicy) bool {
	return len(have) > 0 && (want == nil || len(want) > 0)
}

// ScaledWithin returns how many instances a location is to desire where scaling policies decide:
// as many as it does, unless the limits of the file exclude that; then the file's number, or
// else the nearest that the limits allow.
func ScaledWithin(w, h *Capacity) *int32 {
	if h.DesiredInstances == nil {
		return w.DesiredInstances
	}
	low, high := cmp.Or(w.MinSize, h.MinSize), cmp.Or(w.MaxSize, h.MaxSize)
	n := *h.DesiredInstances
	outside := low != nil && n < *low || high != nil && n > *high
	switch {
	case !outside:
		return h.DesiredInstances
	case w.DesiredInstances != nil:
		return w.DesiredInstances
	}
	if high != nil {
		n = min(n, *high)
	}
	if low != nil {
		n = max(n, *low)
	}
	return &n
}

func scaledAll(wantHome *Capacity, want map[string]*Capacity, haveHome *Capacity, have map[string]*Capacity) (*Capacity, map[string]*Capacity) {
	one := func(w, h *Capacity) *Capacity {
		if w == nil || h == nil || w.DesiredInstances == nil || ScaledWithin(w, h) != h.DesiredInstances {
			return h
		}
		out := *h
		out.DesiredInstances = w.DesiredInstances
		return &out
	}
	all := maps.Clone(have)
	for name, h := range all {
		all[name] = one(want[name], h)
	}
	return one(wantHome, haveHome), all
}

// Endings of the names of fleets while another takes their place.
const (
	nextEnding      = " (next)"
	previousEnding  = " (previous)"
	returningEnding = " (returning)"
)

// Replacing is the ending of the name of a rule set that stands in for one while that is
// replaced: rule sets cannot be changed, and not be deleted while they are used.
const Replacing = ".replacing"

// NextName returns the name of the fleet that is to take the place of a fleet.
func NextName(fleet string) string { return fleet + nextEnding }

// PreviousName returns the name of the fleet that had the place of a fleet before.
func PreviousName(fleet string) string { return fleet + previousEnding }

// ReturningName returns the name of that one while it takes its place again.
func ReturningName(fleet string) string { return fleet + returningEnding }

// Former reports whether a name is one of those.
func Former(fleet string) bool {
	return strings.HasSuffix(fleet, nextEnding) || strings.HasSuffix(fleet, previousEnding) || strings.HasSuffix(fleet, returningEnding)
}

// Fixed reports whether a member of a resource cannot be changed.
func Fixed(kind Kind, member string) bool {
	member, _, _ = strings.Cut(member, ".")
	return slices.Contains(fixed[kind], member)
}
