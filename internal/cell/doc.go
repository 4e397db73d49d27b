// Package cell lets several nodes stand for one state: one owns it, the others
// forward to that one, and one of them takes over when it is gone.
//
// Who owns a cell is one row in PostgreSQL, the lease: a node takes it where it
// is free or has ended by the database's clock, renews it as long as it lives,
// and gives it back when it stops. Notifications are wake-ups alone; everything
// true is in the row. The lease keeps nodes from getting in each other's way.
// That none writes over another does not depend on it: the store's own fence
// refuses the commits of whoever was the owner before.
//
// A Gate stands before a node's HTTP handler. It answers by itself while the node
// owns the cell, and hands requests and WebSockets to the owner otherwise. Nodes
// speak TLS with each other and know each other's certificates from the lease.
package cell
