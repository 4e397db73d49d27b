package fleetiq

import (
	"iter"
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/store"
)

// Servers are the game servers of a cell's groups.
type Servers struct {
	*shared
	groups    *Groups
	instances *Instances
	// Register adds a game server to a group. Errors: NotFound, InvalidRequest (status of
	// the group, instance), Conflict (id taken), LimitExceeded.
	Register *store.Command[RegisterInput, *GameServer]
	// Update changes a game server and records its health. Errors: NotFound,
	// InvalidRequest (UTILIZED to AVAILABLE).
	Update *store.Command[ServerUpdate, *GameServer]
	// Claim claims a game server for ClaimTime. Errors: NotFound, InvalidRequest,
	// Conflict (the chosen one cannot be claimed), OutOfCapacity (there is none).
	Claim *store.Command[ClaimInput, *GameServer]
	// Deregister removes a game server. Errors: NotFound.
	Deregister *store.Action[ServerName]
}

func newServers(st *store.Store, sh *shared, gs *Groups, is *Instances) *Servers {
	ss := &Servers{shared: sh, groups: gs, instances: is}
	ss.Register = store.NewCommand(st, "game_server.register", ss.runRegister)
	ss.Update = store.NewCommand(st, "game_server.update", ss.runUpdate)
	ss.Claim = store.NewCommand(st, "game_server.claim", ss.runClaim)
	ss.Deregister = store.NewAction(st, "game_server.deregister", ss.runDeregister)
	sh.Hosts.OnEmptied(ss.keep)
	return ss
}

// Find returns a game server of a group. Errors: NotFound.
func (ss *Servers) Find(r store.Reader, n ServerName) (*GameServer, error) {
	g, err := ss.groups.Find(r, n.Group)
	if err != nil {
		return nil, err
	}
	if v := ss.t.servers.Get(r, n.ID); v != nil && v.Group == g.Name {
		return v, nil
	}
	return nil, fault.Missing("GameServerId: game server group %s has no game server %s; it may have been deregistered, which is so after %s without a report of its health",
		g.Name, n.ID, HealthTime)
}

// Of returns an iterator over the game servers of a group by the time of registration,
// after a position.
func (ss *Servers) Of(r store.Reader, group string, newestFirst bool, after string) iter.Seq[*GameServer] {
	index := ss.t.oldest
	if newestFirst {
		index = ss.t.newest
	}
	rows := index.Prefix(r, store.Key(group))
	if order, id, ok := strings.Cut(after, "/"); ok {
		rows = index.PrefixAfter(r, store.Key(group), store.Key(group, order), id)
	}
	return func(yield func(*GameServer) bool) {
		for _, v := range rows {
			if !yield(v) {
				return
			}
		}
	}
}

// Position returns the position of a game server in the list that Of returns.
func (v *GameServer) Position(newestFirst bool) string { return v.order(newestFirst) + "/" + v.ID }

// ServerName names a game server of a group.
type ServerName struct {
	Group string // name or ARN
	ID    string
}

// RegisterInput describes the game server to register.
type RegisterInput struct {
	ServerName
	InstanceID, Connection, Data string
}

func (ss *Servers) runRegister(tx *store.Tx, in RegisterInput) (*GameServer, error) {
	g, err := ss.groups.Find(tx, in.Group)
	if err == nil {
		err = g.mustBeActive()
	}
	if err == nil {
		err = ss.instances.check(tx, g, in.InstanceID)
	}
	if err != nil {
		return nil, err
	}
	if ss.t.servers.Get(tx, in.ID) != nil {
		return nil, fault.New(fault.Conflict, "GameServerId: game server %s is registered already; deregister it first, or choose an id that no group uses", in.ID)
	}
	if n, q := ss.count(tx, g.Name, Available)+ss.count(tx, g.Name, Utilized), ss.opts.Servers; q > 0 && n >= q {
		return nil, fault.New(fault.LimitExceeded, "game server group %s has %d game servers, which is the quota; deregister one first", g.Name, n)
	}
	v := &GameServer{
		ID: in.ID, Group: g.Name, InstanceID: in.InstanceID, Connection: in.Connection, Data: in.Data,
		Registered: tx.Now(), Sequence: tx.ID(""), LastHealthCheck: tx.Now(),
	}
	v.move(Available)
	ss.put(tx, v)
	ss.record(tx, event.GameServerRegistered, v, "on "+v.InstanceID)
	return v, nil
}

