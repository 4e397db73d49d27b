// Package explain says why tickets wait. It is pure: a rule set, the waiting
// tickets and a time go in, an Explanation comes out.
//
// Four questions, each with a bounded effort:
//
//   - Can the ticket ever be matched? Missing attributes, missing latencies, a
//     party larger than every team, a rule that it breaks by itself.
//   - Who could play with it? It is held against each of the other tickets, or
//     evenly chosen ones of many. Only rules that stay broken however a match
//     grows are judged on two tickets; what more players can repair is not.
//   - How near is a match? The largest group around the ticket that is found, what
//     it lacks, and the rules that refuse it.
//   - When would it be matched if nobody came or went? The search of production
//     is run ahead over the waiting tickets, from expansion step to expansion step.
//
// Of a whole pool, Pool tells which rules block most, how old the tickets are,
// and what the coming expansion steps would bring.
package explain
