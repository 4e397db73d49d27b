// Package gamelift defines the wire shapes of the Amazon GameLift API 2015-10-01:
// inputs, outputs and structures, their constraints, the operation table and
// the enumerations. All of it except Time is generated, and contains no behavior:
// rules are in the domain packages, mapping in api.
//
// Absent members are nil. An empty list that is not nil is sent as [], which
// some clients expect. Timestamps have a precision of one millisecond.
//
//go:generate go run ../internal/gen -out .
package gamelift
