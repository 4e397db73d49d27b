// Package cases runs written examples of the matchmaking rules: files of cases
// that say, without any code, what a rule set is worth, what an expression gives,
// which matches form from which tickets, and how tickets end.
//
// A case of tickets is a play on a clock of its own that starts at second 0. In
// one second come arrivals, actions, timers (placement results, then acceptance
// timeouts, then request timeouts) and the pass, in this order. The life of
// tickets is played here by the rules of the developer guide, without a server.
package cases
