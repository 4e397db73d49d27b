package setup

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// RolledBackTag is the tag of a build with the time at which a rollback took it out of a fleet.
// Files do not show it.
const RolledBackTag = "muster:rolled-back"

// RollBack notes that a rollback took a build of a server out of a fleet.
func (s *Setup) RollBack(build string, at time.Time) {
	if s.rolledBack == nil {
		s.rolledBack = map[string]time.Time{}
	}
	s.rolledBack[build] = at
}

// Moment returns a time for people.
func Moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// bringsBack returns when the build that a fleet has after an action was rolled back, or the zero time.
// One that is uploaded for it has been if its files are the same.
func (c *comparison) bringsBack(a Action) (at time.Time) {
	w := c.want.Fleets[a.Name]
	if a.Kind != FleetKind || w == nil || a.Op != Create && a.Op != Replace {
		return at
	}
	if a.Op == Replace && !slices.ContainsFunc(a.Changes, func(change Change) bool { return change.Member == "Build" }) {
		return at
	}
	b := c.want.Builds[w.Build]
	if c.have.Builds[w.Build] != nil && !c.replaced[w.Build] || b == nil || b.Content == "" {
		return c.have.rolledBack[w.Build]
	}
	for key, back := range c.have.rolledBack {
		if c.have.Builds[key].Content == b.Content && back.After(at) {
			at = back
		}
	}
	return at
}

// text returns a build for people.
func (b *Build) text() string {
	if b.Version == nil {
		return b.Name
	}
	return fmt.Sprintf("%s, version %s,", b.Name, *b.Version)
}

// BuildText returns the build of a fleet of a server for people, "" if it is not known.
func (s *Setup) BuildText(f *Fleet) string {
	if b := s.Builds[f.Build]; b != nil {
		return b.text()
	}
	return ""
}

// Forward returns what in a file would change a fleet of a server, which is runs, with the remedy for
// each member: of what a rollback has taken out, and of the capacity, which it has kept.
func Forward(want, have *Setup, fleet string, runs *Fleet) (brings, sizes []string) {
	w := want.Fleets[fleet]
	if w == nil {
		return nil, nil
	}
	brings = forwardBuild(want, have, fleet, runs)
	now := *runs
	now.leaves(w)
	for _, c := range detailed(Differences(FleetKind, w, &now), w, &now) {
		line := "Fleets." + fleet + "." + c.Member + ": " + remedy(c, "the fleet")
		if _, _, size := CapacityMember(c.Member); size || c.Member == "HomeRegion" {
			sizes = append(sizes, line)
		} else if c.Member != "Build" {
			brings = append(brings, line)
		}
	}
	return brings, sizes
}

// remedy says how the file gets what a resource of the server has.
func remedy(c Change, resource string) string {
	switch {
	case c.From == "":
		return fmt.Sprintf("the file has %s, and %s has none: leave it out", c.To, resource)
	case c.To == "":
		return fmt.Sprintf("the file has none, and %s has %s: add that", resource, c.From)
	}
	return fmt.Sprintf("the file has %s, and %s has %s: write %s", c.To, resource, c.From, c.From)
}

// detailed returns the changes from the fleet h to w with those of each server process, if there are
// as many, in place of the whole list.
func detailed(changes []Change, w, h *Fleet) (all []Change) {
	const list = "RuntimeConfiguration.ServerProcesses"
	for _, c := range changes {
		if c.Member != list || len(w.RuntimeConfiguration.ServerProcesses) != len(h.RuntimeConfiguration.ServerProcesses) {
			all = append(all, c)
			continue
		}
		for i, process := range w.RuntimeConfiguration.ServerProcesses {
			diff(fmt.Sprintf("%s[%d]", list, i), reflect.ValueOf(process), reflect.ValueOf(h.RuntimeConfiguration.ServerProcesses[i]), &all)
		}
	}
	return all
}

// forwardBuild is Forward for the build of the fleet.
func forwardBuild(want, have *Setup, fleet string, runs *Fleet) (all []string) {
	key := want.Fleets[fleet].Build
	w, h := want.Builds[key], have.Builds[runs.Build]
	if w == nil || h == nil {
		return nil
	}
	say := func(at, format string, args ...any) { all = append(all, at+": "+fmt.Sprintf(format, args...)) }
	if name := cmp.Or(w.Name, key); name != h.Name {
		say("Fleets."+fleet+".Build", "the file has the build %s, and the fleet runs %s: write the key of that build", name, h.Name)
		return all
	}
	at, changes := "Builds."+key, Differences(BuildKind, w, h)
	files := slices.ContainsFunc(changes, func(c Change) bool { return c.Member == "Content" })
	switch newest := have.Matching(want)[runs.Build] != key; {
	case w.Version != nil && h.Version == nil:
		say(at+".Version", "the file has %s, and the build that the fleet runs has none: leave it out", *w.Version)
	case w.Version != nil && *w.Version != *h.Version:
		say(at+".Version", "the file has %s, and the fleet runs %s: write %s", *w.Version, *h.Version, *h.Version)
	case w.Version == nil && h.Version != nil && newest:
		say(at+".Version", "the file has none, so that the newest build of that name is meant, and the fleet runs %s: write %s", *h.Version, *h.Version)
	case newest && !files:
		say(at, "the file means the newest build of that name and version, and the fleet runs an older one: give a build that is to follow another Version")
	}
	for _, c := range changes {
		switch {
		case c.Member == "Version":
		case c.Member == "Content" && w.Folder != "":
			say(at+".Folder", "the files in %s are not those of the build that the fleet runs: put those back", w.Folder)
		case c.Member == "Content":
			say(at+".Archive", "%s is not what the build that the fleet runs was made from: name that", w.Archive)
		default:
			say(at+"."+c.Member, "%s", remedy(c, "the build that the fleet runs"))
		}
	}
	return all
}
