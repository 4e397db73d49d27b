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
	st        *store.Store
	opts      Options
	graces    compute.Options
	events    *event.Log
	computes  *compute.Service
	tokens    *tokens
	instances *instances
	launches  *launches
	nudge     func() // wakes the capacity loop

	rows    *store.Table[Host]
	removed *store.Table[removedHost]
	due     *store.DueIndex[Host]
	cmd     hostCommands
}

type hostCommands struct {
	join          *store.Command[joinArgs, *Host]
	drainHost     *store.Action[string]
	resumeHost    *store.Action[string]
	removeHost    *store.Command[removeHostArgs, bool]
	rotateHost    *store.Action[string]
	offerSecret   *store.Action[secretArgs]
	secretKept    *store.Action[secretArgs]
	usedElsewhere *store.Action[elsewhereArgs]
	hostConnected *store.Action[presenceArgs]
	hostLost      *store.Action[string]
}

func newHosts(st *store.Store, d Deps, o Options, ts *tokens, ls *launches, nudge func()) *hosts {
	hs := &hosts{
		st: st, opts: o, graces: d.Computes.Options(), events: d.Events, computes: d.Computes,
		tokens: ts, instances: ls.instances, launches: ls, nudge: nudge,
	}
	hs.rows = store.NewTable(st, store.TableSpec[Host]{Name: "host", Key: func(h *Host) string { return h.ID }})
	hs.removed = store.NewTable(st, store.TableSpec[removedHost]{Name: "removed_host", Key: func(h *removedHost) string { return h.ID }})
	hs.due = store.NewDueIndex(hs.rows, "due", (*Host).due)
	hs.cmd = hostCommands{
		join:          store.NewCommand(st, "host.join", hs.runJoin),
		drainHost:     store.NewAction(st, "host.drain", hs.runDrainHost),
		resumeHost:    store.NewAction(st, "host.resume", hs.runResumeHost),
		removeHost:    store.NewCommand(st, "host.remove", hs.runRemoveHost),
		rotateHost:    store.NewAction(st, "host.rotate", hs.runRotateHost),
		offerSecret:   store.NewAction(st, "host.offer_secret", hs.runOfferSecret),
		secretKept:    store.NewAction(st, "host.secret_kept", hs.runSecretKept),
		usedElsewhere: store.NewAction(st, "host.used_elsewhere", hs.runUsedElsewhere),
		hostConnected: store.NewAction(st, "host.connected", hs.runHostConnected),
		hostLost:      store.NewAction(st, "host.lost", hs.runHostLost),
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

// Behind returns the host of an instance's compute, and whether a new process may start
// there: not on an instance that is to end (compute.Hosting).
func (hs *hosts) Behind(r store.Reader, c *compute.Compute) (at compute.Host, open bool) {
	i := hs.instances.rows.Get(r, c.InstanceID)
	if i == nil {
		return compute.Host{}, false
	}
	if h := hs.rows.Get(r, i.HostID); h != nil {
		at = compute.Host{ID: h.ID, Impaired: h.Impaired()}
	}
	return at, i.Stop == Keep
}

func (hs *hosts) put(tx *store.Tx, h *Host) {
	hs.rows.Put(tx, h)
	tx.OnCommit(hs.nudge)
}

func (hs *hosts) record(tx *store.Tx, code event.Code, h *Host, text string) {
	hs.events.Append(tx, event.Event{Code: code, Location: h.Location, Resource: h.ID, Message: text})
}
