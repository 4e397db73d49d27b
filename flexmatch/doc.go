// Package flexmatch is matchmaking: configurations, rule sets, tickets and the matches
// formed from them.
//
// A ticket is a waiting request. Its row is the work item (ticket.go): a restart or a
// change of owner loses no ticket and matches none twice. The pure package life decides
// what becomes of tickets and matches, which lives.go carries out as rows and
// events in the caller's transaction. Each configuration has one matcher
// (matcher.go), a goroutine with a pool of the waiting tickets in memory, updated after
// commits. A pass over the pool proposes matches; a command commits them, each only if all
// its tickets still wait. After acceptance (accept.go), if required, a match is placed by
// a queue or fills up a game session (place.go). A standalone match completes immediately.
//
// Deadlines are in deadline.go, published events in announce.go, the matchmaker data for
// game servers in data.go, automatic backfill in backfill.go. The rule language and the
// search are pure packages too: ruleset, search.
package flexmatch
