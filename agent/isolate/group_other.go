//go:build !linux

package isolate

import (
	"fmt"
	"time"
)

// Groups makes groups, on Linux.
type Groups struct{}

// Group is one control group, on Linux.
type Group struct{}

// Find gives ErrUnavailable: there are no groups on this system.
func Find() (*Groups, error) { return nil, ErrUnavailable }

// Make gives ErrUnavailable.
func (*Groups) Make(string, Limits) (*Group, error) { return nil, ErrUnavailable }

// Get gives a group that does nothing.
func (*Groups) Get(string) *Group { return &Group{} }

func (*Group) joins() []string { return nil }

// Restrict returns ErrUnavailable.
func (*Group) Restrict(Egress) error { return ErrUnavailable }

// OOMKills is 0: nobody counts them here.
func (*Group) OOMKills() int { return 0 }

// Kill does nothing.
func (*Group) Kill(time.Duration) error { return nil }

// Remove does nothing.
func (*Group) Remove() error { return nil }

// ProcessesOf gives none: on Linux alone do processes get users of their own.
func ProcessesOf(int) []int { return nil }

// KillUser does nothing.
func KillUser(int, time.Duration) error { return nil }

func replace(string, []string, []string) error {
	return fmt.Errorf("become another program: %w", ErrUnavailable)
}
