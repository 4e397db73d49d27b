// Package provider decides where instances of managed fleets are made and which
// of them go.
//
// A provider is given the whole world as it is (hosts, instances, wishes) and
// answers with what to make and what to remove: a pure function, so it can be
// tested with thousands of worlds and its answer be thrown away. What it decided
// becomes rows in the store (package compute); who runs the machines makes them
// so and reports: today the agents of hosts (Process). Another engine, such as
// Kubernetes, is another Provider and a controller that follows the same rows.
package provider
