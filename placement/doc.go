// Package placement is queues and placements: which process gets the next game
// session.
//
// A placement is a request that waits, PENDING, until its queue finds a place
// for it. The row is the work item: nothing else remembers it, so a restart or
// a change of owner forgets none and places none twice. One loop (loop.go)
// plans for all that wait: Plan (plan.go) is pure, from a snapshot and a moment
// to proposals, and one command commits many of them, each guarded by what it
// expects. Who comes first among candidates is in order.go, which of them a
// player's latency forbids in policy.go, and why one was passed over in
// explain.go.
//
// The game session's becoming ACTIVE fulfils the placement, and its end before
// that sends the placement back to waiting, in the same transaction
// (session.OnActivated, session.OnEnded). The statuses are in status.go.
package placement
