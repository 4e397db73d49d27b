package setup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// CapacityTag is the tag of a fleet with the capacity that a file gave its home region last. Those
// of its other locations have a colon and the location after that. Files do not show them. The server
// reads them when the fleet is created (fleet.CapacityTag).
const CapacityTag = "muster:capacity"

// Given is the capacity that files gave a fleet last: by location, "" being the home region, the
// values of members as text.
type Given map[string]map[string]string

// capacityMembers are the members of Capacity. Limits are decided on before what they limit.
var capacityMembers = []string{"ManagedCapacityConfiguration", "MinSize", "MaxSize", "DesiredInstances", "StoppedActions"}

// value returns a member as text, and whether it is there. As text, what is not there is empty.
func (c *Capacity) value(member string) (text string, there bool) {
	number := func(n *int32) (string, bool) {
		if n == nil {
			return "", false
		}
		return strconv.Itoa(int(*n)), true
	}
	switch member {
	case "MinSize":
		return number(c.MinSize)
	case "MaxSize":
		return number(c.MaxSize)
	case "DesiredInstances":
		return number(c.DesiredInstances)
	case "ManagedCapacityConfiguration":
		m := c.ManagedCapacityConfiguration
		if !c.FromZero() {
			return "", m != nil
		}
		minutes, _ := number(m.ScaleInAfterInactivityMinutes)
		return string(m.ZeroCapacityStrategy) + "/" + minutes, true
	}
	var all []string
	for _, action := range c.StoppedActions {
		all = append(all, string(action))
	}
	slices.Sort(all)
	return strings.Join(all, "/"), c.StoppedActions != nil
}

// setValue sets a member to what value returned for it. A text that is none is ignored.
func (c *Capacity) setValue(member, text string) {
	number := func(text string) *int32 {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil
		}
		out := int32(n)
		return &out
	}
	switch member {
	case "MinSize":
		c.MinSize = number(text)
	case "MaxSize":
		c.MaxSize = number(text)
	case "DesiredInstances":
		c.DesiredInstances = number(text)
	case "ManagedCapacityConfiguration":
		strategy, minutes, _ := strings.Cut(text, "/")
		if strategy == "" {
			strategy = string(types.ZeroCapacityStrategyManual)
		}
		c.ManagedCapacityConfiguration = &types.ManagedCapacityConfiguration{ZeroCapacityStrategy: types.ZeroCapacityStrategy(strategy), ScaleInAfterInactivityMinutes: number(minutes)}
	case "StoppedActions":
		c.StoppedActions = []types.FleetAction{}
		for action := range strings.SplitSeq(text, "/") {
			if action != "" {
				c.StoppedActions = append(c.StoppedActions, types.FleetAction(action))
			}
		}
	}
}

// FromZero reports whether the server scales a location to zero and from zero, and sets its MinSize.
func (c *Capacity) FromZero() bool {
	return c != nil && c.ManagedCapacityConfiguration != nil && c.ManagedCapacityConfiguration.ZeroCapacityStrategy == types.ZeroCapacityStrategyScaleToAndFromZero
}

// contradiction says which of the members that are given exclude each other, "" if none do.
func (c *Capacity) contradiction() string {
	if c == nil {
		return ""
	}
	low, n, high := c.MinSize, c.DesiredInstances, c.MaxSize
	if c.FromZero() {
		low = nil // the server sets it
	}
	zero := int32(0)
	above := func(a, b *int32) bool { return a != nil && b != nil && *a > *b }
	switch {
	case above(&zero, low), above(&zero, n), above(&zero, high):
		return "the number of instances cannot be less than 0"
	case above(low, high):
		return fmt.Sprintf("MinSize %d is above MaxSize %d", *low, *high)
	case above(n, high):
		return fmt.Sprintf("DesiredInstances %d is above MaxSize %d", *n, *high)
	case above(low, n):
		return fmt.Sprintf("DesiredInstances %d is below MinSize %d", *n, *low)
	}
	return ""
}

// Placement is where a fleet of either kind is, and how large.
type Placement struct {
	HomeRegion      *Capacity
	Locations       map[string]*Capacity // besides the home region
	ScalingPolicies map[string]*ScalingPolicy
}

// Placement returns where the fleet is, and how large.
func (f *Fleet) Placement() Placement {
	return Placement{f.HomeRegion, f.Locations, f.ScalingPolicies}
}

// Placement returns where the fleet is, and how large.
func (f *ContainerFleet) Placement() Placement {
	return Placement{f.HomeRegion, f.Locations, f.ScalingPolicies}
}

// GivenBy returns the capacity that a fleet of a file specifies.
func GivenBy(p Placement) Given {
	g := Given{}
	for location, c := range p.places() {
		g[location] = map[string]string{}
		for _, member := range capacityMembers {
			if text, there := c.value(member); there {
				g[location][member] = text
			}
		}
	}
	return g
}

// Unused returns the DesiredInstances of the locations that are to have none.
func (p Placement) Unused() Given {
	g := Given{}
	for location, c := range p.places() {
		if c != nil && c.DesiredInstances != nil && *c.DesiredInstances == 0 {
			g[location] = map[string]string{"DesiredInstances": "0"}
		}
	}
	return g
}

