// Package protocol defines the messages between a host's agent and Muster.
//
// An agent joins once over HTTP (JoinRequest) and stores the credential that it
// receives. Then it keeps one WebSocket open for text frames, each one Message in JSON.
// Muster sends the complete desired state of the host on each connection and change
// (Assign), and the agent implements it; the agent sends the current state (Status) and
// how processes ended (Exited), the latter until Muster has acknowledged it. Nothing is
// lost when a connection breaks.
//
// Builds and logs are transferred in separate HTTP requests with the same credential.
package protocol
