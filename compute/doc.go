// Package compute is what games run on: machines (computes) and the game server
// processes on them, with their life cycle, their health, and taking a free one.
//
// A process is a row from the moment it connects until an hour after its end,
// because AWS's server SDKs never announce it a second time: it survives
// dropped sockets and restarts of Muster. Heartbeats stay with the
// connection (package serversdk); only changes of state reach the store.
// Whatever must happen by a time (become ready, come back, stop) is a member of
// the row; loop.go ends what is overdue. The statuses are in status.go.
//
// Packages above learn of a process's end from OnEnded, in the same transaction,
// so no game session is ever left on a dead process. What is sent to a process
// is sent through its Link, after commit.
package compute
