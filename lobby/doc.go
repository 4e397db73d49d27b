// Package lobby is what players are part of before they play: parties, tickets, and
// game sessions that they request themselves. It knows players by their ids and names
// no fleet: players name matchmakers and pools, which the operator's configuration
// (Offer) maps to matchmaking configurations and queues.
//
// A player's ticket and the matchmaker's are written together: one command starts both,
// and every later change of the matchmaker's ticket updates the player's in its own
// transaction (flexmatch.OnChanged). So neither is ever behind the other, and they need
// no reconciliation. The same holds for placements (placement.OnEnded).
//
// Each change assigns the row an identifier that increases across all rows, which clients
// use as a cursor. On commit, OnChanged reports whose rows have changed.
//
// Nothing here trusts a client: attributes come from server-owned data unless the offer
// takes them from clients, latency is filtered, members of a party agree for themselves,
// and what belongs to another player is not found.
package lobby
