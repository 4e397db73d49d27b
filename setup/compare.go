package setup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

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
	Note     string `json:",omitempty"` // what it undoes at the server, or ends
}

// Resource is one resource of a set-up.
type Resource struct {
	Kind Kind
	Name string
}

// Action is what is done with one resource.
type Action struct {
	Op         Op
	Kind       Kind
	Name       string
	Changes    []Change
	Impossible string     `json:",omitempty"` // why it cannot be done, and the remedy; "" if it can
	Unknown    string     `json:",omitempty"` // what cannot be compared, and is left as it is
	RolledBack time.Time  `json:",omitzero"`  // when the build that the fleet gets was rolled back
	Needs      []Resource `json:"-"`          // whose actions have to succeed before it
}

// Resource returns what the action is done with.
func (a Action) Resource() Resource { return Resource{a.Kind, a.Name} }

// Plan is what makes one set-up another, in the order in which it is done.
type Plan []Action

// Changes reports whether the plan changes anything.
func (p Plan) Changes() bool {
	return slices.ContainsFunc(p, func(a Action) bool { return a.Op != Leave })
}

// Doable reports whether the plan has a change that can be made.
func (p Plan) Doable() bool {
	return slices.ContainsFunc(p, func(a Action) bool { return a.Op != Leave && a.Impossible == "" })
}

// Err returns the changes of the plan that cannot be made, nil if all can.
func (p Plan) Err() error {
	var all []error
	for _, a := range p {
		if a.Impossible != "" {
			all = append(all, fmt.Errorf("%s %s %s: %s", a.Op, a.Kind, a.Name, a.Impossible))
		}
	}
	return errors.Join(all...)
}

// fixed are the members that cannot be changed: another value needs another resource.
var fixed = map[Kind][]string{
	BuildKind:          {"OperatingSystem", "ServerSdkVersion", "Content"},
	ContainerGroupKind: {"ContainerGroupType"},
	FleetKind: {
		"Status", "Build", "ComputeType", "EC2InstanceType", "FleetType", "CertificateConfiguration", "PlayerGatewayMode", "InstanceRoleArn", "InstanceRoleCredentialsProvider",
	},
	ContainerFleetKind: {"FleetRoleArn", "InstanceType", "PlayerGatewayMode"},
	RuleSetKind:        {"RuleSetBody"},
}

// Compare returns what makes have, the set-up of a server, what want describes. Resources that
// only the server has are deleted if remove says so, and else left. Compare changes neither of
// them.
func Compare(want, have *Setup, remove bool) Plan {
	have = have.matching(want)
	c := &comparison{want: want, have: have}
	compare(c, LocationKind, want.Locations, have.Locations)
	compare(c, BuildKind, want.Builds, have.Builds)
	compare(c, ContainerGroupKind, want.ContainerGroupDefinitions, have.ContainerGroupDefinitions)
	compare(c, FleetKind, want.Fleets, have.Fleets)
	compare(c, ContainerFleetKind, want.ContainerFleets, have.ContainerFleets)
	compare(c, AliasKind, want.Aliases, have.Aliases)
	queues := map[string]*Queue{}
	for name, q := range want.GameSessionQueues {
		queues[name] = q.WithCanaries(have.GameSessionQueues[name], want, func(fleet string) bool { return have.Fleets[fleet] != nil })
	}
	compare(c, QueueKind, queues, have.GameSessionQueues)
	compare(c, RuleSetKind, want.MatchmakingRuleSets, have.MatchmakingRuleSets)
	compare(c, MatchmakingKind, want.MatchmakingConfigurations, have.MatchmakingConfigurations)
	for i := range c.plan {
		a := &c.plan[i]
		if a.Kind == FleetKind && (a.Op == Create || a.Op == Replace) && have.Fleets[ReturningName(a.Name)] != nil {
			a.Impossible = fmt.Sprintf("a rollback to %s has stopped: finish it with 'muster deploy --rollback --fleet %s' first", ReturningName(a.Name), a.Name)
		}
		a.RolledBack, a.Needs = c.bringsBack(*a), want.needs(*a)
		if name := c.nowhere(*a); name != "" && a.Impossible == "" {
			a.Impossible = fmt.Sprintf("there is no location %s: add it to Locations of the file", name)
		}
	}
	plan := Plan(c.plan)
	slices.Reverse(c.rest)
	for _, a := range c.rest {
		kept := a.Kind == FleetKind && Former(a.Name) // 'muster deploy' deletes them
		base, standIn := strings.CutSuffix(a.Name, Replacing)
		if standIn = standIn && a.Kind == RuleSetKind && want.MatchmakingRuleSets[base] != nil; standIn || remove && !kept {
			a.Op, a.Needs = Delete, have.users(a.Resource())
		}
		plan = append(plan, a)
	}
	return plan
}

