package auth

import "strings"

// Role says what a key may do.
type Role string

// The roles, from most to least.
const (
	Admin       Role = "admin"        // everything, keys included
	Operator    Role = "operator"     // every operation of the API
	GameBackend Role = "game-backend" // sessions, placements, matchmaking, and reading
	GameServer  Role = "game-server"  // what a game server needs: its compute, its token, its connection
	ReadOnly    Role = "read-only"    // Describe, Get, List, Search, Resolve
)

// Roles lists every role.
var roles = []Role{Admin, Operator, GameBackend, GameServer, ReadOnly}

// Valid tells whether r is a role.
func (r Role) Valid() bool {
	for _, known := range roles {
		if r == known {
			return true
		}
	}
	return false
}

// backendWrites are the operations that a game backend needs besides reading.
var backendWrites = map[string]bool{
	"AcceptMatch": true, "ClaimGameServer": true, "CreateGameSession": true,
	"CreatePlayerSession": true, "CreatePlayerSessions": true,
	"StartGameSessionPlacement": true, "StartMatchBackfill": true, "StartMatchmaking": true,
	"StopGameSessionPlacement": true, "StopMatchmaking": true,
	"TerminateGameSession": true, "UpdateGameSession": true,
}

// serverCalls are the operations that a game server or its wrapper makes.
var serverCalls = map[string]bool{
	"DeregisterCompute": true, "DescribeCompute": true, "DescribeRuntimeConfiguration": true,
	"GetComputeAuthToken": true, "ListCompute": true, "RegisterCompute": true,
}

// readsSecrets are operations that read in name, but hand out access.
var readsSecrets = map[string]bool{
	"GetComputeAccess": true, "GetComputeAuthToken": true, "GetInstanceAccess": true,
}

// Allows tells whether the role may call an operation of the API.
func (r Role) Allows(operation string) bool {
	switch r {
	case Admin, Operator:
		return true
	case GameBackend:
		return backendWrites[operation] || reads(operation)
	case GameServer:
		return serverCalls[operation]
	case ReadOnly:
		return reads(operation)
	}
	return false
}

// MayHost tells whether the role may connect game server processes (SigV4 on
// the Server SDK's WebSocket).
func (r Role) MayHost() bool { return r == Admin || r == Operator || r == GameServer }

func reads(operation string) bool {
	if readsSecrets[operation] {
		return false
	}
	for _, verb := range []string{"Describe", "Get", "List", "Resolve", "Search", "Validate"} {
		if strings.HasPrefix(operation, verb) {
			return true
		}
	}
	return false
}
