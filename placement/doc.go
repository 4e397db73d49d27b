// Package placement is queues and placements: which process gets the next game
// session.
//
// A placement is a request that is PENDING until its queue finds a place for it. Its row
// is the only work item, so a restart or a change of owner loses no placement and places
// none twice. One loop (loop.go) plans for all waiting placements: plan (plan.go) is pure
// and computes proposals from a snapshot and a time; one command commits many of them,
// each only if its preconditions still hold. The order of candidates is in order.go,
// latency caps in judge.go, and the reason why a candidate was passed over in
// explain.go.
//
// When its game session becomes ACTIVE, the placement is fulfilled; when the game session
// ends before that, the placement waits again. Both happen in the same transaction
// (session.OnActivated, session.OnEnded). The statuses are in status.go.
package placement