// nowhere returns a custom location that a fleet is to have and neither the file nor the server has, "" if
// there is none.
func (c *comparison) nowhere(a Action) string {
	if a.Op == Leave {
		return ""
	}
	for _, r := range c.want.references(a.Resource()) {
		if name := r.to.Name; r.to.Kind == LocationKind && strings.HasPrefix(name, "custom-") && c.want.Locations[name] == nil && c.have.Locations[name] == nil {
			return name
		}
	}
	return ""
}

type comparison struct {
	want, have *Setup
	plan, rest []Action
	replaced   map[string]bool // builds
}

// placed is a fleet of either kind.
type placed interface{ Placement() Placement }

// compare adds the actions for the resources of one kind.
func compare[T any](c *comparison, kind Kind, want, have map[string]*T) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, h := want[name], have[name]
		if h == nil && kind == FleetKind && have[NextName(name)] != nil {
			c.plan = append(c.plan, Action{Op: Replace, Kind: kind, Name: name, Changes: []Change{{Member: "Name", From: NextName(name), To: name}}})
			continue
		}
		if h == nil {
			c.plan = append(c.plan, c.create(Action{Op: Create, Kind: kind, Name: name, Changes: Differences(kind, w, new(T))}))
			continue
		}
		a := Action{Op: Update, Kind: kind, Name: name, Changes: Differences(kind, w, h)}
		lost := ""
		if kind == FleetKind {
			lost = c.have.lost[name]
		}
		if lost != "" {
			a.Changes = slices.DeleteFunc(a.Changes, func(change Change) bool { return change.Member == "Build" })
		}
		if kind == FleetKind && c.have.failed[name] {
			a.Changes = slices.Insert(a.Changes, 0, Change{Member: "Status", From: string(types.FleetStatusError), To: string(types.FleetStatusActive)})
		}
		if h, ok := any(h).(placed); ok {
			noteChanged(a.Changes, any(w).(placed).Placement(), h.Placement(), c.have.given[kind][name])
		}
		for _, change := range a.Changes {
			if Fixed(kind, change.Member) {
				a.Op = Replace
			}
		}
		if f, ok := any(w).(*Fleet); ok && c.replaced[f.Build] && !slices.ContainsFunc(a.Changes, func(change Change) bool { return change.Member == "Build" }) {
			a.Op = Replace
			a.Changes = append(a.Changes, Change{Member: "Build", From: f.Build, To: f.Build + " (its new files)"})
		}
		if lost != "" && a.Op != Replace {
			a.Unknown = fmt.Sprintf("its build %s has been deleted, so whether that was build %s of the file is not known; the fleet keeps running it. 'muster deploy --fleet %s' gives its place to a fleet of the file's build", lost, any(w).(*Fleet).Build, Quoted(name))
		}
		switch {
		case len(a.Changes) == 0 && a.Unknown == "":
			continue
		case len(a.Changes) == 0:
			a.Op = Leave
		case a.Op == Replace:
			a.Impossible = c.replace(a, any(h))
		}
		c.plan = append(c.plan, a)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if want[name] == nil {
			c.rest = append(c.rest, Action{Op: Leave, Kind: kind, Name: name})
		}
	}
}

