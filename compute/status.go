package compute

import "github.com/musterhq/muster/internal/state"

// Status is the state of a game server process.
type Status string

// The states of a process.
const (
	Initialized Status = "INITIALIZED" // connected: InitSDK was called
	Active      Status = "ACTIVE"      // ProcessReady was called: can take a game session
	Terminating Status = "TERMINATING" // told to stop
	Terminated  Status = "TERMINATED"
)

// Moves lists each allowed change of a process's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Initialized}:          "InitSDK (first connection)",
	{Initialized, Active}:      "ProcessReady",
	{Initialized, Terminating}: "fleet, location or compute is being removed, or its host stops",
	{Initialized, Terminated}:  "ProcessEnding, ready timeout, connection lost, exit",
	{Active, Initialized}:      "TerminateGameSession by the process itself, with Server SDK 3 or 4",
	{Active, Terminating}:      "TerminateGameSession, unhealthy, fleet or location is being removed, or its host stops",
	{Active, Terminated}:       "ProcessEnding, connection lost, exit, compute deregistered",
	{Terminating, Terminated}:  "ProcessEnding, exit, grace passed",
}

func (p *Process) move(to Status) { Moves.Move(&p.Status, to, p.Key) }
