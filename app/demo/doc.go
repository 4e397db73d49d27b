// Package demo is the demo of `muster local`: a fleet on this machine with game
// server processes of the arena game, a game session with bots in it, and the
// commands for creating another from a second terminal.
//
// It uses the domain as any door would. It finds its resources by name at the next
// start, including processes that outlived a killed server.
package demo
