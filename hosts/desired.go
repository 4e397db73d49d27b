package hosts

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/hosts/protocol"
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
	images := map[string]bool{}
	for _, a := range l.s.opts.Instances.Assignments(view, l.hostID) {
		d := protocol.Desired{
			InstanceID: a.ID, FleetID: a.FleetID, FleetARN: a.FleetARN, Location: a.Location,
			PortFrom: a.PortFrom, PortTo: a.PortTo, CPUMillis: a.CPUMillis, MemoryMiB: a.MemoryMiB,
			SDKURL: l.s.opts.GameServerURL, Region: l.s.opts.Home.Region, Relay: a.Relay,
			Stop: protocol.Stop(a.Stop), StopBy: a.StopBy, Trace: l.s.opts.Instances.Traceparent(a.ID),
		}
		tokens := map[string]string{}
		for _, c := range a.Computes {
			t := l.tokenFor(c, now)
			kept[c.Key], tokens[c.Name] = t, t.text
		}
		if a.Fleet.Containers != nil {
			d.Compute = a.ID
			d.Groups = l.groups(view, a, tokens)
			l.images(view, a.Fleet, images)
		} else {
			m := a.Fleet.Managed
			b := protocol.Build{ID: m.BuildID, SHA256: m.SHA256, Size: m.Bytes, Format: m.Format}
			if _, ok := signed[b]; !ok {
				signed[b] = b.Sign(l.s.opts.BuildKey)
			}
			d.Compute, d.AuthToken = a.Computes[0].Name, tokens[a.Computes[0].Name]
			d.Build, d.Runtime = signed[b], runtimeOf(a.Fleet.Runtime)
			if a.Fleet.Certificates() {
				d.Certificate = new(l.s.namesOf(view, a))
			}
		}
		all.Instances = append(all.Instances, d)
	}
	all.Images = slices.Sorted(maps.Keys(images))
	l.tokens = kept
	return all
}

// tokenFor returns the token of a compute. It issues a new one after half the life of
// the last, because a process keeps the token with which it was launched.
func (l *link) tokenFor(c *compute.Compute, now time.Time) token {
	if t, ok := l.tokens[c.Key]; ok && now.Before(t.renew) {
		return t
	}
	text, expires := l.s.opts.Computes.IssueToken(c, now)
	return token{text, now.Add(expires.Sub(now) / 2)}
}

func runtimeOf(r fleet.Runtime) protocol.Runtime {
	var to protocol.Runtime
	for _, p := range r.Processes {
		to.Processes = append(to.Processes, protocol.ServerProcess{LaunchPath: p.LaunchPath, Parameters: p.Parameters, Concurrent: p.Concurrent})
	}
	return to
}
