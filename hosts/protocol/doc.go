// Package protocol is what a host's agent and Muster say to each other.
//
// An agent joins once over HTTP (JoinRequest) and keeps the credential that it
// is given. Then it holds one WebSocket on which text frames travel, each one
// Message in JSON. Muster sends the whole wish for the host, again on each
// connection and change (Assign), and the agent makes it so; the agent sends
// what is (Status) and how processes ended (Exited), the latter until Muster
// has acknowledged it. Nothing is lost with a connection.
//
// Builds and logs travel beside it, over plain HTTP with the same credential.
package protocol
