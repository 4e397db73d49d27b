// Package lab is the rules lab of the console: it checks rule sets that are being written,
// and plays them on the tickets of a configuration or on simulated players.
package lab
