package compute

import "fmt"

// Status is the state of a game server process.
type Status string

// The states of a process.
const (
	Initialized Status = "INITIALIZED" // connected: InitSDK was called
	Active      Status = "ACTIVE"      // ProcessReady was called: can take a game session
	Terminating Status = "TERMINATING" // told to stop
	Terminated  Status = "TERMINATED"
)

// moves lists each allowed change of a process's status and what causes it.
var moves = map[[2]Status]string{
	{"", Initialized}:          "InitSDK (first connection)",
	{Initialized, Active}:      "ProcessReady",
	{Initialized, Terminating}: "fleet, location or compute is being removed",
	{Initialized, Terminated}:  "ProcessEnding, ready timeout, connection lost, exit",
	{Active, Terminating}:      "TerminateGameSession, unhealthy, fleet or location is being removed",
	{Active, Terminated}:       "ProcessEnding, connection lost, exit, compute deregistered",
	{Terminating, Terminated}:  "ProcessEnding, exit, grace passed",
}

// Moves returns the allowed changes of status with their causes, for documents and tests.
func Moves() map[[2]Status]string { return moves }

// move changes a process's status. It panics if the change is not in the table.
func (p *Process) move(to Status) {
	if _, ok := moves[[2]Status{p.Status, to}]; !ok {
		panic(fmt.Sprintf("process %s: no move from %q to %q", p.Key, p.Status, to))
	}
	p.Status = to
}
