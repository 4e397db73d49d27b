package fleet

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/state"
	"github.com/musterhq/muster/internal/store"
)

// Deployment replaces the container groups of a fleet by those of other versions.
type Deployment struct {
	ID          string           `json:"id"`
	FleetID     string           `json:"fleet_id"`
	Created     time.Time        `json:"created"`
	Game        *Group           `json:"game,omitzero"`
	PerInstance *Group           `json:"per_instance,omitzero"`
	From        Former           `json:"from,omitzero"`
	Config      DeploymentConfig `json:"config"`
	Status      DeploymentStatus `json:"status"`
	Ended       time.Time        `json:"ended,omitzero"`

	Locations map[string]DeploymentStatus `json:"locations,omitzero"`
}

// Former is what a fleet ran before a deployment, and what a rollback returns to: the
// groups of its last deployment that was COMPLETE, or to which it was rolled back. Game is
// nil if there was none.
type Former struct {
	Game        *Group   `json:"game,omitzero"`
	PerInstance *Group   `json:"per_instance,omitzero"`
	Copies      int      `json:"copies,omitzero"`
	Ports       PortSpan `json:"ports,omitzero"`
}

// DeploymentConfig says how a deployment proceeds (DeploymentConfiguration).
type DeploymentConfig struct {
	Protect    bool `json:"protect"`     // it waits for the end of protected game sessions (WITH_PROTECTION)
	MinHealthy int  `json:"min_healthy"` // percent of the groups that stay ready, 30 to 75
	Rollback   bool `json:"rollback"`    // if it is impaired, the former versions return (ROLLBACK); else it stays as it is (MAINTAIN)
}

// DeploymentStatus is spelled as in the API.
type DeploymentStatus string

// The states of a deployment, and of its part in a location.
const (
	DeploymentPending      DeploymentStatus = "PENDING"
	DeploymentInProgress   DeploymentStatus = "IN_PROGRESS"
	DeploymentComplete     DeploymentStatus = "COMPLETE"
	DeploymentImpaired     DeploymentStatus = "IMPAIRED"
	DeploymentRollingBack  DeploymentStatus = "ROLLBACK_IN_PROGRESS"
	DeploymentRollbackDone DeploymentStatus = "ROLLBACK_COMPLETE"
	DeploymentCancelled    DeploymentStatus = "CANCELLED"
)

// DeploymentMoves lists each allowed change of the status of a deployment, or of its part in
// a location, and what causes it.
var DeploymentMoves = state.Machine[DeploymentStatus]{
	{"", DeploymentPending}:                         "CreateContainerFleet, UpdateContainerFleet, a new version of a definition",
	{DeploymentPending, DeploymentInProgress}:       "instances are asked to replace their groups",
	{DeploymentInProgress, DeploymentComplete}:      "every group is of the new version and has been ready",
	{DeploymentInProgress, DeploymentImpaired}:      "groups of the new version fail, and there is no rollback",
	{DeploymentInProgress, DeploymentRollingBack}:   "groups of the new version fail in a location: the former version returns",
	{DeploymentPending, DeploymentRollingBack}:      "another location is IMPAIRED",
	{DeploymentComplete, DeploymentRollingBack}:     "another location is IMPAIRED",
	{DeploymentImpaired, DeploymentRollingBack}:     "the location is IMPAIRED",
	{DeploymentRollingBack, DeploymentRollbackDone}: "every group is of the former version and has been ready",
	{DeploymentRollingBack, DeploymentImpaired}:     "groups of the former version fail too",
	{DeploymentPending, DeploymentCancelled}:        "another deployment begins, or the fleet or location is deleted",
	{DeploymentInProgress, DeploymentCancelled}:     "another deployment begins, or the fleet or location is deleted",
	{DeploymentRollingBack, DeploymentCancelled}:    "another deployment begins, or the fleet or location is deleted",
}

// Ended reports whether nothing changes any more.
func (s DeploymentStatus) Ended() bool {
	switch s {
	case DeploymentPending, DeploymentInProgress, DeploymentRollingBack:
		return false
	}
	return true
}

// proven reports whether every group of the fleet has been ready in the version that the
// deployment left.
func (s DeploymentStatus) proven() bool {
	return s == DeploymentComplete || s == DeploymentRollbackDone
}

// maxDeployments is how many deployments of a fleet are kept.
const maxDeployments = 100

// Deployments are the deployments of container fleets. At most one of a fleet has not ended.
type Deployments struct {
	fleets    *Fleets
	table     *store.Table[Deployment]
	of        *store.Index[Deployment] // by fleet, the newest first
	ofVersion *store.Index[Deployment] // by versions, the former ones too
}

