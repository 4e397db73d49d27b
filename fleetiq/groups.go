package fleetiq

import (
	"cmp"
	"iter"
	"strings"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/store"
)

// kind is the kind of a group in ARNs.
const kind = "gameservergroup"

// Groups are the game server groups of a cell.
type Groups struct {
	*shared
	// Create creates a group, which is ACTIVE at once. Errors: InvalidRequest, Conflict
	// (name taken), LimitExceeded, TaggingFailed.
	Create *store.Command[CreateInput, *Group]
	// Update changes a group. Errors: NotFound, InvalidRequest.
	Update *store.Command[UpdateInput, *Group]
	// Suspend sets or clears the suspension of REPLACE_INSTANCE_TYPES, which replaces
	// nothing in either case. Errors: NotFound, InvalidRequest (not ACTIVE).
	Suspend *store.Command[SuspendInput, *Group]
	// Delete starts the deletion of a group. Errors: NotFound, InvalidRequest (not
	// ACTIVE).
	Delete *store.Command[DeleteInput, *Group]
}

func newGroups(st *store.Store, sh *shared) *Groups {
	gs := &Groups{shared: sh}
	gs.Create = store.NewCommand(st, "game_server_group.create", gs.runCreate)
	gs.Update = store.NewCommand(st, "game_server_group.update", gs.runUpdate)
	gs.Suspend = store.NewCommand(st, "game_server_group.suspend", gs.runSuspend)
	gs.Delete = store.NewCommand(st, "game_server_group.delete", gs.runDelete)
	sh.Tags.Kind(kind, func(r store.Reader, a string) bool { return gs.Get(r, a) != nil })
	return gs
}

// ARN returns the ARN of a group.
func (gs *Groups) ARN(name string) string { return gs.opts.Home.Of(kind, name) }

// scalingPrefix begins the name of a group's Auto Scaling group, as in AWS.
const scalingPrefix = "gamelift-gameservergroup-"

// AutoScalingGroup returns the name of the Auto Scaling group of a group. There is none
// that starts machines: what the group was created with can be read under that name.
func AutoScalingGroup(group string) string { return scalingPrefix + group }

// OfAutoScalingGroup returns the name of the group whose Auto Scaling group has a name.
func OfAutoScalingGroup(name string) (group string, ok bool) {
	group, ok = strings.CutPrefix(name, scalingPrefix)
	return group, ok && group != ""
}

// AutoScalingARN returns the ARN of a group's Auto Scaling group, in the form of AWS's.
func (gs *Groups) AutoScalingARN(g *Group) string {
	h := gs.opts.Home
	return "arn:aws:autoscaling:" + h.Region + ":" + h.Account + ":autoScalingGroup:" + g.Scaling +
		":autoScalingGroupName/" + AutoScalingGroup(g.Name)
}

// ScalingPolicyARN returns the ARN of the policy of a group's Auto Scaling group.
func (gs *Groups) ScalingPolicyARN(g *Group) string {
	h := gs.opts.Home
	return "arn:aws:autoscaling:" + h.Region + ":" + h.Account + ":scalingPolicy:" + g.Scaling +
		":autoScalingGroupName/" + AutoScalingGroup(g.Name) + ":policyName/" + g.Name
}

// Get returns a group by name or ARN, or nil.
func (gs *Groups) Get(r store.Reader, nameOrARN string) *Group {
	return gs.t.groups.Get(r, gs.opts.Home.ID(kind, nameOrARN))
}

// Find returns a group by name or ARN. Errors: NotFound.
func (gs *Groups) Find(r store.Reader, nameOrARN string) (*Group, error) {
	if g := gs.Get(r, nameOrARN); g != nil {
		return g, nil
	}
	return nil, fault.Missing("GameServerGroupName: game server group %s does not exist; ListGameServerGroups lists those that do", nameOrARN)
}

// After returns an iterator over the groups after a name, in order of names.
func (gs *Groups) After(r store.Reader, after string) iter.Seq[*Group] {
	return gs.t.groups.After(r, after)
}

// CreateInput describes the group to create.
type CreateInput struct {
	Group Group
	Tags  map[string]string
}

func (gs *Groups) runCreate(tx *store.Tx, in CreateInput) (*Group, error) {
	g := in.Group
	if gs.t.groups.Get(tx, g.Name) != nil {
		return nil, fault.New(fault.Conflict, "GameServerGroupName: game server group %s exists already; choose another name, or delete it first", g.Name)
	}
	if n, q := gs.t.groups.Len(tx), gs.opts.Groups; q > 0 && n >= q {
		return nil, fault.New(fault.LimitExceeded, "there are %d game server groups, which is the quota; delete one first", n)
	}
	if err := g.validate(); err != nil {
		return nil, err
	}
	if err := gs.Tags.Put(tx, gs.ARN(g.Name), in.Tags); err != nil {
		return nil, err
	}
	g.Balancing, g.Protection = cmp.Or(g.Balancing, SpotPreferred), cmp.Or(g.Protection, NoProtection)
	g.Scaling, g.Created, g.Updated = tx.ID(""), tx.Now(), tx.Now()
	g.move(Active)
	gs.t.groups.Put(tx, &g)
	gs.record(tx, event.GameServerGroupCreated, g.Name, "")
	return &g, nil
}

