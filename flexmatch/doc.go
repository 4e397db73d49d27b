// Package flexmatch is matchmaking: configurations, rule sets, tickets and the matches
// formed from them.
//
// A ticket (ticket.go) is a waiting request. Its row is the work item: a restart or a
// change of owner loses no ticket and matches none twice. Each configuration has one
// matcher (matcher.go), a goroutine with a pool of the waiting tickets in memory, updated
// after commits. A pass over the pool proposes matches; a command commits them, each only
// if all its tickets still wait (propose.go). After acceptance (accept.go), if required,
// a match is placed by a queue (place.go) or fills up a game session (backfill.go). A
// standalone match completes immediately.
//
// Deadlines are in deadline.go, published events in announce.go, the matchmaker data for
// game servers in data.go, automatic backfill in automatic.go. The language and the
// search are pure packages: ruleset, search.
package flexmatch
