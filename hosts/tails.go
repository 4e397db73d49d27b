package hosts

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/fault"
)

// Bounds of requests for what processes have written.
const (
	maxTails = 16              // of one host, at a time
	tailTime = 6 * time.Second // of one
)

// Tail returns the end of what a running process of a host has written, at most so many bytes
// of each stream, and what it used lately. Errors: InvalidRequest (the agent is not connected,
// or does not answer such requests, or the process is not there), Throttling.
func (s *Server) Tail(ctx context.Context, hostID, instanceID, processID string, most int) (protocol.Tailed, error) {
	l := s.link(hostID)
	if l == nil {
		return protocol.Tailed{}, fault.Invalid("the agent of host %s is not connected; try again when it is back", hostID)
	}
	id := rand.Text()
	answer, err := l.ask(id)
	if err != nil {
		return protocol.Tailed{}, err
	}
	defer l.answered(id)
	l.send(protocol.Message{Tail: &protocol.Tail{ID: id, InstanceID: instanceID, ProcessID: processID, Most: min(most, protocol.MaxTail)}})
	ctx, cancel := context.WithTimeout(ctx, tailTime)
	defer cancel()
	select {
	case out := <-answer:
		if out.Problem != "" {
			return protocol.Tailed{}, fault.Invalid("%s", cut(out.Problem))
		}
		return bounded(out), nil
	case <-l.ended:
	case <-ctx.Done():
	}
	return protocol.Tailed{}, fault.Invalid("the agent of host %s did not answer in time; try again, or look into its log", hostID)
}

// bounded returns an answer with at most what may be asked for: agents are not trusted with
// the memory of the server.
func bounded(t protocol.Tailed) protocol.Tailed {
	const streams, used = 4, 100
	t.Streams, t.Used = t.Streams[:min(len(t.Streams), streams)], t.Used[max(len(t.Used)-used, 0):]
	for i := range t.Streams {
		of := &t.Streams[i]
		of.Name, of.Text = cut(of.Name), of.Text[max(len(of.Text)-protocol.MaxTail, 0):]
	}
	return t
}

// ask makes a place for the answer to a request.
func (l *link) ask(id string) (<-chan protocol.Tailed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.present:
		return nil, fault.Invalid("the agent of host %s is about to connect; try again", l.hostID)
	case !l.tails && l.cluster:
		return nil, fault.Invalid("host %s is a Kubernetes cluster: 'kubectl logs' shows what its pods write", l.hostID)
	case !l.tails:
		return nil, fault.Invalid("the agent of host %s is older than the logs of running game servers; replace it by one of this version", l.hostID)
	case len(l.asked) >= maxTails:
		return nil, fault.New(fault.Throttling, "host %s is answering %d requests for logs, which is the limit; try again", l.hostID, len(l.asked))
	}
	answer := make(chan protocol.Tailed, 1)
	l.asked[id] = answer
	return answer, nil
}

func (l *link) answered(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, id)
}

// tailed passes an answer to who asked; one that came too late is dropped.
func (l *link) tailed(t protocol.Tailed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to := l.asked[t.ID]; to != nil {
		delete(l.asked, t.ID)
		to <- t // it has room for one
	}
}
