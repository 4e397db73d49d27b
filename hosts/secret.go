package hosts

import (
	"context"
	"errors"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
)

var errRemoved = errors.New("the host was removed")

// offer sends the agent a new secret if one is due, once per connection: an agent that
// cannot store it, or is too old to, continues with the old one.
func (l *link) offer(ctx context.Context, h *instance.Host) error {
	if l.offers || !l.isPresent() || !l.s.opts.Instances.SecretDue(h, time.Now()) {
		return nil
	}
	secret, err := l.s.opts.Instances.OfferSecret(ctx, l.hostID)
	if err != nil {
		return err
	}
	l.offers = true
	l.mu.Lock()
	l.offered = secret
	l.mu.Unlock()
	return l.put(protocol.Message{Secret: &protocol.Secret{Secret: secret}})
}

// secretKept makes the old secret invalid.
func (l *link) secretKept(ctx context.Context) error {
	l.mu.Lock()
	offered := l.offered
	l.mu.Unlock()
	if offered == "" {
		return nil
	}
	if err := l.s.opts.Instances.SecretKept(ctx, l.hostID, offered); err != nil {
		return err
	}
	l.s.log.Info("a host has a new credential", "host_id", l.hostID)
	return nil
}

// former is the connection that another one replaced; the zero value means none.
type former struct{ address, run string }

func (l *link) asFormer() former {
	l.mu.Lock()
	defer l.mu.Unlock()
	return former{address: sourceOf(l.remote), run: l.run}
}

// runs are the last two runs of agents that used a host's credential.
type runs struct {
	last, before string
	told         time.Time // when two agents with it were last recorded
}

// tellAgain is the minimum time between two records of agents that share a credential
// and keep replacing each other's connection.
const tellAgain = 10 * time.Minute

// elsewhere reports whether the agent that replaced another one's connection is a
// second agent with the same credential, rather than the same one on a new connection,
// or one started after the first had died. It is if a dropped agent comes back, or if
// the two have different addresses.
func (l *link) elsewhere(run string, now time.Time) bool {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	known := l.s.runs[l.hostID]
	back := run != "" && run == known.before && run != known.last
	if run != known.last {
		known.last, known.before = run, known.last
	}
	same := run != "" && run == l.former.run
	second := l.former != former{} && !same && (back || l.former.address != sourceOf(l.remote))
	tell := second && now.Sub(known.told) >= tellAgain
	if tell {
		known.told = now
	}
	l.s.runs[l.hostID] = known
	return tell
}

// usedElsewhere records that two agents use the same credential.
func (l *link) usedElsewhere(ctx context.Context) error {
	l.s.log.Warn("two agents use the credential of one host", "host_id", l.hostID, "before", l.former.address, "now", sourceOf(l.remote))
	return l.s.opts.Instances.HostUsedElsewhere.Do(ctx, instance.HostReplacement{HostID: l.hostID, Before: l.former.address, Now: sourceOf(l.remote)})
}
