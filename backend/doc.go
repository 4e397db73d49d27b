// Package backend is the door for game clients: accounts, player data, latency,
// matchmaking, parties and game sessions under /player/v1, by HTTP and by
// WebSocket. Clients hold no key of the AWS API and never name a fleet: they name
// matchmakers and pools, which the operator's configuration leads to matchmaking
// configurations and queues.
//
// What a player may be told of a ticket is a row of our own (ticket.go): who is on
// it, its state, where to play. It follows the matchmaker's ticket: an event only
// says which ticket to look at, and the watcher (watch.go) then brings the row to
// what the matchmaker says now. So events may be lost, doubled or out of order;
// those that were lost the reconciler (reconcile.go) makes up for by looking at open
// tickets again.
//
// Push and long poll (hub.go, socket.go) are told of the player, not of the
// change: they read the rows that changed since the cursor they have. A client
// that was away goes on from its cursor, also after a restart of the server.
//
// Nothing here trusts a client: the player is who the token says, attributes come
// from server-owned data unless the configuration takes them from clients,
// latency is filtered, members of a party agree for themselves, and what belongs
// to somebody else is not found.
package backend
