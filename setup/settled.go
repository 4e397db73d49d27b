package setup

import (
	"fmt"
	"maps"
	"slices"
)

// Settled leaves out of the set-up of a server the fleets that had the place of another one, or
// are to have it, and what leads to them. It returns a sentence for each thing left out.
func (s *Setup) Settled() (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(s.Fleets)) {
		for _, former := range []string{NextName(name), PreviousName(name), ReturningName(name), ReplacedName(name)} {
			if s.Fleets[former] != nil {
				note("fleet %s is of a deployment of %s: it is left out", former, name)
				delete(s.Fleets, former)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Aliases)) {
		if fleet := s.Aliases[name].Fleet; fleet != "" && s.Fleets[fleet] == nil {
			note("alias %s leads to fleet %s: it is left out", name, fleet)
			delete(s.Aliases, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.GameSessionQueues)) {
		q := s.GameSessionQueues[name]
		q.Destinations = slices.DeleteFunc(q.Destinations, func(d Destination) bool {
			out := d.Fleet != "" && s.Fleets[d.Fleet] == nil || d.Alias != "" && s.Aliases[d.Alias] == nil
			if out {
				note("queue %s: its destination %s%s is left out", name, d.Fleet, d.Alias)
			}
			return out
		})
	}
	return notes
}
