// Package search forms matches from waiting tickets. It is pure: tickets, a time
// and a compiled rule set go in, matches come out; nothing waits, nothing is
// stored, no clock is read.
//
// A match is valid when
//
//  1. it holds at most one backfill ticket, and with one at least one new player;
//  2. every team has between its smallest and greatest number of players, those
//     of the backfilled game session included;
//  3. all players together leave AdditionalPlayerCount slots free;
//  4. every player has a value for every declared attribute, and latencies when
//     the rule set has a latency rule;
//  5. every enforced rule passes on the whole match, with the values that hold at
//     the match's age.
//
// Verify judges that from the definition. Pass is the reference search: for each
// ticket, oldest first, it finds the best match that holds it: the most new
// players, then the earliest candidates, then (strategy balanced) the most even
// teams. Pool is the search for many tickets; every match it forms is verified.
package search
