package bots

import (
	"fmt"
	"strings"
	"sync"
)

type stage int

const (
	coming     stage = iota // not started yet
	entering                // logging in and measuring latency
	asking                  // for a game
	waiting                 // for a match, or a free process
	connecting              // to the game server
	playing
	done
	failed
	stageCount
)

var stageNames = [stageCount]string{"coming", "entering", "asking", "waiting", "connecting", "playing", "done", "failed"}

type stages struct {
	mu     sync.Mutex
	counts [stageCount]int
}

func (s *stages) enter(at stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[at]++
}

func (s *stages) move(from, to stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[from]--
	s.counts[to]++
}

func (s *stages) line() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := make([]string, stageCount)
	for i, n := range s.counts {
		parts[i] = fmt.Sprintf("%s %d", stageNames[i], n)
	}
	return strings.Join(parts, "  ")
}
