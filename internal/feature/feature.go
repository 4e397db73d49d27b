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
	"strconv"
)

// Level is a feature level.
type Level int

// The levels.
const (
	// First is the level of builds from before there were levels.
	First Level = 1
	// LostCommits allows marks of processes and game servers that may host an unknown game, and of
	// what makes the ids of game sessions differ after the database lost commits.
	LostCommits Level = 2
	// Remotes allows destinations of queues at other deployments, and attempts there.
	Remotes Level = 3
	// Packed allows archived rows and log entries in fewer bytes, in tables of their own.
	Packed Level = 4
	// Commits allows PostgreSQL to keep what each commit changed, for standbys, in a shorter form
	// and a table of its own.
	Commits Level = 5
)

// releases are the first releases that know a level.
var releases = map[Level]string{LostCommits: "v0.1.0", Remotes: "v0.1.0", Packed: "v0.1.0", Commits: "v0.1.0"}

// Release returns the first release that knows the level, or "" if there was none.
func (l Level) Release() string { return releases[l] }

// known is the highest level of this program. The linker sets a lower one in programs that
// tests use as an earlier release.
var known = "5"

// Known returns the highest level that this program knows.
func Known() Level {
	n, err := strconv.Atoi(known)
	if err != nil {
		panic("feature: the program was linked with the level " + strconv.Quote(known))
	}
	return Level(n)
}

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
