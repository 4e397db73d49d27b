// Package door handles every connection and every request first, whichever door they
// are for: it bounds the number of connections, how long a body may take to arrive, how
// many bytes of bodies are in memory, and how slowly a client may read, and it
// determines the client's address.
//
// A connection counts as a stranger until one of its requests is authenticated (Known).
// The number of strangers per network is small: another one closes the oldest. Known
// connections are bounded only in total, so that thousands of game servers may share an
// address.
package door
