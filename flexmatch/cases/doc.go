// Package cases runs written examples of the matchmaking rules. Files of cases say,
// without any code, whether a rule set is valid, what an expression evaluates to, which
// matches form from which tickets, and how tickets end.
//
// A case with tickets is a play with its own clock, which starts at second 0. In one
// second come arrivals, actions, timers (placement results, then acceptance timeouts,
// then request timeouts) and the pass, in this order. What becomes of tickets is decided
// by package life, as in the server; placements are simulated.
package cases
