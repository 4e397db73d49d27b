package auth

import (
	"slices"
	"strings"
)

// Role says what a key may do.
type Role string

// The roles, from most to least.
const (
	Admin       Role = "admin"        // everything
	Operator    Role = "operator"     // everything except managing keys, reading the audit log and remote access
	GameBackend Role = "game-backend" // sessions, placements, matchmaking, players, and reading
	GameServer  Role = "game-server"  // what a game server needs: compute, token and connection
	PlayerData  Role = "player-data"  // the stored data of players, for game servers
	RemoteShell Role = "remote-shell" // shells on instances of managed fleets, and what read-only may
	ReadOnly    Role = "read-only"    // reading, except what grants access
)

// Roles returns every role.
func Roles() []Role {
	return []Role{Admin, Operator, GameBackend, GameServer, PlayerData, RemoteShell, ReadOnly}
}

// Valid reports whether r is a role.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

// scopable reports whether keys of the role can have a scope.
func (r Role) scopable() bool { return r != Admin && r != PlayerData }

// rolesFor returns the roles that may perform an action, from least to most, in words.
func rolesFor(action Action) string {
	var names []string
	for _, r := range slices.Backward(Roles()) {
		if r.Allows(action) {
			names = append(names, string(r))
		}
	}
	if n := len(names) - 1; n > 0 {
		return "the roles " + strings.Join(names[:n], ", ") + " and " + names[n]
	}
	return "the role " + names[0] + " alone"
}

// Allows reports whether the role may perform an action.
func (r Role) Allows(action Action) bool {
	switch r {
	case Admin:
		return true
	case Operator:
		return !adminActions[action] && !shellActions[action]
	case GameBackend:
		return backendActions[action] || action.reads()
	case GameServer:
		return serverActions[action]
	case PlayerData:
		return action == ReadPlayerData || action == WritePlayerData
	case RemoteShell:
		return shellActions[action] || ReadOnly.Allows(action)
	case ReadOnly:
		return action == ReadHosts || action.reads() && !connects[action]
	}
	return false
}
