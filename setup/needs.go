package setup

import (
	"maps"
	"slices"
	"strings"
)

// reference is a member of a resource that names another one.
type reference struct {
	member string
	to     Resource
}

// references returns the references of a resource. Those by ARN lead out of the set-up.
func (s *Setup) references(r Resource) (all []reference) {
	add := func(member string, kind Kind, name string) {
		if name != "" && !strings.HasPrefix(name, "arn:") {
			all = append(all, reference{member, Resource{kind, name}})
		}
	}
	places := func(locations map[string]*Capacity) {
		for _, name := range slices.Sorted(maps.Keys(locations)) {
			add("Locations", LocationKind, name)
		}
	}
	switch r.Kind {
	case FleetKind:
		if f := s.Fleets[r.Name]; f != nil {
			add("Build", BuildKind, f.Build)
			places(f.Locations)
		}
	case ContainerFleetKind:
		if f := s.ContainerFleets[r.Name]; f != nil {
			game, _, _ := strings.Cut(f.GameServerContainerGroupDefinition, ":")
			add("GameServerContainerGroupDefinition", ContainerGroupKind, game)
			each, _, _ := strings.Cut(f.PerInstanceContainerGroupDefinition, ":")
			add("PerInstanceContainerGroupDefinition", ContainerGroupKind, each)
			places(f.Locations)
		}
	case AliasKind:
		if a := s.Aliases[r.Name]; a != nil {
			add("Fleet", FleetKind, a.Fleet)
			add("ContainerFleet", ContainerFleetKind, a.ContainerFleet)
		}
	case QueueKind:
		if q := s.GameSessionQueues[r.Name]; q != nil {
			for _, d := range q.Destinations {
				add("Destinations", FleetKind, d.Fleet)
				add("Destinations", ContainerFleetKind, d.ContainerFleet)
				add("Destinations", AliasKind, d.Alias)
			}
		}
	case MatchmakingKind:
		if c := s.MatchmakingConfigurations[r.Name]; c != nil {
			add("RuleSet", RuleSetKind, c.RuleSet)
			for _, name := range c.GameSessionQueues {
				add("GameSessionQueues", QueueKind, name)
			}
		}
	}
	return all
}

// needs returns the resources whose actions have to succeed before an action that makes a
// resource as s describes it. An update needs those that it leads to from then on.
func (s *Setup) needs(a Action) (all []Resource) {
	for _, ref := range s.references(a.Resource()) {
		changed := slices.ContainsFunc(a.Changes, func(c Change) bool {
			member, _, _ := strings.Cut(c.Member, ".")
			return member == ref.member
		})
		if a.Op != Update || changed {
			all = append(all, ref.to)
		}
	}
	return all
}

// users returns the resources that refer to one.
func (s *Setup) users(r Resource) (all []Resource) {
	add := func(kind Kind, names []string) {
		for _, name := range names {
			user := Resource{kind, name}
			if slices.ContainsFunc(s.references(user), func(ref reference) bool { return ref.to == r }) {
				all = append(all, user)
			}
		}
	}
	add(FleetKind, slices.Sorted(maps.Keys(s.Fleets)))
	add(ContainerFleetKind, slices.Sorted(maps.Keys(s.ContainerFleets)))
	add(AliasKind, slices.Sorted(maps.Keys(s.Aliases)))
	add(QueueKind, slices.Sorted(maps.Keys(s.GameSessionQueues)))
	add(MatchmakingKind, slices.Sorted(maps.Keys(s.MatchmakingConfigurations)))
	return all
}
