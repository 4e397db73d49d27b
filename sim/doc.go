// Package sim plays matchmaking without a server: players arrive, search, accept,
// play and leave on a clock of its own, and the matches are formed by the search
// of production (flexmatch/search) from the rule set as it is.
//
//	spec.go, chance.go       what the players are like: a Spec, as YAML or JSON
//	arrivals.go, trace.go    the tickets: drawn from a Spec, or read from a trace
//	run.go, ticket.go, game.go   the play: passes, acceptance, timeouts, game sessions, backfill
//	quality.go, tally.go     what is measured
//	report.go … html.go      what is told
//
// Everything follows from the rule set, the Spec or trace, and the seed: the same
// ones give the same report, byte for byte. Two rule sets that are compared see
// the same players, who behave alike.
package sim
