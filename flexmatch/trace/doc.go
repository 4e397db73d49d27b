// Package trace reads and writes records of real tickets, which a simulation can replay.
// It reads them as JSON lines or as a table, and writes JSON lines. docs/simulation.md
// describes the formats.
package trace
