// Package setup describes a set-up, which is all that a game needs of a server, as a file:
// locations, builds, container group definitions, fleets, aliases, queues, rule sets and
// matchmaking configurations. It reads and writes the file, and compares two set-ups: what
// has to be done so that one becomes the other. It is pure; package live does it.
package setup
