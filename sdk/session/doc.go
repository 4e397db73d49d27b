// Package session defines what a game client does with game sessions: create one, search,
// join and leave; request a match, accept it, and follow a ticket to its end. It contains
// types and interfaces that depend on no service, and uses the standard library only.
//
// Implementations and companions:
//
//   - session/gamelift calls the Amazon GameLift API with operator keys: for a
//     game's backend, for tools and for development. It works against Amazon
//     GameLift and against Muster alike.
//   - session/player calls Muster's player API without keys, as one player: for
//     games shipped to players.
//   - session/async offers the same calls with callbacks, for game engines.
//   - session/filter writes search expressions.
//   - session/matchdata reads the matchmaker data that a game server receives.
//
// The vocabulary is that of the O3DE session interface (Multiplayer gem) with the
// spelling of the Amazon GameLift API: a session is a game session, a reservation is a
// player session, a ticket is a matchmaking ticket.
//
// Errors: every failed call returns an error that matches one of this package's sentinels
// with errors.Is; the service's own error remains available to errors.As. A method whose
// context ends first returns the context's error.
package session
