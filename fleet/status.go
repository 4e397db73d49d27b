package fleet

import "fmt"

// Status is the state of a fleet or of one of its locations, spelled as the API's FleetStatus.
type Status string

// The states that a fleet goes through.
const (
	Active     Status = "ACTIVE"
	Deleting   Status = "DELETING"
	Terminated Status = "TERMINATED"
	NotFound   Status = "NOT_FOUND" // of a location whose custom location was deleted
)

// moves lists each allowed change of a fleet's status and what causes it.
var moves = map[[2]Status]string{
	{"", Active}:           "CreateFleet (ANYWHERE)",
	{Active, Deleting}:     "DeleteFleet",
	{Deleting, Terminated}: "last process ended",
}

// Moves gives the allowed changes of status with their causes, for documents and tests.
func Moves() map[[2]Status]string { return moves }

// move changes a fleet's status. A change that is not in the table is a bug.
func (f *Fleet) move(to Status) {
	if _, ok := moves[[2]Status{f.Status, to}]; !ok {
		panic(fmt.Sprintf("fleet %s: no move from %q to %q", f.ID, f.Status, to))
	}
	f.Status = to
}
