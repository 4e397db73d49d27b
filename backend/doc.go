// Package backend is the door for game clients: accounts, player data, latency,
// matchmaking, parties and game sessions under /player/v1, by HTTP and by
// WebSocket. Clients have no key of the AWS API and never name a fleet: they name
// matchmakers and pools, which the operator's configuration maps to matchmaking
// configurations and queues.
//
// What a player may know of a ticket is a row of our own (ticket.go): who is on
// it, its state, where to play. It follows the matchmaker's ticket: an event only
// says which ticket to look at, and the watcher (watch.go) then updates the row to
// the matchmaker's current state. So events may be lost, duplicated or out of
// order; the reconciler (reconcile.go) compensates for lost ones by looking at open
// tickets again.
//
// Push and long poll (hub.go, socket.go) are notified of the player, not of the
// change: they read the rows that changed since their cursor. A client that was
// away continues from its cursor, even after a restart of the server.
//
// Nothing here trusts a client: the player is the token's, attributes come from
// server-owned data unless the configuration takes them from clients, latency is
// filtered, members of a party agree for themselves, and what belongs to another
// player is not found.
package backend