// create returns the action that creates a resource, or says why that is impossible. A build
// that is needed by nothing but fleets whose build is not known is not missed.
func (c *comparison) create(a Action) Action {
	if a.Kind != BuildKind || sourced(c.want.Builds[a.Name]) {
		return a
	}
	users := c.want.users(a.Resource())
	if len(users) > 0 && !slices.ContainsFunc(users, func(r Resource) bool { return c.have.lost[r.Name] == "" }) {
		a.Op, a.Changes = Leave, nil
		a.Unknown = "the server does not have it, and the file names neither its Folder nor its Archive; the fleets that may run it go on. A new fleet needs one of the two"
		return a
	}
	a.Impossible = "the server does not have it, and the file names neither its Folder nor its Archive: add one of them"
	return a
}

// sourced reports whether a file names what a build is made from.
func sourced(b *Build) bool { return b.Folder != "" || b.Archive != "" }

// replace notes a replacement. It returns why that is impossible, or "".
func (c *comparison) replace(a Action, have any) string {
	var fixed []string
	for _, change := range a.Changes {
		if Fixed(a.Kind, change.Member) {
			fixed = append(fixed, change.Member)
		}
	}
	members := strings.Join(fixed, " and ")
	switch a.Kind {
	case BuildKind:
		if c.replaced == nil {
			c.replaced = map[string]bool{}
		}
		c.replaced[a.Name] = true
		if !sourced(c.want.Builds[a.Name]) {
			return members + " cannot be changed, and for a new build the file names neither its Folder nor its Archive: add one of them, or leave the member out"
		}
	case FleetKind:
		if have.(*Fleet).ComputeType == types.ComputeTypeAnywhere {
			return members + " cannot be changed: its computes are registered with this very fleet. Give the new one another name"
		}
	case ContainerGroupKind, ContainerFleetKind:
		return members + " cannot be changed. Give the new one another name, and let aliases and queues lead to it"
	}
	return ""
}

// Quoted returns a name as a shell takes it.
func Quoted(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}) {
		return strconv.Quote(name)
	}
	return name
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
// have the same name and, if want has one, the same version; of several, the one with the same
// files is meant, or else the newest.
func (s *Setup) Matching(want *Setup) map[string]string {
	renamed, found := map[string]string{}, map[string]bool{}
	match := func(candidates func(key string) []string, fits func(old string, w, h *Build) bool) {
		for _, key := range slices.Sorted(maps.Keys(want.Builds)) {
			for _, old := range candidates(key) {
				w, h := want.Builds[key], s.Builds[old]
				if _, taken := renamed[old]; h == nil || taken || found[key] || !w.is(key, h) || !fits(old, w, h) {
					continue
				}
				renamed[old], found[key] = key, true
			}
		}
	}
	all := append(slices.Clone(s.newest), slices.Sorted(maps.Keys(s.Builds))...)
	match(func(key string) []string { return append([]string{key}, all...) }, func(_ string, w, h *Build) bool {
		return w.Content != "" && w.Content == h.Content && !slices.ContainsFunc(Differences(BuildKind, w, h), func(c Change) bool { return Fixed(BuildKind, c.Member) })
	})
	match(func(key string) []string { return []string{key} }, func(string, *Build, *Build) bool { return true })
	match(func(string) []string { return all }, func(old string, _, h *Build) bool {
		return old == h.Name || old == h.Key() // of builds with one name and version, the newest has its key alone
	})
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
	out.rolledBack = map[string]time.Time{}
	for old, at := range s.rolledBack {
		out.rolledBack[cmp.Or(renamed[old], old)] = at
	}
	out.Fleets = map[string]*Fleet{}
	for name, f := range s.Fleets {
		copied := *f
		copied.Build = cmp.Or(renamed[f.Build], f.Build)
		if w := want.Fleets[name]; w != nil {
			copied.leaves(w)
		}
		out.Fleets[name] = &copied
	}
	out.ContainerFleets = map[string]*ContainerFleet{}
	for name, f := range s.ContainerFleets {
		copied := *f
		if w := want.ContainerFleets[name]; w != nil {
			if Scaled(w.ScalingPolicies, f.ScalingPolicies) {
				copied.HomeRegion, copied.Locations = eachPlace(w.HomeRegion, w.Locations, f.HomeRegion, f.Locations, scaledByPolicies)
			}
			copied.HomeRegion, copied.Locations = eachPlace(w.HomeRegion, w.Locations, copied.HomeRegion, copied.Locations, sizedByServer)
		}
		out.ContainerFleets[name] = &copied
	}
	return &out
}