// UpdateInput patches a group: members that are nil or empty leave the value unchanged.
type UpdateInput struct {
	Group      string // name or ARN, as in the inputs below
	RoleARN    *string
	Balancing  *Balancing
	Protection *string
	Types      []InstanceType
}

func (gs *Groups) runUpdate(tx *store.Tx, in UpdateInput) (*Group, error) {
	g, err := gs.changeable(tx, in.Group)
	if err != nil {
		return nil, err
	}
	protection := g.Protection
	patch.Set(&g.RoleARN, in.RoleARN)
	patch.Set(&g.Balancing, in.Balancing)
	patch.Set(&g.Protection, in.Protection)
	if in.Types != nil {
		g.Types = in.Types
	}
	if err := checkTypes(g.Types); err != nil {
		return nil, err
	}
	gs.changed(tx, g, event.GameServerGroupUpdated, "")
	if protection == FullProtection && g.Protection != protection {
		gs.unprotected(tx)
	}
	return g, nil
}

// unprotected continues the removal of hosts that a group with FULL_PROTECTION kept, which
// it no longer has.
func (gs *Groups) unprotected(tx *store.Tx) {
	for h := range gs.Hosts.Hosts(tx) {
		if h.Removing {
			gs.Hosts.Released(tx, h.ID)
		}
	}
}

// SuspendInput says whether a group's activity is suspended.
type SuspendInput struct {
	Group   string
	Suspend bool
}

func (gs *Groups) runSuspend(tx *store.Tx, in SuspendInput) (*Group, error) {
	g, err := gs.changeable(tx, in.Group)
	if err != nil {
		return nil, err
	}
	text := "REPLACE_INSTANCE_TYPES is resumed"
	if g.Suspended = in.Suspend; in.Suspend {
		text = "REPLACE_INSTANCE_TYPES is suspended"
	}
	return gs.changed(tx, g, event.GameServerGroupUpdated, text), nil
}

// DeleteInput says which group to delete, and how.
type DeleteInput struct {
	Group  string
	Option DeleteOption // "" means SafeDelete
}

func (gs *Groups) runDelete(tx *store.Tx, in DeleteInput) (*Group, error) {
	g, err := gs.changeable(tx, in.Group)
	if err != nil {
		return nil, err
	}
	g.move(DeleteScheduled)
	g.Force = in.Option == ForceDelete
	if gs.idle(tx, g) {
		g.Due = tx.Now()
	}
	return gs.changed(tx, g, event.GameServerGroupLeaving, string(cmp.Or(in.Option, SafeDelete))), nil
}

// idle reports whether the deletion of a group has nothing to wait for.
func (gs *Groups) idle(r store.Reader, g *Group) bool {
	return g.Force || gs.t.busy.First(r, g.Name) == nil
}

// released continues the deletion of a group that waits for its game servers, one of which
// has just become free or gone.
func (gs *Groups) released(tx *store.Tx, name string) {
	old := gs.t.groups.Get(tx, name)
	if old == nil || old.Status != DeleteScheduled || !old.Due.IsZero() || !gs.idle(tx, old) {
		return
	}
	g := *old
	g.Due = tx.Now()
	gs.put(tx, &g)
}

// changeable returns a copy of an ACTIVE group. Errors: NotFound, InvalidRequest.
func (gs *Groups) changeable(r store.Reader, nameOrARN string) (*Group, error) {
	old, err := gs.Find(r, nameOrARN)
	if err != nil {
		return nil, err
	}
	g := *old
	return &g, g.mustBeActive()
}

// mustBeActive returns an error unless the group is ACTIVE. Errors: InvalidRequest.
func (g *Group) mustBeActive() error {
	if g.Status == Active {
		return nil
	}
	return fault.Invalid("GameServerGroupName: game server group %s is in status %s; it must be ACTIVE. Its deletion cannot be undone: wait until it is complete (%s), and create the group again",
		g.Name, g.Status, g.StatusReason())
}

// changed stores a changed group and records an event of it.
func (gs *Groups) changed(tx *store.Tx, g *Group, code event.Code, text string) *Group {
	g.Updated = tx.Now()
	gs.put(tx, g)
	gs.record(tx, code, g.Name, text)
	return g
}

func (gs *Groups) put(tx *store.Tx, g *Group) {
	gs.t.groups.Put(tx, g)
	tx.OnCommit(gs.nudge)
}

// drop removes a deleted group.
func (gs *Groups) drop(tx *store.Tx, g *Group) {
	gs.t.groups.Delete(tx, g.Name)
	gs.Tags.Drop(tx, gs.ARN(g.Name))
	gs.record(tx, event.GameServerGroupDeleted, g.Name, "")
}

func (gs *Groups) record(tx *store.Tx, code event.Code, group, text string) {
	gs.Events.Append(tx, event.Event{Code: code, Resource: gs.ARN(group), Message: text})
}
