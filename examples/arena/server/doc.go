// Package server runs one game session of the arena on a UDP socket and, for players in
// browsers, on WebSockets.
//
// A room decides: it takes packets, answers of the hosting service and the time, and
// lists the packets to send and the requests to make. It is plain sequential code.
// The Server around it owns the socket, the ticker and the calls to the hosting
// service. One goroutine runs the room; nothing else touches it.
//
// A player is admitted only after the hosting service has accepted its player
// session, and the service is notified when the player leaves or falls silent. The
// session ends when its time is up, when the last player has left, when nobody came,
// or when the caller cancels.
// when the caller cancels.
package server
