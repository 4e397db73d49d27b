// Package relay lets game server processes connect to their own machine: it
// stands on the loopback interface where AWS's Server SDKs expect Muster, and
// carries all their connections over one WebSocket of the agent's.
//
// While that WebSocket is down the processes notice nothing: heartbeats are
// answered here, other requests wait for it to come back, for as long as the SDKs
// wait for an answer, and ProcessEnding is accepted and passed on later. When it
// is back each process is connected anew with what it showed before, which to
// Muster is a reconnect. AWS's C++ SDK gives up for good two minutes after it
// lost its connection; behind the relay it loses none.
//
// A process is let in with a token of its own, which is good for it alone and
// only here. The listener speaks plain and TLS on one port, as Muster does.
package relay
