// Package provider decides where instances of managed fleets are created and which of
// them are removed.
//
// A provider receives the whole state of the world (hosts, instances, wishes) and
// returns what to create and what to remove. It is a pure function, so it can be
// tested with thousands of worlds and its answer can be discarded. Its decisions
// become rows in the store (package compute); the component that runs the machines
// carries them out and reports: today the agents of hosts (Process). Another engine, such as
// Kubernetes, would be another Provider and a controller that follows the same rows.
package provider
