package placement

import "fmt"

// Status is the state of a placement, spelled as the API's GameSessionPlacementState.
type Status string

// The states of a placement.
const (
	Pending   Status = "PENDING"
	Fulfilled Status = "FULFILLED"
	Cancelled Status = "CANCELLED"
	TimedOut  Status = "TIMED_OUT"
	Failed    Status = "FAILED"
)

var moves = map[[2]Status]string{
	{"", Pending}:        "StartGameSessionPlacement",
	{Pending, Fulfilled}: "its game session is ACTIVE",
	{Pending, Cancelled}: "StopGameSessionPlacement",
	{Pending, TimedOut}:  "the queue's timeout passed",
	{Pending, Failed}:    "the queue was deleted, its game session was terminated or takes no players",
}

// Moves returns the allowed changes of a placement's status with their causes.
func Moves() map[[2]Status]string { return moves }

// move changes a placement's status. A change that is not in the table is a bug.
func (p *Placement) move(to Status) {
	if _, ok := moves[[2]Status{p.Status, to}]; !ok {
		panic(fmt.Sprintf("placement %s: no move from %q to %q", p.ID, p.Status, to))
	}
	p.Status = to
}
