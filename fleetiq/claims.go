package fleetiq

import (
	"slices"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// ClaimInput says which game server to claim.
type ClaimInput struct {
	Group    string           // name or ARN
	ID       string           // "" chooses one
	Data     string           // for the game server; "" leaves it unchanged
	Statuses []InstanceStatus // of instances whose game servers may be claimed; nil allows all
	// Locations are those of the hosts whose game servers may be claimed; nil allows all.
	Locations []string `json:",omitzero"`
}

// draining reports whether game servers on DRAINING instances may be claimed.
func (in *ClaimInput) draining() bool {
	return in.Statuses == nil || slices.Contains(in.Statuses, InstanceDraining)
}

// at reports whether game servers in a location may be claimed.
func (in *ClaimInput) at(location string) bool {
	return in.Locations == nil || slices.Contains(in.Locations, location)
}

func (ss *Servers) runClaim(tx *store.Tx, in ClaimInput) (*GameServer, error) {
	g, err := ss.groups.changeable(tx, in.Group)
	if err != nil {
		return nil, err
	}
	if in.Statuses != nil && !slices.Contains(in.Statuses, InstanceActive) {
		return nil, fault.Invalid("FilterOption.InstanceStatuses: must contain ACTIVE; add it, or leave the filter out to allow every instance")
	}
	var old *GameServer
	if in.ID != "" {
		old, err = ss.chosen(tx, g.Name, in)
	} else if old = ss.next(tx, g.Name, in); old == nil {
		err = fault.New(fault.OutOfCapacity, "game server group %s has no game server that can be claimed: none is AVAILABLE and unclaimed on an instance that the filter allows; register more, or try again when one is", g.Name)
	}
	if err != nil {
		return nil, err
	}
	v := *old
	v.LastClaim, v.ClaimedUntil = tx.Now(), tx.Now().Add(ClaimTime)
	if in.Data != "" {
		v.Data = in.Data
	}
	ss.put(tx, &v)
	ss.record(tx, event.GameServerClaimed, &v, "until "+v.ClaimedUntil.UTC().Format(time.RFC3339))
	return &v, nil
}

// chosen returns the game server that a caller chose. Errors: NotFound, Conflict.
func (ss *Servers) chosen(tx *store.Tx, group string, in ClaimInput) (*GameServer, error) {
	v, err := ss.Find(tx, ServerName{group, in.ID})
	if err != nil {
		return nil, err
	}
	refuse := func(why string) (*GameServer, error) {
		return nil, fault.New(fault.Conflict, "GameServerId: game server %s %s; choose another one, or leave GameServerId out", v.ID, why)
	}
	h := ss.Hosts.HostOfInstance(tx, v.InstanceID)
	switch {
	case v.Utilization == Utilized:
		return refuse("is UTILIZED")
	case v.IsClaimed(tx.Now()):
		return refuse("is CLAIMED until " + v.ClaimedUntil.UTC().Format(time.RFC3339))
	case v.Doubt:
		return refuse("may host a game of which the database lost the record; it can be claimed once it was updated with UtilizationStatus AVAILABLE, or registered anew")
	case h == nil:
		return refuse("is on instance " + v.InstanceID + ", whose host was removed")
	case h.Removing:
		return refuse("is on instance " + v.InstanceID + ", whose host is being removed")
	case !in.at(h.Location):
		return refuse("is on instance " + v.InstanceID + ", which is in a location outside of the caller's scope")
	case statusOf(h) == InstanceDraining && !in.draining():
		return refuse("is on instance " + v.InstanceID + ", which is DRAINING, and the filter allows only ACTIVE ones")
	}
	return v, nil
}

// next returns the game server to claim if the caller chose none, or nil: on an ACTIVE
// instance before a DRAINING one, and on the instance with the lowest id, so that the others
// become empty.
func (ss *Servers) next(r store.Reader, group string, in ClaimInput) (fallback *GameServer) {
	for v := ss.firstFree(r, group, ""); v != nil; v = ss.firstFree(r, group, v.InstanceID) {
		h := ss.Hosts.HostOfInstance(r, v.InstanceID)
		switch {
		case h == nil || h.Removing || !in.at(h.Location):
		case statusOf(h) == InstanceActive:
			return v
		case in.draining() && fallback == nil:
			fallback = v
		}
	}
	return fallback
}

// firstFree returns the first game server of a group that can be claimed on the instances
// after an id, or nil.
func (ss *Servers) firstFree(r store.Reader, group, after string) *GameServer {
	const last = "\xff" // after every id
	for _, v := range ss.t.free.PrefixAfter(r, store.Key(group), store.Key(group, after), last) {
		return v
	}
	return nil
}

// release ends a claim.
func (ss *Servers) release(tx *store.Tx, old *GameServer) {
	v := *old
	v.ClaimedUntil = time.Time{}
	ss.put(tx, &v)
	ss.record(tx, event.GameServerClaimExpired, &v, "it did not become UTILIZED in "+ClaimTime.String())
	ss.released(tx, old)
}
