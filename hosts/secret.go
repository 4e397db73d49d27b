package hosts

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/hosts/protocol"
)

var errRemoved = errors.New("the host was removed")

// offer sends the agent a new secret where one is due, once on each connection:
// an agent that does not keep it, or does not know how, goes on with the old one.
func (l *link) offer(ctx context.Context, h *compute.Host) error {
	if l.offers || !l.isPresent() || !l.s.opts.Computes.SecretDue(h, time.Now()) {
		return nil
	}
	secret, err := l.s.opts.Computes.OfferSecret(ctx, l.hostID)
	if err != nil {
		return err
	}
	l.offers = true
	l.mu.Lock()
	l.offered = secret
	l.mu.Unlock()
	return l.put(protocol.Message{Secret: &protocol.Secret{Secret: secret}})
}

// secretKept has the old secret refused from now on.
func (l *link) secretKept(ctx context.Context) error {
	l.mu.Lock()
	offered := l.offered
	l.mu.Unlock()
	if offered == "" {
		return nil
	}
	if err := l.s.opts.Computes.SecretKept(ctx, l.hostID, offered); err != nil {
		return err
	}
	l.s.log.Info("a host has a new credential", "host_id", l.hostID)
	return nil
}

// former is the connection whose place another one took; the zero value is none.
type former struct{ address, run string }

func (l *link) asFormer() former {
	l.mu.Lock()
	defer l.mu.Unlock()
	return former{address: l.address(), run: l.run}
}

// address is where the agent's connection comes from, without the port.
func (l *link) address() string {
	host, _, err := net.SplitHostPort(l.remote.RemoteAddr)
	if err != nil {
		return l.remote.RemoteAddr
	}
	return host
}

// runs are the runs of agents that used a host's credential last.
type runs struct {
	last, before string
	told         time.Time // when it was recorded that two of them live
}

// tellAgain is how long two agents with one credential, which take each other's
// place all the time, are not recorded again.
const tellAgain = 10 * time.Minute

// elsewhere reports whether the agent that took another one's place is a second
// one: not the same on a new connection, nor one that was started after the first
// had died. Of two that live, the one that is dropped comes back; where they are
// at different addresses the first time tells.
func (l *link) elsewhere(run string, now time.Time) bool {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	known := l.s.runs[l.hostID]
	back := run != "" && run == known.before && run != known.last
	if run != known.last {
		known.last, known.before = run, known.last
	}
	same := run != "" && run == l.former.run
	second := l.former != former{} && !same && (back || l.former.address != l.address())
	tell := second && now.Sub(known.told) >= tellAgain
	if tell {
		known.told = now
	}
	l.s.runs[l.hostID] = known
	return tell
}

// usedElsewhere records that two agents have the same credential.
func (l *link) usedElsewhere(ctx context.Context) error {
	l.s.log.Warn("two agents use the credential of one host", "host_id", l.hostID, "before", l.former.address, "now", l.address())
	return l.s.opts.Computes.HostUsedElsewhere(ctx, l.hostID, l.former.address, l.address())
}
