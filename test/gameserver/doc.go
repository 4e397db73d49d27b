// Package gameserver is a game server process for tests: it speaks the Server SDK 5
// protocol over a plain WebSocket and follows the connection rules of AWS's Go SDK.
// It activates each game session it is assigned, ends when it is told to, and when
// its socket breaks it reconnects with the same URL and without reporting its state.
// It records every game session it was assigned, so that tests can check whether one
// process ever got two.
package gameserver
