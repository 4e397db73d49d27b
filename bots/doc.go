// Package bots plays: any number of headless players go the whole way that a
// game's players go, on a running server, and tell how it went. It is a load
// generator and, read from bot.go on, a description of the client's flow.
//
// A bot asks for a game (through matchmaking, or by looking for an open game
// session and making one), connects to the arena's game server over UDP with the
// player session it was given, plays, and leaves. It sees a Muster through
// sdk/session only, as any caller would.
//
// A bot whose server goes away, or whose game does, asks again until its patience
// is over. Whatever happens, each bot ends with an outcome, and a failure says
// what was last in the way.
package bots
