// Package door is what every connection and every request meets first, whichever
// door it is for: how many connections there may be, how long a body may take to
// arrive, how many bytes of bodies are held in memory at a time, and from which
// address a request comes.
//
// A connection counts as a stranger until one of its requests has shown who sends
// it (Known). Strangers are few for each network: one more closes the one that has
// been a stranger longest. Connections that are known are bounded in all only, so
// that thousands of game servers may share an address.
package door
