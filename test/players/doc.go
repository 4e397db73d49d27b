// Package players tests the API for game clients, over HTTP and WebSocket, with a
// Muster in the same process and real game server processes; only the game is fake.
package players
