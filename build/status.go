package build

import "github.com/musterhq/muster/internal/state"

// Status is the state of a build, spelled as in the API's BuildStatus.
type Status string

// The states of a build.
const (
	Initialized Status = "INITIALIZED"
	Ready       Status = "READY"
	Failed      Status = "FAILED"
)

// Moves lists each allowed change of a build's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Initialized}:     "CreateBuild",
	{Initialized, Ready}:  "its archive is here and sound",
	{Initialized, Failed}: "its archive is unsound, or did not come in time",
}

func (b *Build) move(to Status) { Moves.Move(&b.Status, to, b.ID) }
