// Package relay lets game server processes connect to their own machine: it listens on
// the loopback interface in place of Muster, and carries the connections of AWS's Server
// SDKs over one WebSocket of the agent.
//
// While that WebSocket is down the processes notice nothing: heartbeats are answered
// here, other requests wait for it to come back, for as long as the SDKs wait for an
// answer, and ProcessEnding is accepted and passed on later, at the latest with the report
// of the end of the process. Once the link is back, each process is connected anew with
// its earlier query, which to Muster is a reconnect.
// AWS's C++ SDK gives up for good two minutes after losing its connection; behind the
// relay it does not lose it.
//
// A process connects with a separate token, which is valid for it alone and only here.
// The listener accepts plain connections and TLS on one port, as Muster does.
package relay
