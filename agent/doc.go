// Package agent runs game server processes on a machine for Muster: `muster
// agent`, and the same inside `muster local`.
//
// It joins once with a one-time token and keeps the credential that it is given.
// From then on Muster tells it the whole wish for the machine (hosts/protocol):
// which instances shall be there, with which build and which processes. Each
// instance is a goroutine that makes its part so: it installs the build, keeps
// the processes of the runtime configuration running, and ends them when it
// shall go. What happens is reported; ends of processes are kept on disk until
// Muster has acknowledged them.
//
// Everything it needs to go on is below Root, so an agent that is killed,
// upgraded or cut off goes on where it was: the processes live in sessions of
// their own and are found again (package supervise), the last wish is on disk,
// and nothing is stopped because Muster cannot be reached.
//
//	ROOT/credential.json   who we are; mode 0600
//	ROOT/wish.json         the last wish; mode 0600, it holds tokens
//	ROOT/cache/            builds (package install); mode 0700: instances have trees
//	ROOT/staging/          builds that are being installed
//	ROOT/reports/          ends of processes, until acknowledged
//	ROOT/last-user         the number of the user that an instance was given last
//	ROOT/instances/ID/     game/ (the build's tree), slots/, logs/, user
package agent