func newDeployments(st *store.Store, fleets *Fleets) *Deployments {
	t := &Deployments{fleets: fleets}
	t.table = store.NewTable(st, store.TableSpec[Deployment]{Name: "fleet_deployment", Key: func(d *Deployment) string { return newestFirst(d.ID) }})
	t.of = store.NewIndex(t.table, "fleet", func(d *Deployment, emit func(string)) { emit(d.FleetID) })
	t.ofVersion = store.NewIndex(t.table, "version", func(d *Deployment, emit func(string)) {
		seen := map[string]bool{}
		for _, g := range []*Group{d.Game, d.PerInstance, d.From.Game, d.From.PerInstance} {
			if name := g.String(); g != nil && !seen[name] {
				seen[name] = true
				emit(name)
			}
		}
	})
	return t
}

// newestFirst returns a key of a deployment's row by its id, in which hexadecimal digits are
// replaced by their complements: ids sort by the time of creation, so the newest is the
// first.
func newestFirst(id string) string {
	const digits = "0123456789abcdef"
	return strings.Map(func(r rune) rune {
		if i := strings.IndexRune(digits, r); i >= 0 {
			return rune(digits[len(digits)-1-i])
		}
		return r
	}, id)
}

// Get returns a deployment, or nil.
func (t *Deployments) Get(r store.Reader, id string) *Deployment {
	return t.table.Get(r, newestFirst(id))
}

// Current returns the deployment of a fleet that has not ended, or nil.
func (t *Deployments) Current(r store.Reader, fleetID string) *Deployment {
	f := t.fleets.table.Get(r, fleetID)
	if f == nil || f.Containers == nil {
		return nil
	}
	if d := t.Get(r, f.Containers.Deployment); d != nil && !d.Status.Ended() {
		return d
	}
	return nil
}

// Of returns the deployments of a fleet, or of all fleets if fleetID is "", that are older
// than the one with the id after; the newest first.
func (t *Deployments) Of(r store.Reader, fleetID, after string) iter.Seq[*Deployment] {
	key := ""
	if after != "" {
		key = newestFirst(after)
	}
	if fleetID == "" {
		return t.table.After(r, key)
	}
	return func(yield func(*Deployment) bool) {
		for d := range t.of.Equal(r, fleetID) {
			if newestFirst(d.ID) > key && !yield(d) {
				return
			}
		}
	}
}

// start begins a deployment of what the copy f of a fleet should run now, and puts f. old is
// the fleet as it was, nil if it is new. A deployment that has not ended is cancelled.
func (t *Deployments) start(tx *store.Tx, f, old *Fleet, config DeploymentConfig) {
	c := f.Containers
	d := &Deployment{
		ID: tx.ID("deployment-"), FleetID: f.ID, Created: tx.Now(), Game: c.Game, PerInstance: c.PerInstance, Config: config,
		Locations: map[string]DeploymentStatus{},
	}
	if old != nil {
		d.From = t.former(tx, old.Containers)
		t.cancel(tx, old.Containers.Deployment, "another deployment begins")
	}
	d.move(DeploymentPending)
	for _, l := range f.Locations {
		if l.Status != Deleting {
			d.part(l.Location, DeploymentPending)
		}
	}
	c.Deployment = d.ID
	t.table.Put(tx, d)
	t.trim(tx, f.ID)
	t.record(tx, f, "", "Deployment %s of %s begins", d.ID, describe(d.Game, d.PerInstance))
	t.busy(tx, f)
	t.fleets.putDesired(tx, f)
}

// former returns what a deployment of a fleet returns to: what the fleet runs, unless that
// was never ready everywhere.
func (t *Deployments) former(r store.Reader, c *Containers) Former {
	d := t.Get(r, c.Deployment)
	if d == nil || d.Status.proven() {
		return Former{Game: c.Game, PerInstance: c.PerInstance, Copies: c.Copies, Ports: c.Ports}
	}
	return d.From
}

// lingers reports whether groups of a deployment's versions, or of its former ones, may still
// run or return: none since it has ended with all groups of one version.
func (t *Deployments) lingers(r store.Reader, d *Deployment) bool {
	for newer := range t.of.Equal(r, d.FleetID) {
		if newer.Status.proven() {
			return false
		}
		if newer.ID == d.ID {
			return true
		}
	}
	return false
}

