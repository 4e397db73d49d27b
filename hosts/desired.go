package hosts

import (
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
)

// token is the token with which an instance's processes connect.
type token struct {
	text  string
	renew time.Time // when half of its life has passed
}

// assign returns the complete desired state of the host.
func (l *link) assign(now time.Time) protocol.Assign {
	view := l.s.opts.Store.View()
	all := protocol.Assign{Instances: []protocol.Desired{}, BuildKey: l.s.buildKey()}
	kept, signed := map[string]token{}, map[protocol.Build]protocol.Build{}
	for _, a := range l.s.opts.Instances.Assignments(view, l.hostID) {
		t := l.tokenFor(a, now)
		kept[a.ID] = t
		m := a.Fleet.Managed
		b := protocol.Build{ID: m.BuildID, SHA256: m.SHA256, Size: m.Bytes, Format: m.Format}
		if _, ok := signed[b]; !ok {
			signed[b] = b.Sign(l.s.opts.BuildKey)
		}
		all.Instances = append(all.Instances, protocol.Desired{
			InstanceID: a.ID, FleetID: a.FleetID, FleetARN: a.FleetARN, Compute: a.Compute.Name, Location: a.Location,
			Build: signed[b], Runtime: runtimeOf(a.Fleet.Runtime), PortFrom: a.PortFrom, PortTo: a.PortTo, CPUMillis: a.CPUMillis, MemoryMiB: a.MemoryMiB,
			SDKURL: l.s.opts.GameServerURL, AuthToken: t.text, Region: l.s.opts.Home.Region, Relay: a.Relay,
			Stop: protocol.Stop(a.Stop), StopBy: a.StopBy,
		})
	}
	l.tokens = kept
	return all
}

// tokenFor returns the token of an instance. It issues a new one after half the life of
// the last, because a process keeps the token with which it was launched.
func (l *link) tokenFor(a instance.Assignment, now time.Time) token {
	if t, ok := l.tokens[a.ID]; ok && now.Before(t.renew) {
		return t
	}
	text, expires := l.s.opts.Computes.IssueToken(a.Compute, now)
	return token{text, now.Add(expires.Sub(now) / 2)}
}

func runtimeOf(r fleet.Runtime) protocol.Runtime {
	var to protocol.Runtime
	for _, p := range r.Processes {
		to.Processes = append(to.Processes, protocol.ServerProcess{LaunchPath: p.LaunchPath, Parameters: p.Parameters, Concurrent: p.Concurrent})
	}
	return to
}
