// Package fleet is where games are hosted: locations, fleets, aliases, runtime
// configuration. It contains what users configure; what machines report is in compute.
//
// A fleet is a set of places that run one game. Fleets of compute type ANYWHERE are
// ACTIVE immediately, and computes register with them. Deleting a fleet moves it to
// DELETING; compute ends its processes and then removes it (Finish). Status moves are in
// status.go and drawn in docs/state-machines.md.
package fleet
