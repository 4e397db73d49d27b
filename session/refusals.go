package session

import "sync"

// Place is a location of a fleet.
type Place struct{ FleetID, Location string }

// Refusals counts the requests for game sessions that found no process. The zero value is ready to
// use.
type Refusals struct {
	mu     sync.Mutex
	number map[Place]int
}

// Take returns how many requests have found no process since the last call, by place.
func (r *Refusals) Take() map[Place]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.number
	r.number = nil
	return all
}

func (r *Refusals) add(at Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.number == nil {
		r.number = map[Place]int{}
	}
	r.number[at]++
}
