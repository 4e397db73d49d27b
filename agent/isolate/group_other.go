//go:build !linux

package isolate

import (
	"fmt"
	"time"
)

// Groups creates groups, on Linux.
type Groups struct{}

// Group is one control group, on Linux.
type Group struct{}

// Find returns ErrUnavailable: there are no groups on this system.
func Find() (*Groups, error) { return nil, ErrUnavailable }

// Make returns ErrUnavailable.
func (*Groups) Make(string, Limits) (*Group, error) { return nil, ErrUnavailable }

// Get returns a group that does nothing.
func (*Groups) Get(string) *Group { return &Group{} }

func (*Group) joins() []string { return nil }

// Restrict returns ErrUnavailable.
func (*Group) Restrict(Egress) error { return ErrUnavailable }

// OOMKills returns 0: they are not counted here.
func (*Group) OOMKills() int { return 0 }

// Kill does nothing.
func (*Group) Kill(time.Duration) error { return nil }

// Remove does nothing.
func (*Group) Remove() error { return nil }

// ProcessesOf returns none: only on Linux do processes get their own users.
func ProcessesOf(int) []int { return nil }

// KillUser does nothing.
func KillUser(int, time.Duration) error { return nil }

func replace(string, []string, []string) error {
	return fmt.Errorf("become another program: %w", ErrUnavailable)
}
