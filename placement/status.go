package placement

import "github.com/musterhq/muster/internal/state"

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

// Moves lists each allowed change of a placement's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Pending}:        "StartGameSessionPlacement",
	{Pending, Fulfilled}: "its game session is ACTIVE",
	{Pending, Cancelled}: "StopGameSessionPlacement",
	{Pending, TimedOut}:  "the queue's timeout passed",
	{Pending, Failed}:    "the queue was deleted, its game session was terminated or takes no players",
}

func (p *Placement) move(to Status) { Moves.Move(&p.Status, to, p.ID) }
