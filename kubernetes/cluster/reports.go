package cluster

import (
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// maxReports bounds the reports that wait for Muster; beyond it the oldest are dropped.
const maxReports = 20000

// reports are the ends of runs that Muster has not acknowledged. They are in memory: until
// then their pods are in the cluster, where the next agent finds them.
type reports struct {
	mu      sync.Mutex
	pending []protocol.Exited // by Seq
	last    uint64
	known   map[string]bool // process ids: true once Muster has acknowledged the end
}

// add adds a report, once for each process, and reports whether it is new. Its number is
// higher than those of any former agent.
func (r *reports) add(e protocol.Exited) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.known[e.ProcessID]; ok {
		return false
	}
	e.Seq = max(r.last+1, uint64(time.Now().UnixNano()))
	r.last = e.Seq
	if len(r.pending) >= maxReports {
		r.pending = slices.Delete(r.pending, 0, 1)
	}
	r.pending = append(r.pending, e)
	r.known[e.ProcessID] = false
	return true
}

// after returns the reports with numbers above seq, oldest first.
func (r *reports) after(seq uint64) []protocol.Exited {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.pending, func(e protocol.Exited) bool { return e.Seq > seq })
	if at < 0 {
		return nil
	}
	return slices.Clone(r.pending[at:])
}

// ack removes a report, and returns it.
func (r *reports) ack(seq uint64) (e protocol.Exited, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.pending, func(e protocol.Exited) bool { return e.Seq == seq })
	if at < 0 {
		return e, false
	}
	e = r.pending[at]
	r.pending = slices.Delete(r.pending, at, at+1)
	r.known[e.ProcessID] = true
	return e, true
}

// isAcked reports whether Muster knows the end of a process.
func (r *reports) isAcked(processID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[processID]
}

// forget removes what is known of a process whose pod is gone.
func (r *reports) forget(processID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pending := slices.ContainsFunc(r.pending, func(e protocol.Exited) bool { return e.ProcessID == processID })
	if !pending {
		delete(r.known, processID)
	}
}
