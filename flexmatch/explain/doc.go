// Package explain says why tickets wait. It is pure: it computes an Explanation from a
// rule set, the waiting tickets and a time.
//
// It answers four questions, each with bounded effort:
//
//   - Can the ticket ever be matched? Causes are missing attributes or latencies, a
//     party larger than every team, and a rule that the ticket breaks by itself.
//   - Who could play with it? The ticket is compared with each of the others, or
//     with a sample evenly chosen by age. Only rules that stay broken as a match
//     grows are judged on two tickets, because more players may repair the others.
//   - How near is a match? The largest group found around the ticket, the players
//     that it lacks, and the rules that it breaks.
//   - When would it be matched if no ticket were added or removed? The production
//     search is run ahead over the waiting tickets, from expansion step to step.
//
// For a whole pool, Pool returns which rules block most, how old the tickets are, and
// which matches the coming expansion steps would form.
package explain
