// Package cases runs written examples of the matchmaking rules. Files of cases state,
// without any code, whether a rule set is valid, what an expression evaluates to, which
// matches form from which tickets, and how tickets end.
//
// A case with tickets is played on its own clock, which starts at second 0. Each second has
// arrivals, actions, timers (placement results, then acceptance timeouts, then request
// timeouts) and the pass, in this order. Package life decides what becomes of tickets, as
// in the server; placements are simulated.
package cases
