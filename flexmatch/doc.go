// Package flexmatch is matchmaking: configurations, rule sets, tickets and the
// matches that become of them.
//
// A ticket (ticket.go) is a request that waits. The row is the work item: a
// restart or a change of owner forgets none and matches none twice. Each
// configuration has one matcher (matcher.go), a goroutine with a pool of the
// waiting tickets in memory, fed by commits. A pass over the pool proposes
// matches; a command commits them, each only if all its tickets still wait
// (propose.go). From there a match goes by acceptance (accept.go) to its end:
// a placement in a queue (place.go), a game session that is filled up
// (backfill.go), or, standalone, at once.
//
// Deadlines are in deadline.go, what subscribers outside are told in
// announce.go, what a game server is told in data.go, automatic backfill in
// automatic.go. The language and the search are pure and lie below: ruleset,
// search.
package flexmatch