// leaves takes the capacity of want where it is left to scaling policies or to the server.
func (f *Fleet) leaves(want *Fleet) {
	if Scaled(want.ScalingPolicies, f.ScalingPolicies) {
		f.HomeRegion, f.Locations = eachPlace(want.HomeRegion, want.Locations, f.HomeRegion, f.Locations, scaledByPolicies)
	}
	f.HomeRegion, f.Locations = eachPlace(want.HomeRegion, want.Locations, f.HomeRegion, f.Locations, sizedByServer)
}

// WithCanaries returns a queue of a file with the canaries of the file's fleets that the server's queue h
// has and that are there still, each before what leads to its fleet: 'muster deploy' puts them there and
// takes them out again.
func (q *Queue) WithCanaries(h *Queue, file *Setup, isThere func(fleet string) bool) *Queue {
	if h == nil || q.Destinations == nil {
		return q
	}
	out := *q
	out.Destinations = slices.Clone(q.Destinations)
	for _, canary := range h.Destinations {
		fleet, ok := strings.CutSuffix(canary.Fleet, nextEnding)
		if !ok || file.Fleets[canary.Fleet] != nil || !isThere(canary.Fleet) {
			continue
		}
		at := slices.IndexFunc(out.Destinations, func(d Destination) bool {
			alias := file.Aliases[d.Alias]
			return d.Fleet == fleet || alias != nil && alias.Fleet == fleet
		})
		if at >= 0 {
			out.Destinations = slices.Insert(out.Destinations, at, canary)
		}
	}
	return &out
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

// eachPlace returns the capacities that a fleet has in its locations, as one makes them of what
// the file wants there and of what there is; both may be nil.
func eachPlace(wantHome *Capacity, want map[string]*Capacity, haveHome *Capacity, have map[string]*Capacity, one func(w, h *Capacity) *Capacity) (*Capacity, map[string]*Capacity) {
	all := maps.Clone(have)
	for name, h := range all {
		all[name] = one(want[name], h)
	}
	return one(wantHome, haveHome), all
}

// scaledByPolicies returns h with the desired instances of the file where it leaves them to
// scaling policies.
func scaledByPolicies(w, h *Capacity) *Capacity {
	if w == nil || h == nil || w.DesiredInstances == nil || ScaledWithin(w, h) != h.DesiredInstances {
		return h
	}
	out := *h
	out.DesiredInstances = w.DesiredInstances
	return &out
}

// sizedByServer returns h with the MinSize of the file where the server sets it.
func sizedByServer(w, h *Capacity) *Capacity {
	if w == nil || h == nil || w.MinSize == nil || !h.FromZero() || w.ManagedCapacityConfiguration != nil && !w.FromZero() {
		return h
	}
	out := *h
	out.MinSize = w.MinSize
	return &out
}

// Endings of the names of fleets while another takes their place.
const (
	nextEnding      = " (next)"
	previousEnding  = " (previous)"
	returningEnding = " (returning)"
	replacedEnding  = " (replaced)"
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

// ReplacedName returns the name of the fleet before the previous one, which is deleted.
func ReplacedName(fleet string) string { return fleet + replacedEnding }

// Former reports whether a name is one of those.
func Former(fleet string) bool {
	return slices.ContainsFunc([]string{nextEnding, previousEnding, returningEnding, replacedEnding}, func(ending string) bool { return strings.HasSuffix(fleet, ending) })
}

// Fixed reports whether a member of a resource cannot be changed.
func Fixed(kind Kind, member string) bool {
	member, _, _ = strings.Cut(member, ".")
	return slices.Contains(fixed[kind], member)
}
