// Package session is game sessions, and the player sessions that are their reserved and
// used slots.
//
// A game session is created on a free process (compute.Take) and becomes ACTIVE when that
// process reports it. It ends with its process, in the same transaction
// (compute.OnEnded). A player session is a slot: RESERVED for a minute, ACTIVE once the
// process has accepted the player, then COMPLETED or TIMEDOUT. The number of used slots
// is counted, not stored.
//
// Ended sessions stay in memory for some time, so that a repeated request finds them, and
// are then archived, where they can be read for 30 days. The statuses are in status.go;
// Service.Run ends overdue sessions.
package session