// places returns the capacities by location; "" is the home region.
func (p Placement) places() map[string]*Capacity {
	all := map[string]*Capacity{}
	maps.Copy(all, p.Locations)
	if p.HomeRegion != nil {
		all[""] = p.HomeRegion
	}
	return all
}

// Fleet returns a fleet of a file that specifies this capacity.
func (g Given) Fleet() *Fleet {
	f := &Fleet{}
	for location, members := range g {
		c := &Capacity{}
		for member, text := range members {
			c.setValue(member, text)
		}
		if location == "" {
			f.HomeRegion = c
			continue
		}
		if f.Locations == nil {
			f.Locations = map[string]*Capacity{}
		}
		f.Locations[location] = c
	}
	return f
}

// Tags returns the tags in which a fleet keeps the capacity.
func (g Given) Tags() Tags {
	tags := Tags{}
	for location, members := range g {
		var all []string
		for _, member := range capacityMembers {
			if text, there := members[member]; there {
				all = append(all, member+"="+text)
			}
		}
		key := CapacityTag
		if location != "" {
			key += ":" + location
		}
		tags[key] = strings.Join(all, " ")
	}
	return tags
}

// TakeGiven removes the tags that Given.Tags returns, and returns what they say.
func TakeGiven(tags Tags) Given {
	g := Given{}
	for key, text := range tags {
		location, of := strings.CutPrefix(key, CapacityTag+":")
		if key == CapacityTag {
			location, of = "", true
		}
		if !of {
			continue
		}
		delete(tags, key)
		g[location] = map[string]string{}
		for member := range strings.FieldsSeq(text) {
			if name, value, ok := strings.Cut(member, "="); ok && slices.Contains(capacityMembers, name) {
				g[location][name] = value
			}
		}
	}
	return g
}

// Kept returns the fleet w of a file with the capacity that the next fleet gets by a deployment:
// that of the fleet h, whose place it takes, except for what has been changed in the file since
// that gave it, and at the fleet has not. given is what the file gave then; now is what it has given
// then. Locations in fresh have not been ACTIVE yet, so that the capacity of the file has not been
// set there, and get it. why explains each value that is not that of both.
func Kept(w, h *Fleet, given Given, fresh []string) (kept *Fleet, now Given, why []string) {
	k := &keeping{now: Given{}, scaled: Scaled(w.ScalingPolicies, h.ScalingPolicies)}
	out := *w
	if h.HomeRegion != nil {
		out.HomeRegion = k.place("HomeRegion", "", w.HomeRegion, h.HomeRegion, given)
	}
	if w.Locations == nil {
		out.Locations = h.Locations
		return &out, k.now, k.why
	}
	names := maps.Clone(w.Locations)
	maps.Copy(names, h.Locations)
	out.Locations = map[string]*Capacity{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		wc, hc := w.Locations[name], h.Locations[name]
		if wc != nil && slices.Contains(fresh, name) {
			hc, given = nil, without(given, name)
		}
		if c := k.location(name, wc, hc, given); c != nil {
			out.Locations[name] = c
		}
	}
	return &out, k.now, k.why
}

func without(given Given, location string) Given {
	given = maps.Clone(given)
	delete(given, location)
	return given
}

// keeping is a call of Kept.
type keeping struct {
	now    Given
	why    []string
	scaled bool // scaling policies decide how many instances there are
}

func (k *keeping) say(format string, args ...any) {
	k.why = append(k.why, fmt.Sprintf(format, args...))
}

// location returns the capacity of a location besides the home region, nil if the next fleet does
// not have it.
func (k *keeping) location(name string, w, h *Capacity, given Given) *Capacity {
	at, before := "Locations."+name, given[name]
	switch {
	case w != nil && h != nil:
		return k.place(at, name, w, h, given)
	case w != nil && before == nil:
		k.now[name] = GivenBy(Placement{HomeRegion: w})[""]
		k.say("%s is added: the file has it, and the fleet does not", at)
		return w
	case w != nil:
		k.now[name] = before
		k.say("%s is left out: it was removed from the fleet, and has not been changed in the file since; 'muster apply' adds it", at)
		return nil
	case before == nil:
		k.say("%s is kept: the fleet has it; the file does not, and 'muster apply' removes it", at)
		return h
	}
	for _, member := range capacityMembers {
		text, there := before[member]
		if has, _ := h.value(member); there && !agrees(text, has) && !(k.scaled && member == "DesiredInstances") && !(h.FromZero() && member == "MinSize") {
			k.now[name] = before
			k.say("%s is kept: it was removed from the file, but the %s of the fleet has been changed from %s to %s; 'muster apply' removes it", at, member, shown(text), shown(has))
			return h
		}
	}
	k.say("%s is left out: it was removed from the file, and has not been changed at the fleet", at)
	return nil
}

