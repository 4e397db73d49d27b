// Package beacon measures how far a player is from a location. It contains small
// servers that echo over UDP, TCP and HTTP, and the client that queries them.
//
// The UDP beacon answers any datagram of 1 to 300 bytes with the same bytes, as the
// UDP ping beacons of Amazon GameLift do (developer guide, "UDP ping beacons"), and
// those of PlayFab's clients (FF FF … → 00 00 …). It never sends more than it
// received and never to a privileged port, so it is of no use for flooding others.
//
// A client could report any figure. With a key, the beacon also issues receipts: it
// measures the round trip itself and signs the result, by datagrams or by HTTP. A client can make itself look
// farther away, by waiting, but not nearer.
//
// The package does not depend on players or matchmaking.
package beacon
