// Package hosts is the door for host agents: machines join here with a one-time
// token, hold a WebSocket on which they are told what shall run on them and tell
// what does, fetch builds and bring logs (hosts/protocol).
//
// The domain (package compute) decides; this package carries. A host's wish is
// sent whole whenever it changes and on each connection; what a host reports
// reaches the store only when it differs from the last report. Nothing here has
// to survive a restart: hosts come back and say everything again, and a report
// of a process's end is repeated until it is acknowledged, which is when its logs
// are stored as well.
package hosts