// count returns the number of game servers of a group with a utilization; with an
// instance, only those on it.
func (ss *Servers) count(r store.Reader, group string, u Utilization, on ...string) int {
	return ss.t.counts.Of(r, store.Key(append([]string{group, string(u)}, on...)...))
}

// ServerUpdate patches a game server: nil members leave the value unchanged.
type ServerUpdate struct {
	ServerName
	Data        *string
	Utilization *Utilization
	Healthy     bool // it reports that it is healthy
}

func (ss *Servers) runUpdate(tx *store.Tx, in ServerUpdate) (*GameServer, error) {
	old, err := ss.Find(tx, in.ServerName)
	if err != nil {
		return nil, err
	}
	v := *old
	patch.Set(&v.Data, in.Data)
	if in.Healthy {
		v.LastHealthCheck = tx.Now()
	}
	if in.Utilization != nil && *in.Utilization != v.Utilization {
		if *in.Utilization == Available {
			return nil, fault.Invalid("UtilizationStatus: game server %s is UTILIZED and cannot become AVAILABLE again; when its game has ended, deregister it and register it anew", v.ID)
		}
		v.move(Utilized)
		v.ClaimedUntil = time.Time{}
		ss.record(tx, event.GameServerUtilized, &v, "it hosts a game")
	}
	if in.Utilization != nil {
		v.Doubt = false
	}
	ss.put(tx, &v)
	if old.busy() && !v.busy() {
		ss.released(tx, old)
	}
	return &v, nil
}

func (ss *Servers) runDeregister(tx *store.Tx, n ServerName) error {
	v, err := ss.Find(tx, n)
	if err == nil {
		ss.remove(tx, v, event.GameServerDeregistered, "as requested")
	}
	return err
}

// remove deregisters a game server.
func (ss *Servers) remove(tx *store.Tx, v *GameServer, code event.Code, why string) {
	ss.t.servers.Delete(tx, v.ID)
	ss.record(tx, code, v, why)
	ss.released(tx, v)
}

// released continues what waited for a game server that was claimed or utilized, and no
// longer is: the deletion of its group, and the drain or removal of its host.
func (ss *Servers) released(tx *store.Tx, was *GameServer) {
	ss.groups.released(tx, was.Group)
	if !was.busy() {
		return
	}
	current := ss.Hosts.HostOfInstance(tx, was.InstanceID)
	for h := range ss.Hosts.HostsOfInstance(tx, was.InstanceID) {
		if h.Removing || h == current { // others were not kept
			ss.Hosts.Released(tx, h.ID)
		}
	}
}

// keep reports whether a host cannot be taken out of service yet: a game server there is
// claimed or utilized. If the host is to be removed, only groups with FULL_PROTECTION keep
// it.
func (ss *Servers) keep(r store.Reader, h *instance.Host) bool {
	if current := ss.Hosts.HostOfInstance(r, h.InstanceID()); current == nil || current.ID != h.ID {
		return false // the machine has joined again
	}
	for v := range ss.t.busyOn.Equal(r, h.InstanceID()) {
		if !h.Removing || ss.t.groups.Get(r, v.Group).Protection == FullProtection {
			return true
		}
	}
	return false
}

func (ss *Servers) put(tx *store.Tx, v *GameServer) {
	ss.t.servers.Put(tx, v)
	tx.OnCommit(ss.nudge)
}

func (ss *Servers) record(tx *store.Tx, code event.Code, v *GameServer, text string) {
	ss.groups.record(tx, code, v.Group, v.ID+": "+text)
}
