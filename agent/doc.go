// Package agent runs game server processes on a machine for Muster: `muster
// agent`, and the same inside `muster local`.
//
// It joins once with a one-time token and stores the credential that it receives. From
// then on Muster sends it the complete desired state of the machine (hosts/protocol):
// which instances it should have, with which builds and processes. Each Instance
// (package instance) implements its part: it installs the build, keeps the processes of
// the runtime configuration running, and ends them when the instance should end. The
// agent reports what happens; reports of ended processes are stored on disk until
// Muster has acknowledged them.
//
//	server      where Muster is, and the credential for it
//	link        the WebSocket (package link): desired state in, status and reports out
//	host        what the link connects: messages to the parts below, and their status
//	instances   what runs here
//	reports     ended processes, on disk until acknowledged
//	uploads     logs on their way to Muster
//
// All its state is below Root, so an agent that is killed, upgraded or disconnected
// continues where it was: processes run in their own sessions and are found again
// (package supervise), the last desired state is on disk, and nothing is stopped
// because Muster cannot be reached.
//
//	ROOT/credential.json   the host's credential; mode 0600
//	ROOT/wish.json         the last desired state; mode 0600, it holds tokens
//	ROOT/cache/            builds (package install); mode 0700: instances have their own trees
//	ROOT/staging/          builds that are being installed
//	ROOT/reports/          reports of ended processes, until acknowledged
//	ROOT/last-user         the number of the user that was assigned last
//	ROOT/instances/ID/     game/ (the build's tree), slots/, logs/, user
package agent
