// Package state holds tables of the moves between the statuses of a resource.
package state

import "fmt"

// Machine lists each allowed change of a status, from and to, and what causes it. A change
// from "" is the creation. docs/state-machines.md is generated from the machines.
type Machine[S ~string] map[[2]S]string

// Move changes a status; what identifies the resource. A change that the machine does
// not list is a bug: Move panics.
func (m Machine[S]) Move(status *S, to S, what string) {
	if _, ok := m[[2]S{*status, to}]; !ok {
		panic(fmt.Sprintf("%s: %T has no move from %q to %q", what, to, *status, to))
	}
	*status = to
}
