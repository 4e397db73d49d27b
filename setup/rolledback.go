package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// bringsBack returns when the build was rolled back that an action gives a fleet, or the zero time.
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

// Forward returns what in a file would replace a fleet of a server, which is runs, and for each
// member the remedy.
func Forward(want, have *Setup, fleet string, runs *Fleet) (all []string) {
	w := want.Fleets[fleet]
	if w == nil {
		return nil
	}
	say := func(at, format string, args ...any) { all = append(all, at+": "+fmt.Sprintf(format, args...)) }
	wb, hb := want.Builds[w.Build], have.Builds[runs.Build]
	if wb != nil && hb != nil {
		at, differs := "Builds."+w.Build, false
		if name := cmp.Or(wb.Name, w.Build); name != hb.Name {
			differs = true
			say("Fleets."+fleet+".Build", "the file has the build %s, and the fleet runs %s: write the key of that build", name, hb.Name)
		}
		switch newest := have.Matching(want)[runs.Build] != w.Build; {
		case differs:
		case wb.Version != nil && hb.Version == nil:
			say(at+".Version", "the file has %s, and the build that the fleet runs has none: leave it out", *wb.Version)
		case wb.Version != nil && *wb.Version != *hb.Version:
			say(at+".Version", "the file has %s, and the fleet runs %s: write %s", *wb.Version, *hb.Version, *hb.Version)
		case wb.Version == nil && hb.Version != nil && newest:
			say(at+".Version", "the file has none, so that the newest build of that name is meant, and the fleet runs %s: write %s", *hb.Version, *hb.Version)
		case newest:
			say(at, "the file means the newest build of that name and version, and the fleet runs an older one: give a build that is to follow another Version")
		}
		for _, c := range Differences(BuildKind, wb, hb) {
			switch {
			case differs || !Fixed(BuildKind, c.Member):
			case c.Member == "Content" && wb.Folder != "":
				say(at+".Folder", "the files in %s are not those of the build that the fleet runs: put those back", wb.Folder)
			case c.Member == "Content":
				say(at+".Archive", "%s is not what the build that the fleet runs was made from: name that", wb.Archive)
			default:
				say(at+"."+c.Member, "the file has %s, and the build that the fleet runs has %s: write %s", c.To, c.From, c.From)
			}
		}
	}
	for _, c := range Differences(FleetKind, w, runs) {
		if member, _, _ := strings.Cut(c.Member, "."); member == "Build" || !Fixed(FleetKind, c.Member) {
			continue
		}
		say("Fleets."+fleet+"."+c.Member, "the file has %s, and the fleet %s: write %s", c.To, shown(c.From), shown(c.From))
	}
	return all
}
