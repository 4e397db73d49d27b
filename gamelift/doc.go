// Package gamelift holds the wire shapes of the Amazon GameLift API 2015-10-01:
// inputs, outputs and structures, their constraints, the operation table and
// the enumerations. All of it is generated but Time, and none of it behaves:
// rules live in the domain packages, mapping in api.
//
// Absent members are nil. An empty list that is not nil is sent as [], which
// some clients expect. Timestamps are exact to the millisecond.
//
//go:generate go run ../internal/gen -out .
package gamelift
