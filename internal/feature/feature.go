// Package feature numbers what the stored state of a cell may contain, so that releases can
// run side by side.
//
// A cell has a feature level. A program writes only what its cell's level allows, and
// changes no cell whose level is higher than the one that the program knows: it would drop
// what it does not know. The level is raised once every node of the cell knows the higher
// one, and never lowered (decision 0028).
package feature

import (
	"fmt"
	"strings"
)

// Level is a feature level. Each but the first has a constant, which says what it allows.
type Level int

// First is the level of a new cell. It allows what the first release stores.
const First Level = 1

// releases are the first releases that know a level, from First on. The linker sets a longer
// list in programs that tests use as a later release.
var releases = "v0.1.0"

// Extend adds levels that only tests know, each with its release. It is called before anything
// else.
func Extend(more ...string) { releases = strings.Join(append([]string{releases}, more...), ",") }

// Release returns the first release that knows the level, or "" if this program does not know it.
func (l Level) Release() string {
	known := strings.Split(releases, ",")
	if l < First || int(l) > len(known) {
		return ""
	}
	return known[l-First]
}

// Known returns the highest level that this program knows.
func Known() Level { return First + Level(strings.Count(releases, ",")) }

// Newer is the error of a program that does not know the level of a cell.
type Newer struct {
	Level   Level  // of the cell
	Known   Level  // by the program
	Release string // the first one that knows Level, or ""
}

func (e *Newer) Error() string {
	needs := e.Release
	if needs == "" {
		needs = "the release that wrote it"
	}
	return fmt.Sprintf("the state has feature level %d, and this program knows levels up to %d: use Muster %s, or a newer release", e.Level, e.Known, needs)
}

// Check returns a *Newer if this program does not know a level. release is the first one
// that does, as it is stored with the level.
func Check(found Level, release string) error {
	if found <= Known() {
		return nil
	}
	return &Newer{Level: found, Known: Known(), Release: release}
}
