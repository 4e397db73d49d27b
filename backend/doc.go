// Package backend is the door for game clients: accounts, player data, latency,
// matchmaking, parties and game sessions under /player/v1, by HTTP and by
// WebSocket. Clients have no key of the AWS API.
//
// It keeps no rows and runs no commands: accounts and data are identity's, everything
// that players are part of is lobby's. Each resource has a handler type, with the
// requests about it and the form in which clients see it.
//
// Push and long poll (hub.go, conn.go) are notified of the player, not of the
// change: they read the rows that changed since their cursor. A client that was
// away continues from its cursor, even after a restart of the server.
package backend
