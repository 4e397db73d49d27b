// Package beacon measures how far a player is from a location: small servers
// that echo over UDP, TCP and HTTP, and the client that asks them.
//
// The UDP beacon answers any datagram of 1 to 300 bytes with the same bytes, as
// the UDP ping beacons of Amazon GameLift do (developer guide, "UDP ping
// beacons"), and those of PlayFab's clients (FF FF … → 00 00 …). It never sends
// more than it received and never to a privileged port, so it is no use to who
// wants to flood somebody else.
//
// A client could report any figure. With a key the beacon also gives receipts: it
// measures the round trip itself and signs what it found. Who wants to look
// nearer than they are cannot; who wants to look farther can only wait.
//
// The package knows nothing of players or matchmaking.
package beacon
