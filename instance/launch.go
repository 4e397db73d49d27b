package instance

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// launch is a process that a host started and that has not connected yet. Once it has
// ended it is kept for a while, so that a repeated report of its end is recognized.
type launch struct {
	Key     string     `json:"key"` // fleet | compute | process, as of the process once it connects
	Started time.Time  `json:"started"`
	HintAt  time.Time  `json:"hint_at,omitzero"` // when an event reports that it has not connected
	InitBy  time.Time  `json:"init_by,omitzero"` // must have connected by then
	Why     event.Code `json:"why,omitzero"`     // why its host was told to end it before it connected
	Ended   time.Time  `json:"ended,omitzero"`
}

// due returns when the launch needs attention.
func (l *launch) due() time.Time {
	if !l.Ended.IsZero() {
		return l.Ended.Add(compute.Remembered)
	}
	return wake.Earliest(l.HintAt, l.InitBy)
}

// launches holds the processes that hosts have started and that have not connected yet.
type launches struct {
	*shared
	instances *instances
	launchers *launchers
	host      func(store.Reader, string) *Host // set by New

	unconnected []func(*store.Tx, Unconnected)

	rows *store.Table[launch]
	on   *store.Index[launch] // not ended, by fleet and instance
	due  *store.DueIndex[launch]
}

func newLaunches(sh *shared, is *instances, all *launchers) *launches {
	ls, st := &launches{shared: sh, instances: is, launchers: all}, sh.st
	ls.rows = store.NewTable(st, store.TableSpec[launch]{Name: "launch", Key: func(l *launch) string { return l.Key }})
	ls.on = store.NewIndex(ls.rows, "compute", func(l *launch, emit func(string)) {
		if l.Ended.IsZero() {
			ref := compute.ParseRef(l.Key)
			instanceID, _ := compute.InstanceOf(ref.ComputeName)
			emit(compute.Key(ref.FleetID, instanceID))
		}
	})
	ls.due = store.NewDueIndex(ls.rows, "due", (*launch).due)
	return ls
}

// Connected forgets the launch of a process that has connected (compute.Hosting).
func (ls *launches) Connected(tx *store.Tx, p *compute.Process) { ls.rows.Delete(tx, p.Key) }

// reported handles the list of processes that run on an instance. It keeps a row for each
// that has not connected yet. In the first report after an agent connected, since is when
// it did, else zero. Processes that connected before since and are not listed have ended;
// the report may lack later ones.
func (ls *launches) reported(tx *store.Tx, i *Instance, listed []ProcessReport, since time.Time) {
	runs := map[string]bool{}
	for _, r := range listed {
		key := compute.Ref{FleetID: i.FleetID, ComputeName: i.computeName(r.Group), ProcessID: r.ID}.Key()
		runs[key] = true
		if ls.Computes.Process(tx, key) == nil && ls.rows.Get(tx, key) == nil {
			started := r.Started
			if started.IsZero() || started.After(tx.Now()) {
				started = tx.Now()
			}
			l := &launch{Key: key, Started: started, InitBy: started.Add(ls.opts.InitTimeout)}
			if i.Status == Pending && !i.Hinted { // no program has ever connected there
				l.HintAt = started.Add(min(compute.InitHint, ls.opts.InitTimeout))
			}
			ls.put(tx, l)
			if i.Stop == Drain { // the drain kills it
				tx.OnCommit(ls.replan)
			}
		}
	}
	if since.IsZero() {
		return
	}
	for p := range ls.Computes.OfInstance(tx, i.FleetID, i.ID) {
		if !runs[p.Key] && p.Initialized.Before(since) {
			ls.Computes.Kill(tx, p.Key, event.ServerProcessCrashed, "its host does not run it any more")
		}
	}
	for l := range ls.on.Equal(tx, i.key()) {
		if !runs[l.Key] {
			ls.end(tx, l.Key, l)
		}
	}
}

func (ls *launches) put(tx *store.Tx, l *launch) {
	ls.rows.Put(tx, l)
	tx.OnCommit(ls.wake)
}

