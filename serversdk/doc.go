// Package serversdk is the door of game server processes: the WebSocket that
// AWS's Server SDK 5 speaks, answered by compute and session.
//
// A process is a peer, and a peer has connections: usually one, two while it
// moves to a new one, none while it is away. Answers are sent on the connection of
// their request; pushes on the newest connection, and wait while there is none.
// A peer is the process's compute.Link.
//
// The behavior of the SDKs determines that of this package (Server SDK 5 protocol,
// observed):
//   - They announce a process once in its life. What a reconnect does not say
//     is in the store, and a lost socket ends nothing by itself.
//   - They take a close frame with 1000 or 1001 for the end. None is sent: a
//     process that is to live sees at most its TCP connection drop.
//   - They repeat a request that was not answered, with the same RequestId.
//     The answer is kept for a while and sent again (replay.go).
//   - They drop a push that overtakes the answer to ActivateServerProcess. A
//     process gets no game session before it is known to hear (health.go).
//   - The C++ SDK hangs in Destroy until the server closes TCP, and reconnects
//     without credentials if it had signed with SigV4. Such a reconnect is
//     accepted from the host that signed before, while the process lives.
//
// On Linux a connection on which nothing comes has no goroutine (park.go). Heartbeats are
// answered without the store. The messages are in package protocol.
package serversdk
