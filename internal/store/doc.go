// Package store keeps a cell's state: in memory for reads and decisions, and in SQL
// before anyone may rely on it.
//
// Tables are copy-on-write B-trees with secondary indexes. A command is a
// closure that runs alone on the head, the newest state, and either finishes or
// leaves no trace. The journal writes the changes of all waiting commands in one
// SQL transaction while the next ones already run; once that transaction is
// durable the state it led to is published as an immutable snapshot, the hooks
// given to OnCommit run, and callers are answered, in that order. So what View
// shows, and whatever Do has returned, survives a crash.
//
// A fence row in SQL names the one owner of the cell. Each commit checks and
// advances it; a commit by an owner that was replaced aborts whole.
//
// The package knows nothing of games: it owns the order of changes, their
// durability, the archive of ended rows and the append-only logs. Drivers for
// SQLite and PostgreSQL are the folders below; NewMemory is a driver for tests,
// simulations and replays.
package store
