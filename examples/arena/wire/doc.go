// Package wire is the arena's network protocol: small binary packets, as UDP datagrams or,
// from browsers, as binary messages of a WebSocket.
//
// Every packet begins with four bytes: 'M', 'A', the version (1) and the kind.
// Numbers are big-endian. A packet has exactly the length its fields give; one
// that is shorter, longer or of another version is dropped without an answer.
//
//	kind          from    fields after the head
//	1 Join        client  length less one u8, player session id (1 to 256 bytes)
//	2 Input       client  key u64, sequence u32, move u8, flags u8 (bit 0 fire)
//	3 Leave       client  key u64
//	4 Welcome     server  key u64, player u8, ticks a second u8, width u16, height u16
//	5 Refused     server  reason u8
//	6 Snapshot    server  tick u32, last input u32, counts 3 × u8, players, shots, pick-ups
//	7 Over        server  reason u8, count u8, scores
//
//	player        id u8, x u16, y u16, facing u8, health u8, score u16
//	shot          x u16, y u16, facing u8
//	pick-up       x u16, y u16
//	score         id u8, score u16
//
// A client sends Join until it is answered. Welcome carries a secret key; Input and
// Leave must repeat it, so nobody can steer a player by forging its address. Until
// the session id has been accepted, no answer is longer than the Join that it
// answers, so the server cannot be used to amplify a flood. The server sends a
// Snapshot each tick. Lost packets are not sent again, since the next one replaces
// them. Over answers Leave and ends a session; it is repeated for as long as Leave
// is.
package wire
