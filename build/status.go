package build

import "fmt"

// Status is the state of a build, spelled as in the API's BuildStatus.
type Status string

// The states of a build.
const (
	Initialized Status = "INITIALIZED"
	Ready       Status = "READY"
	Failed      Status = "FAILED"
)

// moves lists each allowed change of a build's status and what causes it.
var moves = map[[2]Status]string{
	{"", Initialized}:     "CreateBuild",
	{Initialized, Ready}:  "its archive is here and sound",
	{Initialized, Failed}: "its archive is unsound, or did not come in time",
}

// Moves returns the allowed changes of status with their causes, for documents and
// tests.
func Moves() map[[2]Status]string { return moves }

// move changes a build's status. A change that is not in the table is a bug.
func (b *Build) move(to Status) {
	if _, ok := moves[[2]Status{b.Status, to}]; !ok {
		panic(fmt.Sprintf("build %s: no move from %q to %q", b.ID, b.Status, to))
	}
	b.Status = to
}
