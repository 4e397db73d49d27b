package session

import "fmt"

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

var moves = map[[2]Status]string{
	{"", Activating}:          "CreateGameSession, placement",
	{Activating, Active}:      "ActivateGameSession",
	{Activating, Terminating}: "TerminateGameSession, process told to stop",
	{Activating, Terminated}:  "activation timeout, process ended",
	{Active, Terminating}:     "TerminateGameSession, process told to stop",
	{Active, Terminated}:      "process ended",
	{Terminating, Terminated}: "process ended",
}

// Moves returns the allowed changes of a game session's status with their causes.
func Moves() map[[2]Status]string { return moves }

// move changes a game session's status. A change that is not in the table is a bug.
func (g *GameSession) move(to Status) {
	if _, ok := moves[[2]Status{g.Status, to}]; !ok {
		panic(fmt.Sprintf("game session %s: no move from %q to %q", g.ID, g.Status, to))
	}
	g.Status = to
}

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

var playerMoves = map[[2]PlayerStatus]string{
	{"", Reserved}:        "CreatePlayerSession(s), placement",
	{Reserved, Playing}:   "AcceptPlayerSession, at once under muster wrap",
	{Reserved, TimedOut}:  "60 s passed, game session ended",
	{Reserved, Completed}: "RemovePlayerSession",
	{Playing, Completed}:  "RemovePlayerSession, game session ended",
}

// PlayerMoves returns the allowed changes of a player session's status with their causes.
func PlayerMoves() map[[2]PlayerStatus]string { return playerMoves }

// move changes a player session's status. A change that is not in the table is a bug.
func (p *PlayerSession) move(to PlayerStatus) {
	if _, ok := playerMoves[[2]PlayerStatus{p.Status, to}]; !ok {
		panic(fmt.Sprintf("player session %s: no move from %q to %q", p.ID, p.Status, to))
	}
	p.Status = to
}
