package fleetiq

import (
	"cmp"
	"iter"

	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// LocationTag is the tag of a group that says from which location its hosts are. Without
// it, they are from all.
const LocationTag = "muster:location"

// InstanceStatus is the state of an instance of a group. There are no Spot Instances, so
// none is SPOT_TERMINATING.
type InstanceStatus string

// The states of an instance.
const (
	InstanceActive   InstanceStatus = "ACTIVE"
	InstanceDraining InstanceStatus = "DRAINING" // its host is being drained or removed, its agent is away, or its disk is full
)

// Instance is a host as an instance of a group.
type Instance struct {
	ID       string
	Location string
	Status   InstanceStatus
	hostID   string
}

// Instances are the hosts that have joined, as instances of groups.
type Instances struct {
	*shared
	groups *Groups
}

// Of returns an iterator over the instances of a group after a position.
func (is *Instances) Of(r store.Reader, g *Group, after string) iter.Seq[Instance] {
	location := is.location(r, g)
	return func(yield func(Instance) bool) {
		for h := range is.Hosts.Hosts(r) {
			if h.ID <= after || h.Location != cmp.Or(location, h.Location) || is.Hosts.HostOfInstance(r, h.InstanceID()) != h {
				continue
			}
			if !yield(Instance{h.InstanceID(), h.Location, statusOf(h), h.ID}) {
				return
			}
		}
	}
}

// Position returns the position of an instance in the list that Of returns.
func (i Instance) Position() string { return i.hostID }

// LocationARN returns the ARN of an instance's location.
func (is *Instances) LocationARN(i Instance) string { return is.opts.Home.Of("location", i.Location) }

// Location returns the location of an instance, or "" if no host has its id.
func (is *Instances) Location(r store.Reader, id string) string {
	if h := is.Hosts.HostOfInstance(r, id); h != nil {
		return h.Location
	}
	return ""
}

func statusOf(h *instance.Host) InstanceStatus {
	if h.Draining || h.Impaired() {
		return InstanceDraining
	}
	return InstanceActive
}

// location returns the location from which a group's hosts are, or "" for all.
func (is *Instances) location(r store.Reader, g *Group) string {
	return is.Tags.Of(r, is.groups.ARN(g.Name))[LocationTag]
}

// check returns an error if an id is not that of an instance of the group. Errors:
// InvalidRequest.
func (is *Instances) check(r store.Reader, g *Group, id string) error {
	h, location := is.Hosts.HostOfInstance(r, id), is.location(r, g)
	switch {
	case h == nil:
		return fault.Invalid("InstanceId: %s is no host that has joined; run muster agent on the machine, and use the InstanceID that muster hosts -o json shows for it", id)
	case h.Removing:
		return fault.Invalid("InstanceId: the host of %s is being removed; register game servers on another host", id)
	case h.Location != cmp.Or(location, h.Location):
		return fault.Invalid("InstanceId: %s is in location %s, and the tag %s of game server group %s names %s; change the tag, or register a game server on a host there",
			id, h.Location, LocationTag, g.Name, location)
	}
	return nil
}
