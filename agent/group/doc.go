// Package group runs one instance of a container fleet on this machine: the container
// groups of the desired state, by the machine's container engine (agent/engine).
//
// An Instance has one goroutine, Run, that owns the desired state and the groups. Each
// group has a status (status.go), which follows from what is desired of it, from what its
// containers do, and from the time. Pulling, starting and ending take long, so they run
// concurrently and report back. Containers outlive the agent; the next one finds them
// by the labels that the engine keeps.
package group
