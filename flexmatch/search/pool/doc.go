// Package pool forms matches from many waiting tickets. It finds the matches of
// search.Pass, but looks only at tickets that can play together, and its effort is
// bounded by Limits. docs/search.md draws the way of a ticket through it:
//
//   - A Pool keeps the waiting tickets (pool.go), each with the values by which rules are
//     judged without evaluating them (columns.go), in an index by partition and window
//     (index.go).
//   - A pass takes the tickets that are new or have reached another level as anchors and
//     divides them into one task for each partition (pass.go), which workers do
//     concurrently (worker.go).
//   - An attempt searches for the best match around one anchor. In a pool of few tickets it
//     gathers candidates (gather.go), grows sets of them (attempt.go), and seats each complete
//     set (seat.go). In a crowd (crowd.go) it chooses groups in which the columns allow any set
//     (group.go), and fills the teams from one of them by counting (seats.go, kind.go).
//   - The same counting shows an exhaustive search which sets are in vain (proof.go).
//
// No state is shared between attempts; memory that they reuse is in scratch.
// Rule sets of large matches are searched by package large.
package pool
