// Package fleet is where games are hosted: locations, fleets, aliases, runtime
// configuration. It holds what people set; what machines report is in compute.
//
// A fleet is a set of places that run one game. Fleets of compute type ANYWHERE
// are ACTIVE at once and take computes as they register. Deleting a fleet moves
// it to DELETING; compute ends its processes and then lets it go (Finish).
// Status moves are in status.go and drawn in docs/state-machines.md.
package fleet
