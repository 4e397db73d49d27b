package session

import "github.com/musterhq/muster/internal/state"

// Status is the state of a game session, spelled as the API's GameSessionStatus.
type Status string

// The states of a game session.
const (
	Activating  Status = "ACTIVATING"
	Active      Status = "ACTIVE"
	Terminating Status = "TERMINATING"
	Terminated  Status = "TERMINATED"
)

// Ended reports whether the session has ended.
func (s Status) Ended() bool { return s == Terminated }

// Moves lists each allowed change of a game session's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Activating}:          "CreateGameSession, placement",
	{Activating, Active}:      "ActivateGameSession",
	{Activating, Terminating}: "TerminateGameSession, process told to stop",
	{Activating, Terminated}:  "activation timeout, process ended, TerminateGameSession by the process",
	{Active, Terminating}:     "TerminateGameSession, process told to stop",
	{Active, Terminated}:      "process ended, TerminateGameSession by the process",
	{Terminating, Terminated}: "process ended, TerminateGameSession by the process",
}

func (g *GameSession) move(to Status) { Moves.Move(&g.Status, to, g.ID) }

// PlayerStatus is the state of a player session, spelled as the API's PlayerSessionStatus.
type PlayerStatus string

// The states of a player session.
const (
	Reserved  PlayerStatus = "RESERVED"
	Playing   PlayerStatus = "ACTIVE"
	Completed PlayerStatus = "COMPLETED"
	TimedOut  PlayerStatus = "TIMEDOUT"
)

// HoldsSlot reports whether a player session in this state uses a slot.
func (s PlayerStatus) HoldsSlot() bool { return s == Reserved || s == Playing }

// PlayerMoves lists each allowed change of a player session's status and what causes it.
var PlayerMoves = state.Machine[PlayerStatus]{
	{"", Reserved}:        "CreatePlayerSession(s), placement",
	{Reserved, Playing}:   "AcceptPlayerSession, at once under muster wrap",
	{Reserved, TimedOut}:  "60 s passed, game session ended",
	{Reserved, Completed}: "RemovePlayerSession",
	{Playing, Completed}:  "RemovePlayerSession, game session ended, the program counts fewer players",
}

func (p *PlayerSession) move(to PlayerStatus) { PlayerMoves.Move(&p.Status, to, p.ID) }
