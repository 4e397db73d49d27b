package fleetiq

import "github.com/musterhq/muster/internal/state"

// Status is the state of a game server group, spelled as the API's GameServerGroupStatus.
// Nothing has to be set up for a group, so it is never NEW, ACTIVATING or in ERROR.
type Status string

// The states of a group.
const (
	Active          Status = "ACTIVE"
	DeleteScheduled Status = "DELETE_SCHEDULED" // takes no game servers and no claims
	Deleting        Status = "DELETING"         // its game servers are being deregistered
	Deleted         Status = "DELETED"
)

// Moves lists each allowed change of a group's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Active}:                "CreateGameServerGroup",
	{Active, DeleteScheduled}:   "DeleteGameServerGroup",
	{DeleteScheduled, Deleting}: "no game server is claimed or utilized, or FORCE_DELETE",
	{Deleting, Deleted}:         "its last game server is deregistered",
}

func (g *Group) move(to Status) { Moves.Move(&g.Status, to, g.Name) }

// Utilization is the state of a game server, spelled as the API's
// GameServerUtilizationStatus.
type Utilization string

// The states of a game server. A claimed one is AVAILABLE.
const (
	Available Utilization = "AVAILABLE"
	Utilized  Utilization = "UTILIZED"
)

// ServerMoves lists each allowed change of a game server's utilization and what causes it.
var ServerMoves = state.Machine[Utilization]{
	{"", Available}:       "RegisterGameServer",
	{Available, Utilized}: "UpdateGameServer",
}

func (v *GameServer) move(to Utilization) { ServerMoves.Move(&v.Utilization, to, v.ID) }
