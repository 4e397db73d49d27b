// Package demo is what `muster local` shows: a fleet of this machine with game
// server processes of the arena game, a game session with bots in it, and the
// commands to make another from a second terminal.
//
// It uses the domain as any door would. Everything it makes is found again by
// name at the next start, processes that outlived a killed server included.
package demo
