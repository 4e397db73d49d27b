// Package cell lets several nodes serve one state: one node owns it, the others
// forward requests to that node, and one of them takes over when it is gone.
//
// The owner of a cell is recorded in one row in PostgreSQL, the lease: a node takes
// it if it is free or has ended by the database's clock, renews it while it lives,
// and gives it back when it stops. Notifications only wake nodes up; the row has all
// information. The lease keeps nodes from interfering with each other, but the
// guarantee that no node overwrites another's changes does not depend on it: the
// store's own fence refuses the commits of a previous owner.
//
// A Gate stands before a node's HTTP handler. While the node owns the cell, the
// handler answers; otherwise the Gate forwards requests and WebSockets to the owner.
// Nodes use TLS between each other and know each other's certificates from the lease.
package cell