// trim deletes the oldest deployments of a fleet that has too many.
func (t *Deployments) trim(tx *store.Tx, fleetID string) {
	n := 0
	for d := range t.of.Equal(tx, fleetID) {
		if n++; n > maxDeployments {
			t.table.Delete(tx, newestFirst(d.ID))
		}
	}
}

// drop deletes the deployments of a fleet that is gone.
func (t *Deployments) drop(tx *store.Tx, fleetID string) {
	for d := range t.of.Equal(tx, fleetID) {
		t.table.Delete(tx, newestFirst(d.ID))
	}
}

// cancel ends a deployment, if there is one that has not ended.
func (t *Deployments) cancel(tx *store.Tx, id, why string) {
	old := t.Get(tx, id)
	if old == nil || old.Status.Ended() {
		return
	}
	d := old.clone()
	t.end(tx, d, DeploymentCancelled)
	t.record(tx, t.fleets.table.Get(tx, d.FleetID), "", "Deployment %s is CANCELLED: %s", d.ID, why)
}

// Report sets the status of a deployment in a location, as the plan of its instances says:
// IN_PROGRESS, COMPLETE (in a rollback: of the former version) or IMPAIRED, with the cause.
// It has no effect on a deployment that has ended, or in a location where it has. When all
// locations agree the deployment ends; if one is IMPAIRED, it is rolled back if its
// configuration says so.
func (t *Deployments) Report(tx *store.Tx, id, location string, status DeploymentStatus, cause string) {
	old := t.Get(tx, id)
	if old == nil || old.Status.Ended() {
		return
	}
	f := t.fleets.table.Get(tx, old.FleetID)
	if f == nil || f.Status == Deleting || f.Place(location) == nil {
		return
	}
	to := old.reached(f.Place(location), status)
	if was := old.Locations[location]; was == to || was.Ended() && was != "" {
		return
	}
	d, f := old.clone(), f.clone()
	if d.Status == DeploymentPending {
		d.move(DeploymentInProgress)
	}
	d.part(location, to)
	t.table.Put(tx, d)
	if to == DeploymentImpaired {
		t.record(tx, f, location, "Deployment %s is IMPAIRED in %s: %s", d.ID, location, cause)
		if d.returns(f) {
			t.rollBack(tx, d, f)
			return
		}
	}
	if l := f.Place(location); to.Ended() && l.Status == Updating {
		t.settled(tx, f, l)
		t.fleets.putDesired(tx, f)
	}
	t.settle(tx, f)
}

// reached returns the status of the part in a location for a reported one. A location that
// should have instances and never had a ready one is not complete.
func (d *Deployment) reached(l *LocationState, status DeploymentStatus) DeploymentStatus {
	complete := status == DeploymentComplete || status == DeploymentRollbackDone
	if complete && l.Status.Starting() && l.Capacity.Desired > 0 {
		status, complete = DeploymentInProgress, false
	}
	switch {
	case d.Status != DeploymentRollingBack && complete:
		return DeploymentComplete
	case d.Status != DeploymentRollingBack || status == DeploymentImpaired:
		return status
	case complete:
		return DeploymentRollbackDone
	}
	return DeploymentRollingBack
}

// Replaces reports whether the deployment replaces versions that work: it is neither the first
// of its fleet nor on the way back.
func (d *Deployment) Replaces() bool {
	return d.From.Game != nil && d.Status != DeploymentRollingBack
}

// Deploys reports whether a group, beside the game servers or not, is of the version that the
// deployment brings.
func (d *Deployment) Deploys(g *Group, perInstance bool) bool {
	if perInstance {
		return d.PerInstance.is(g)
	}
	return d.Game.is(g)
}

// returns reports whether the deployment is to be rolled back when it is impaired: its
// configuration says so, and there is something else to return to.
func (d *Deployment) returns(f *Fleet) bool {
	c := f.Containers
	same := d.From.Game.is(c.Game) && d.From.PerInstance.is(c.PerInstance) && d.From.Copies == c.Copies
	return d.Config.Rollback && d.Status == DeploymentInProgress && d.From.Game != nil && !same
}

// rollBack has the copy f of a fleet run again what it ran before a deployment.
func (t *Deployments) rollBack(tx *store.Tx, d *Deployment, f *Fleet) {
	d.move(DeploymentRollingBack)
	for location := range d.Locations {
		if l := f.Place(location); l != nil && l.Status != Deleting {
			d.part(location, DeploymentRollingBack)
		}
	}
	t.table.Put(tx, d)
	c := *f.Containers
	c.Game, c.PerInstance, c.Copies, c.Ports = d.From.Game, d.From.PerInstance, d.From.Copies, d.From.Ports
	f.Containers = &c
	t.record(tx, f, "", "Deployment %s is rolled back to %s", d.ID, describe(c.Game, c.PerInstance))
	t.busy(tx, f)
	t.fleets.putDesired(tx, f)
}

