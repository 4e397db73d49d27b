// Package sim simulates matchmaking without a server: players arrive, search, accept,
// play and leave in virtual time. The production search (flexmatch/search) forms the
// matches from an unchanged rule set.
//
//	spec.go, chance.go       what the players are like: a Spec, as YAML or JSON
//	arrivals.go, trace.go    the tickets: drawn from a Spec, or read from a trace
//	run.go, ticket.go, game.go   the simulation: passes, acceptance, timeouts, game sessions, backfill
//	quality.go, tally.go     the measurements
//	report.go … html.go      the report
//
// The rule set, the Spec or trace, and the seed determine the report, byte for byte. Two
// rule sets that are compared see the same players with the same behavior.
package sim
