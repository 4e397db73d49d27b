// Package hosts is the door for host agents: machines join here with a one-time token,
// keep a WebSocket open on which they receive what to run and report what runs,
// download builds and upload logs (hosts/protocol).
//
// The domain (package instance) makes the decisions; this package transports them. The
// complete desired state of a host is sent whenever it changes and on each connection;
// a host's report reaches the store only if it differs from the last one. Nothing here
// has to survive a restart: hosts reconnect and send everything again, and the report
// of a process's end is repeated until it is acknowledged, which happens once its logs
// are stored too.
package hosts