// place returns the capacity of a location that the fleet has.
func (k *keeping) place(at, location string, w, h *Capacity, given Given) *Capacity {
	out := *h
	if w == nil {
		return &out
	}
	k.now[location] = map[string]string{}
	for _, member := range capacityMembers {
		asked, there := w.value(member)
		if !there {
			continue
		}
		has, _ := h.value(member)
		before, known := given[location][member]
		switch {
		case agrees(asked, has), member == "MinSize" && out.FromZero():
		case k.scaled && member == "DesiredInstances":
			k.say("%s.%s stays %s: the scaling policies decide on it (the file: %s)", at, member, shown(has), shown(asked))
		case !known:
			k.say("%s.%s stays %s as the fleet has it (the file: %s): whether it was changed there or in the file is not known; 'muster apply' sets the file's", at, member, shown(has), shown(asked))
			continue
		case agrees(before, has):
			out.setValue(member, asked)
			k.say("%s.%s becomes %s: it was changed in the file from %s, and has not been changed at the fleet", at, member, shown(asked), shown(before))
		case asked == before:
			k.say("%s.%s stays %s: it was changed at the fleet, and has not been changed in the file (%s); 'muster apply' sets the file's", at, member, shown(has), shown(asked))
		default:
			k.now[location][member] = before
			k.say("%s.%s stays %s: it was changed at the fleet, from %s, and in the file, to %s; 'muster apply' sets the file's", at, member, shown(has), shown(before), shown(asked))
			continue
		}
		k.now[location][member] = asked
	}
	k.fit(at, &out)
	return &out
}

// fit makes the members of a capacity agree with each other: they may be of both origins.
func (k *keeping) fit(at string, c *Capacity) {
	if c.MinSize == nil || c.MaxSize == nil || c.DesiredInstances == nil {
		return
	}
	low, high := *c.MinSize, *c.MaxSize
	if low > high {
		k.say("%s.MaxSize becomes %d: MinSize is", at, low)
		high = low
		c.MaxSize = &high
	}
	if c.FromZero() {
		low = 0
	}
	if n := max(low, min(high, *c.DesiredInstances)); n != *c.DesiredInstances {
		k.say("%s.DesiredInstances becomes %d: %d is outside MinSize and MaxSize", at, n, *c.DesiredInstances)
		c.DesiredInstances = &n
	}
}

// agrees reports whether a fleet has what a file specifies. A file may leave the minutes after the
// strategy out.
func agrees(file, has string) bool {
	return file == has || strings.HasSuffix(file, "/") && strings.HasPrefix(has, file)
}

// shown returns the text of a member for people.
func shown(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// Give notes the capacity that a file gave a fleet of a server last; kind is FleetKind or
// ContainerFleetKind.
func (s *Setup) Give(kind Kind, fleet string, given Given) {
	if s.given == nil {
		s.given = map[Kind]map[string]Given{FleetKind: {}, ContainerFleetKind: {}}
	}
	s.given[kind][fleet] = given
}

// noteChanged notes at changes of the capacity of a fleet, h at the server and w in a file, where
// the fleet does not have what a file gave it: that was changed there, and will be undone.
func noteChanged(changes []Change, w, h Placement, given Given) {
	wanted, places, scaled := w.places(), h.places(), Scaled(w.ScalingPolicies, h.ScalingPolicies)
	for i := range changes {
		location, member, ok := CapacityMember(changes[i].Member)
		has := places[location]
		if !ok || has == nil || len(given) == 0 {
			continue
		}
		if member == "" {
			if given[location] == nil && wanted[location] == nil {
				changes[i].Note = "it was added at the fleet; to keep it, add it to the file"
			}
			continue
		}
		before, known := given[location][member]
		now, _ := has.value(member)
		asked, _ := wanted[location].value(member)
		switch {
		case !known, agrees(before, now):
		case scaled && member == "DesiredInstances", has.FromZero() && (member == "MinSize" || member == "DesiredInstances"):
			// scaling has changed it
		case asked == before:
			changes[i].Note = fmt.Sprintf("it was changed at the fleet from %s; to keep %s, write that into the file", shown(before), shown(now))
		default:
			changes[i].Note = fmt.Sprintf("it was changed at the fleet, too, from %s", shown(before))
		}
	}
}

// Ending says how many of the instances that a smaller capacity takes away have game sessions.
func Ending(busy, gone int) string {
	switch {
	case gone == 1:
		return "the instance that it takes away has game sessions"
	case busy == 1:
		return fmt.Sprintf("1 of the %d instances that it takes away has game sessions", gone)
	}
	return fmt.Sprintf("%d of the %d instances that it takes away have game sessions", busy, gone)
}

// CapacityMember returns which member of which location's capacity a path leads to. The member is
// "" if it leads to the location as a whole.
func CapacityMember(path string) (location, member string, ok bool) {
	rest, home := strings.CutPrefix(path, "HomeRegion.")
	if !home {
		all, other := strings.CutPrefix(path, "Locations.")
		if !other {
			return "", "", false
		}
		if location, rest, ok = strings.Cut(all, "."); !ok {
			return location, "", true
		}
	}
	member, _, _ = strings.Cut(rest, ".")
	return location, member, slices.Contains(capacityMembers, member)
}