// settle ends the current deployment of a fleet if it has ended in all locations. Those that
// are being deleted, and those that wait for their first host, do not count.
func (t *Deployments) settle(tx *store.Tx, f *Fleet) {
	old := t.Current(tx, f.ID)
	if old == nil || f.Status == Deleting {
		return
	}
	d := old.clone()
	for location, part := range d.Locations {
		if l := f.Place(location); !part.Ended() && (l == nil || l.Status == Deleting) {
			d.part(location, DeploymentCancelled)
			t.table.Put(tx, d)
		}
	}
	counted, impaired := 0, false
	for _, l := range f.Locations {
		if l.Status == Deleting || l.Status.Starting() && l.WaitsForHost {
			continue
		}
		part := d.Locations[l.Location]
		if part == "" || !part.Ended() {
			return
		}
		counted++
		impaired = impaired || part == DeploymentImpaired
	}
	if counted == 0 {
		return
	}
	switch {
	case impaired:
		t.end(tx, d, DeploymentImpaired)
	case d.Status == DeploymentRollingBack:
		t.end(tx, d, DeploymentRollbackDone)
	default:
		t.end(tx, d, DeploymentComplete)
	}
	f = t.fleets.table.Get(tx, f.ID).clone()
	t.record(tx, f, "", "Deployment %s is %s", d.ID, d.Status)
	t.settled(tx, f, nil)
	t.fleets.putDesired(tx, f)
}

// end ends a deployment, and cancels it where it has not ended.
func (t *Deployments) end(tx *store.Tx, d *Deployment, how DeploymentStatus) {
	d.move(how)
	d.Ended = tx.Now()
	for location, part := range d.Locations {
		if !part.Ended() {
			d.part(location, DeploymentCancelled)
		}
	}
	t.table.Put(tx, d)
}

// busy moves the copy f of a fleet, and its locations, to the status in which they are during
// a deployment.
func (t *Deployments) busy(tx *store.Tx, f *Fleet) {
	during := map[Status]Status{Active: Updating, Created: Activating}
	for i := range f.Locations {
		if l := &f.Locations[i]; during[l.Status] != "" {
			f.moveAt(l, during[l.Status])
			t.fleets.recordLocation(tx, f, l)
		}
	}
	if to := during[f.Status]; to != "" {
		f.move(to)
		t.fleets.recordStep(tx, f, "")
	}
}

// settled moves an UPDATING location of the copy f of a fleet to ACTIVE; nil is the fleet
// with all its locations.
func (t *Deployments) settled(tx *store.Tx, f *Fleet, only *LocationState) {
	for i := range f.Locations {
		if l := &f.Locations[i]; l.Status == Updating && (only == nil || only == l) {
			f.moveAt(l, Active)
			t.fleets.recordLocation(tx, f, l)
		}
	}
	if only == nil && f.Status == Updating {
		f.move(Active)
		t.fleets.recordStep(tx, f, "")
	}
}

func (t *Deployments) record(tx *store.Tx, f *Fleet, location, format string, args ...any) {
	t.fleets.record(tx, event.GenericEvent, f, location, format, args...)
}

func (d *Deployment) move(to DeploymentStatus) { DeploymentMoves.Move(&d.Status, to, d.ID) }

// part changes the status of the deployment in a location, through the one in between where
// it has not begun.
func (d *Deployment) part(location string, to DeploymentStatus) {
	s := d.Locations[location]
	if s == "" {
		DeploymentMoves.Move(&s, DeploymentPending, d.ID)
	}
	between := map[DeploymentStatus]DeploymentStatus{
		DeploymentComplete: DeploymentInProgress, DeploymentImpaired: DeploymentInProgress, DeploymentRollbackDone: DeploymentRollingBack,
	}
	if step, ok := between[to]; ok && s == DeploymentPending {
		DeploymentMoves.Move(&s, step, d.ID)
	}
	if s != to {
		DeploymentMoves.Move(&s, to, d.ID)
	}
	d.Locations[location] = s
}

func (d *Deployment) clone() *Deployment {
	c := *d
	c.Locations = maps.Clone(d.Locations)
	return &c
}

// Places returns the locations of a deployment in order of names.
func (d *Deployment) Places() []string { return slices.Sorted(maps.Keys(d.Locations)) }
