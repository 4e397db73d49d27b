//go:build !linux

package engine

import (
	"errors"
	"syscall"
)

const killSignal = syscall.SIGKILL

// place is where the processes of a container are.
type place struct{}

func placeOf(int, string) (place, error) {
	return place{}, errors.New("agents run programs in containers on Linux only")
}

func (place) signal(int, int, syscall.Signal) int { return 0 }

func (place) signalGroup(int, string) {}
