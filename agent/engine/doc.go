// Package engine runs container groups on a machine's container engine, Docker or
// Podman, through the Engine API.
//
// A group's containers share one network: they reach each other at localhost. The
// containers outlive the process that started them; what they belong to is in their
// labels, by which Find returns them to the next process.
//
// Pure and without an engine: plan (plan.go) checks a group and puts its containers in
// order, describe (describe.go) says what the engine is asked to create, and outcome
// (outcome.go) says from the states of the containers whether their group has ended.
package engine