// end records the end of a process that had not connected, so that a repeated
// report is recognized. old is its row, or nil.
func (ls *launches) end(tx *store.Tx, key string, old *launch) {
	l := launch{Key: key, Started: tx.Now()}
	if old != nil {
		l = *old
	}
	l.Ended = tx.Now()
	ls.put(tx, &l)
}

func (ls *launches) drop(tx *store.Tx, i *Instance) {
	for l := range ls.on.Equal(tx, i.key()) {
		ls.end(tx, l.Key, l)
	}
}

// overdue handles a passed deadline of a launch. A process that never connected is
// killed; its host's report of the exit then says how it ended. If the host sends none
// within the grace period, the event says only that the end is not confirmed.
func (ls *launches) overdue(tx *store.Tx, old *launch) {
	ref := compute.ParseRef(old.Key)
	switch {
	case !old.Ended.IsZero():
		ls.rows.Delete(tx, old.Key)
		return
	case !old.HintAt.IsZero():
		ls.hint(tx, old)
		return
	case old.Why != "":
		text := "the process had not called InitSDK when its instance was removed"
		if old.Why == event.ServerProcessSDKInitTimeout {
			text = neverConnected(ls.opts.InitTimeout)
		}
		ls.record(tx, Unconnected{Ref: ref, Code: old.Why, How: text + "; its host has not confirmed its end", Lived: tx.Now().Sub(old.Started)})
		ls.end(tx, old.Key, old)
		return
	}
	ls.kill(tx, old, event.ServerProcessSDKInitTimeout)
}

// kill has the host end a process that has not connected.
func (ls *launches) kill(tx *store.Tx, old *launch, why event.Code) {
	l := *old
	l.Why, l.InitBy = why, tx.Now().Add(ls.graces.UnhealthyGrace)
	ls.put(tx, &l)
	tx.OnCommit(func() { ls.launchers.end(compute.ParseRef(l.Key), why) })
}

// Unwanted returns why a host was told to end a process that had not connected, or "".
func (ls *launches) Unwanted(r store.Reader, ref compute.Ref) event.Code {
	if l := ls.rows.Get(r, ref.Key()); l != nil {
		return l.Why
	}
	return ""
}

// hint records an event about a program that does not connect, once per instance.
func (ls *launches) hint(tx *store.Tx, old *launch) {
	l := *old
	l.HintAt = time.Time{}
	ls.put(tx, &l)
	ref := compute.ParseRef(l.Key)
	i := ls.instances.of(tx, ref)
	if i == nil || i.Hinted || i.Status != Pending {
		return
	}
	told := *i
	told.Hinted = true
	ls.instances.put(tx, &told)
	closed := ""
	if h := ls.host(tx, i.HostID); h != nil {
		closed = h.LegacyNo
	}
	if len(i.Groups) > 0 && closed == "" {
		closed = compute.LegacyContained
	}
	ls.Computes.RecordUninitialized(tx, ref, closed)
}

// Unconnected is the end of a process that had not connected.
type Unconnected struct {
	compute.Ref
	Location string // "" if its instance is gone
	Code     event.Code
	How      string // it ended, for people
	Lived    time.Duration
}

// OnUnconnected registers f to be called in each transaction that records the end of a process
// that had not connected. It must be called before the store is opened.
func (ls *launches) OnUnconnected(f func(*store.Tx, Unconnected)) {
	ls.unconnected = append(ls.unconnected, f)
}

// record records the end of a process that had not connected, whose location it finds out.
func (ls *launches) record(tx *store.Tx, u Unconnected) {
	if i := ls.instances.of(tx, u.Ref); i != nil {
		u.Location = i.Location
		ls.Computes.CountEnd(tx, u.FleetID, u.Location, u.Code)
	}
	ls.Events.Append(tx, event.Event{Code: u.Code, FleetID: u.FleetID, Location: u.Location, ComputeName: u.ComputeName, ProcessID: u.ProcessID, Message: u.How})
	for _, f := range ls.unconnected {
		f(tx, u)
	}
}

func neverConnected(after fmt.Stringer) string {
	return fmt.Sprintf("the process started but did not call InitSDK within %s", after)
}
