package main

import (
	"slices"
	"strings"
	"unicode"
)

// named are the enumerations whose values code names: they get constants.
var named = strings.Fields(`
	AcceptanceType BackfillMode BuildStatus CertificateType ComparisonOperatorType ComputeStatus ComputeType
	ContainerOperatingSystem DeploymentImpairmentStrategy DeploymentProtectionStrategy EventCode FleetAction FleetStatus
	FleetType FlexMatchMode GameSessionPlacementState GameSessionStatus GameSessionStatusReason LocationFilter
	MatchmakingConfigurationStatus MetricName OperatingSystem PlacementFallbackStrategy PlayerGatewayMode
	PlayerGatewayStatus PlayerSessionCreationPolicy PlayerSessionStatus PolicyType PriorityType ProtectionPolicy
	RoutingStrategyType ScalingAdjustmentType ScalingStatusType TerminationMode ZeroCapacityStrategy`)

// enumFiles writes constants of the named enumerations, and the values of those that
// inputs are checked against.
func (m *model) enumFiles(files map[string][]byte) {
	enums, types := newSource(), newSource()
	all, checked := m.enums(m.members(false)), m.enums(m.members(true))
	for _, name := range sortedKeys(all) {
		s := enums
		if strings.HasSuffix(name, "InstanceType") { // hundreds of values
			s = types
		}
		if slices.Contains(named, name) {
			s.enumConstants(name, all[name])
		}
		if checked[name] != nil {
			s.enumValues(name, all[name])
		}
	}
	files["enums.go"], files["instance_types.go"] = enums.Bytes(), types.Bytes()
}

// enums collects the enumerations that members refer to, and names the unnamed ones
// inside lists after their lists.
func (m *model) enums(all []members) map[string][]string {
	found := map[string][]string{}
	var visit func(t *typ)
	visit = func(t *typ) {
		if t == nil {
			return
		}
		if t.Elem != nil && t.Elem.Enum != nil && t.Elem.Shape == "" {
			t.Elem.Shape = singular(t.Shape)
		}
		switch {
		case t.EnumRef != "":
			found[t.EnumRef] = m.Enums[t.EnumRef]
		case t.Enum != nil:
			found[t.Shape] = t.Enum
		}
		visit(t.Elem)
		visit(t.Key)
		visit(t.Value)
	}
	for _, ms := range all {
		for _, mem := range ms {
			visit(&mem.typ)
		}
	}
	return found
}

// members returns the members of all operations and structures, or of the inputs and the
// structures that they refer to.
func (m *model) members(inputs bool) []members {
	var all []members
	for _, op := range m.Operations {
		all = append(all, op.Input)
		if op.Output != nil && !inputs {
			all = append(all, *op.Output)
		}
	}
	reached := m.reachable()
	for name, st := range m.Structures {
		if !inputs || reached[name] {
			all = append(all, st.Members)
		}
	}
	return all
}

// singular returns the name of a list's element: FleetActionList → FleetAction,
// Statuses → Status.
func singular(list string) string {
	list = strings.TrimSuffix(list, "List")
	if strings.HasSuffix(list, "uses") {
		return strings.TrimSuffix(list, "es")
	}
	return strings.TrimSuffix(list, "s")
}

func (s *source) enumConstants(name string, values []string) {
	s.linef("// Values of %s.", name)
	s.linef("const (")
	for _, v := range values {
		s.linef("%s%s = %q", name, camel(v), v)
	}
	s.linef(")")
	s.linef("")
}

func (s *source) enumValues(name string, values []string) {
	s.linef("// %sValues returns every value of %s, in the API's order.", name, name)
	s.linef("func %sValues() []string {", name)
	s.linef("return []string{")
	for _, v := range values {
		s.linef("%q,", v)
	}
	s.linef("}")
	s.linef("}")
	s.linef("")
}

// camel converts a value to the end of a Go name: PENDING_UPDATE → PendingUpdate;
// FullProtection stays.
func camel(value string) string {
	if strings.ContainsFunc(value, unicode.IsLower) {
		return value
	}
	var b strings.Builder
	for word := range strings.SplitSeq(value, "_") {
		b.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	return b.String()
}
