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
//   - An attempt searches for the best match around one anchor: it gathers candidates
//     (gather.go), grows sets of them (attempt.go), and seats each complete set (seat.go).
//
// No state is shared between attempts; memory that they reuse is in scratch.
// Rule sets of large matches are searched by package large.
package pool
