// Package bots runs headless players: any number of them take all the steps of a
// game's players on a running server, and report the results. It is a load generator
// and, read from bot.go on, a description of the client's flow.
// A bot requests a game (through matchmaking, or by looking for an open game session
// and creating one if there is none), has the game's Program connect to the game server
// with its player session and play, and leaves. It uses the player API through sdk/session,
// and the AWS API as a game's backend does.
//
// A bot whose server or game disappears tries again until Options.Patience has passed.
// Whatever happens, each bot ends with an outcome, and a failure names the last
// obstacle.
package bots
