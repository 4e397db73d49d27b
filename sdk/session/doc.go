// Package session is what a game client does with game sessions: create one,
// search, join and leave; be matched with others, accept, and follow a ticket to
// its end. It holds the types and interfaces, in plain Go and without any
// service's names in them, and uses the standard library only.
//
// Who does it:
//
//   - session/gamelift calls the Amazon GameLift API with operator keys: for a
//     game's backend, for tools and for development. It works against Amazon
//     GameLift and against Muster alike.
//   - session/player calls Muster's player API without keys, as one player: for games
//     that players have.
//   - session/async gives the same as calls with callbacks, for game engines.
//   - session/filter writes search expressions.
//   - session/matchdata reads the matchmaker data that a game server is given.
//
// The vocabulary is that of the O3DE session interface (Multiplayer gem) with
// the spelling of the Amazon GameLift API: a session is a game session, a
// reservation is a player session, a ticket is a matchmaking ticket.
//
// Errors: each failed call gives an error for which errors.Is finds one of the
// sentinels of this package; the service's own error stays reachable with
// errors.As. Methods that take a context return its error when it ends first.
package session
