// Package sim simulates matchmaking without a server: players arrive, search, accept,
// play and leave in virtual time. The production code forms the matches from an unchanged
// rule set (flexmatch/search/pool) and decides what becomes of tickets (flexmatch/life).
//
//	spec.go, chance.go       what the players are like: a Spec, as YAML or JSON
//	arrivals.go, trace.go    the tickets: drawn from a Spec, or read from a trace
//	run.go, match.go, ticket.go, game.go   the simulation: passes, answers, simulated placements, game sessions, backfill
//	quality.go, tally.go     the measurements
//	batch.go, compare.go, versus.go   two rule sets on the same tickets, with intervals
//	report.go … html.go      the report
//
// The rule set, the Spec or trace, and the seed determine the report, byte for byte. Two
// rule sets that are compared see the same players with the same behavior.
package sim
