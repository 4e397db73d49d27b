// Package players is the tests of the API for game clients, over HTTP and
// WebSocket, against a Muster in the same process, with real game server
// processes; nothing is faked but the game.
package players
