// Package trace is a record of real tickets, to be played again by a simulation:
// what a ticket of it tells, and how it is written and read, as JSON lines or as a
// table. docs/simulation.md has the format for people.
package trace
