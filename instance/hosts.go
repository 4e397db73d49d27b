package instance

import (
	"iter"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// hosts holds the machines that have joined.
type hosts struct {
	*shared
	hostCommands
	tokens    *tokens
	instances *instances
	launches  *launches

	rows    *store.Table[Host]
	removed *store.Table[removedHost]
	due     *store.DueIndex[Host]

	byInstance *store.Index[Host] // by InstanceID
	onEmptied  []func(store.Reader, *Host) (keeps bool)
}

type hostCommands struct {
	join        *store.Command[joinArgs, *Host]
	offerSecret *store.Action[secretArgs]
	secretKept  *store.Action[secretArgs]

	// HostConnected records that a host's agent is connected.
	// Errors: NotFound, InvalidRequest.
	HostConnected *store.Action[HostPresence]
	// HostUsedElsewhere records that a second agent has connected with a host's
	// credential. Errors: NotFound.
	HostUsedElsewhere *store.Action[HostReplacement]
	// HostLost records that the last connection of a host's agent is closed. The agent
	// has a grace period to come back; its game servers keep running.
	HostLost *store.Action[string]
	// DrainHost makes a host take no new instances. Those there end when their last game
	// session has ended, and are replaced on other hosts. Errors: NotFound.
	DrainHost *store.Action[string]
	// ResumeHost makes a drained host take instances again. Instances that have begun to
	// end still end. Errors: NotFound, Conflict (it is being removed).
	ResumeHost *store.Action[string]
	// RotateHost makes Muster send the agent of a host a new secret as soon as it is
	// connected. The old one is refused once the agent has stored the new one.
	// Errors: NotFound.
	RotateHost *store.Action[string]
	// RemoveHost removes a host. The game servers of its instances are told to end, game
	// sessions included; once the last has ended, or after StopGrace, the host is deleted
	// and its credential refused. It returns whether the host is deleted already.
	// Errors: NotFound.
	RemoveHost *store.Command[HostRemoval, bool]
}

func newHosts(sh *shared, ts *tokens, ls *launches) *hosts {
	hs, st := &hosts{shared: sh, tokens: ts, instances: ls.instances, launches: ls}, sh.st
	hs.rows = store.NewTable(st, store.TableSpec[Host]{Name: "host", Key: func(h *Host) string { return h.ID }})
	hs.removed = store.NewTable(st, store.TableSpec[removedHost]{Name: "removed_host", Key: func(h *removedHost) string { return h.ID }})
	hs.due = store.NewDueIndex(hs.rows, "due", (*Host).due)
	hs.byInstance = store.NewIndex(hs.rows, "instance", func(h *Host, emit func(string)) { emit(h.InstanceID()) })
	hs.hostCommands = hostCommands{
		join:              store.NewCommand(st, "host.join", hs.runJoin),
		offerSecret:       store.NewAction(st, "host.offer_secret", hs.runOfferSecret),
		secretKept:        store.NewAction(st, "host.secret_kept", hs.runSecretKept),
		HostUsedElsewhere: store.NewAction(st, "host.used_elsewhere", hs.runUsedElsewhere),
		RemoveHost:        store.NewCommand(st, "host.remove", hs.runRemoveHost),
		HostConnected:     store.NewAction(st, "host.connected", hs.runHostConnected),
		HostLost:          store.NewAction(st, "host.lost", hs.runHostLost),
		DrainHost:         store.NewAction(st, "host.drain", hs.runDrainHost),
		ResumeHost:        store.NewAction(st, "host.resume", hs.runResumeHost),
		RotateHost:        store.NewAction(st, "host.rotate", hs.runRotateHost),
	}
	return hs
}

// removedHost records a removed host, so that its agent learns of the removal when it
// next presents the credential.
type removedHost struct {
	ID         string    `json:"id"`
	SecretHash string    `json:"secret_hash"`
	Removed    time.Time `json:"removed"`
}

// removedFor is how long a removed host is kept.
const removedFor = 90 * 24 * time.Hour

// Hosts returns every host, ordered by id.
func (hs *hosts) Hosts(r store.Reader) iter.Seq[*Host] { return hs.rows.All(r) }

// Host returns a host by id, or nil.
func (hs *hosts) Host(r store.Reader, hostID string) *Host { return hs.rows.Get(r, hostID) }

// HostOfInstance returns the host that has an id as an instance of game server groups, or
// nil. If several do, because a machine joined again or another one has taken its name, it
// is the first joined of those that are connected, or the latest.
func (hs *hosts) HostOfInstance(r store.Reader, instanceID string) (host *Host) {
	for h := range hs.HostsOfInstance(r, instanceID) {
		switch {
		case host == nil, h.Connected && !host.Connected:
			host = h
		case h.Connected == host.Connected && h.Joined.Before(host.Joined) == h.Connected:
			host = h
		}
	}
	return host
}

// HostsOfInstance returns every host that has an id as an instance of game server groups.
func (hs *hosts) HostsOfInstance(r store.Reader, instanceID string) iter.Seq[*Host] {
	return hs.byInstance.Equal(r, instanceID)
}

func (hs *hosts) mustHost(r store.Reader, hostID string) (*Host, error) {
	if h := hs.rows.Get(r, hostID); h != nil {
		return h, nil
	}
	return nil, fault.Missing("host %s does not exist", hostID)
}

// Impaired reports whether the instance's host is impaired, so that the instance gets
// no new game sessions.
func (hs *hosts) Impaired(r store.Reader, i *Instance) bool {
	h := hs.rows.Get(r, i.HostID)
	return h == nil || h.Impaired()
}

// Behind returns the host of an instance's compute as a new process shows it, and whether the
// process may start there: not on an instance that is to end (compute.Hosting).
func (hs *hosts) Behind(r store.Reader, c *compute.Compute, processID string) (at compute.Host, open bool) {
	i := hs.instances.rows.Get(r, c.InstanceID)
	if i == nil {
		return compute.Host{}, false
	}
	if h := hs.rows.Get(r, i.HostID); h != nil {
		at = compute.Host{ID: h.ID, Impaired: h.impairs(i, compute.Ref{FleetID: c.FleetID, ComputeName: c.Name, ProcessID: processID})}
	}
	return at, i.Stop == Keep && !i.draining(c.Name)
}

func (hs *hosts) put(tx *store.Tx, h *Host) {
	hs.rows.Put(tx, h)
	tx.OnCommit(hs.replan)
}

func (hs *hosts) record(tx *store.Tx, code event.Code, h *Host, text string) {
	hs.Events.Append(tx, event.Event{Code: code, Location: h.Location, Resource: h.ID, Message: text})
}
