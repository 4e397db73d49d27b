// Package search says what a match is, and forms the matches of few tickets by the
// definition. It is pure: from tickets, a time and a compiled rule set it computes
// matches, and it neither blocks nor stores anything.
//
// A match is valid when
//
//  1. it has at most one backfill ticket, and with one, at least one new player;
//  2. the size of every team is between its minimum and maximum, the players
//     of the backfilled game session included;
//  3. all players together leave AdditionalPlayerCount slots free, the backfilled game session has
//     slots for the new ones, and none of them is in it already;
//  4. every player has a value for every declared attribute, and latencies if
//     the rule set has a latency rule;
//  5. every enforced rule passes on the whole match, with the values that apply at
//     the match's age.
//
// Verify checks these conditions directly. Pass is the reference search: for each ticket,
// oldest first, it finds the best match that includes it: the most new players, then the
// earliest candidates, then (strategy balanced) the most even teams.
//
// Two packages build on this one: pool searches many tickets, large forms matches of more
// than 40 players. Judge.Form verifies every match that they form. docs/search.md is an
// overview.
package search
