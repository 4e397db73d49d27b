package auth

import "slices"

// Role says what a key may do.
type Role string

// The roles, from most to least.
const (
	Admin       Role = "admin"        // everything
	Operator    Role = "operator"     // everything but managing keys and reading the audit log
	GameBackend Role = "game-backend" // sessions, placements, matchmaking, players, and reading
	GameServer  Role = "game-server"  // what a game server needs: its compute, its token, its connection
	ReadOnly    Role = "read-only"    // Describe, Get, List, Search, Resolve, Validate, and the hosts
)

// Roles lists every role.
var roles = []Role{Admin, Operator, GameBackend, GameServer, ReadOnly}

// Valid reports whether r is a role.
func (r Role) Valid() bool { return slices.Contains(roles, r) }

// Allows reports whether the role may do what an action says.
func (r Role) Allows(action Action) bool {
	switch r {
	case Admin:
		return true
	case Operator:
		return action != ManageKeys && action != ReadAudit
	case GameBackend:
		return backendActions[action] || action.reads()
	case GameServer:
		return serverActions[action]
	case ReadOnly:
		return action == ReadHosts || action.reads()
	}
	return false
}
