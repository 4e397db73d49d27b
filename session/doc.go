// Package session is what is played: game sessions, and the player sessions
// that are their reserved and taken slots.
//
// A game session is made on a free process (compute.Take) and becomes ACTIVE
// when that process says so; it ends with its process, in the same transaction
// (compute.OnEnded). A player session is a slot: RESERVED for a minute, ACTIVE
// once the process accepted the player, then COMPLETED or TIMEDOUT. How many
// slots are used is counted, not stored.
//
// Ended sessions stay in memory for a while, so that a repeated request still
// finds them, and then move to the archive, where reads find them for 30 days.
// The statuses are in status.go; loop.go ends what is overdue.
package session
