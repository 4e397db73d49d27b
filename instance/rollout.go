package instance

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/fleet"
)

// rollout is the input of the plan of a deployment in one location.
type rollout struct {
	fleet     *fleet.Fleet // with the versions that it should run
	config    fleet.DeploymentConfig
	desired   int         // instances
	instances []rolling   // those that stay
	failed    []*Instance // those that their hosts could not run lately, with the desired version
}

// rolling is an instance during a deployment, with the load of its groups.
type rolling struct {
	*Instance
	load map[string]groupLoad // by name of the group
}

// groupLoad is what a group hosts.
type groupLoad struct {
	free      bool // it can take a game session now
	session   bool
	protected bool
	players   int
}

// groupRef names a group on an instance.
type groupRef struct{ instanceID, name string }

// rolled is the changes of a rollout, and how far it has come.
type rolled struct {
	drain   []groupRef // groups of another version that shall end
	keep    []groupRef // draining groups whose version is desired again
	start   []groupRef // groups that have ended, to run the desired version
	add     []string   // ids of instances that lack the per-instance group
	replace []string   // ids of instances on which the desired groups have no room
	status  fleet.DeploymentStatus
	cause   string // why it is IMPAIRED
}

// Bounds of failures, at which a deployment is IMPAIRED: of all groups of the new version
// together while none of them is ready without having failed, and of a single one, which may fail on its
// own machine only.
const (
	maxFailures      = 3
	maxGroupFailures = 10
)

// planRollout returns the next changes of a deployment in a location. Groups of other
// versions are drained, the idle ones first, but never so many that fewer than the healthy
// minimum remain ready; a protected game session is waited for, if the deployment protects
// them. A group of the new version counts as ready once it has stayed so for a while. Groups
// that do not work cost nothing and are drained at once; one whose game server is just being
// started again costs as much as a ready one.
func planRollout(in rollout) rolled {
	var out rolled
	if in.fleet.Containers.Game == nil {
		out.status = fleet.DeploymentComplete
		return out
	}
	t := in.tally()
	if t.isBad(len(in.instances)) {
		out.status, out.cause = fleet.DeploymentImpaired, t.cause
		return out
	}
	spare := t.ready - in.desired*in.fleet.Slots()*in.config.MinHealthy/100
	for _, c := range t.old {
		if !c.isReady && !c.isBetween {
			out.take(c)
		} else if spare >= max(1, c.healthy) {
			spare -= max(1, c.healthy)
			out.take(c)
		}
	}
	if len(out.drain)+len(out.replace)+t.pending == 0 && len(t.old) > 0 && len(in.instances) >= in.desired {
		out.take(t.old[0]) // otherwise a deployment with few groups would never proceed
	}
	out.keep, out.start, out.add = t.wanted, t.ended, t.lacking
	out.status = fleet.DeploymentInProgress
	if t.complete {
		out.status = fleet.DeploymentComplete
	}
	return out
}

func (out *rolled) take(c candidate) {
	if c.whole {
		out.replace = append(out.replace, c.instanceID)
	} else {
		out.drain = append(out.drain, c.groupRef)
	}
}

// candidate is a group, or a whole instance, to be drained.
type candidate struct {
	groupRef
	whole   bool
	isReady bool
	healthy int // how many ready groups end with it
	load    groupLoad

	isBetween bool // it has worked, and its game server starts again
}

// rolloutTally is what planRollout decides by.
type rolloutTally struct {
	ready    int // groups of any version that can host game sessions
	readyNew int // groups of the desired version that are ready and have not failed
	failures int // of groups of the desired version
	failing  int // instances with such failures
	worst    int // failures of the group that has most of them
	cause    string
	old      []candidate // in the order in which they are drained
	wanted   []groupRef  // draining groups whose version is desired again
	ended    []groupRef  // groups that have ended, to run the desired version
	lacking  []string    // ids of instances without the per-instance group that they should have
	pending  int         // groups that end, or are not ready yet or not for long
	complete bool
}

// isBad reports whether the failures mean that the version does not work. Where there are
// several instances, a single one may be what is wrong.
func (t *rolloutTally) isBad(instances int) bool {
	everywhere := t.failing > 1 || instances <= 1 || t.worst >= maxFailures
	return t.failures >= maxFailures && t.readyNew == 0 && everywhere || t.worst >= maxGroupFailures
}

func (in rollout) tally() rolloutTally {
	t := rolloutTally{complete: len(in.instances) > 0 || in.desired == 0, failures: len(in.failed), failing: len(in.failed)}
	for _, i := range in.failed {
		t.cause = fmt.Sprintf("instances fail; %s: %s", i.ID, i.Cause)
	}
	for _, i := range in.instances {
		whole := candidate{groupRef: groupRef{instanceID: i.ID}, whole: true}
		suits, before := i.suits(in.fleet), t.failures
		for n := range i.Groups {
			in.count(&t, &whole, i, &i.Groups[n], suits)
		}
		if t.failures > before {
			t.failing++
		}
		switch {
		case !suits:
			t.complete = false
			t.old = append(t.old, whole)
		case in.fleet.Containers.PerInstance != nil && i.Group(perInstance) == nil:
			t.complete = false
			t.lacking = append(t.lacking, i.ID)
		}
	}
	slices.SortStableFunc(t.old, func(a, b candidate) int {
		return cmp.Or(
			yesLast(a.load.protected, b.load.protected),
			yesLast(a.load.session, b.load.session),
			cmp.Compare(a.load.players, b.load.players),
		)
	})
	return t
}

// count adds a group to the tally, and to its instance in case that is replaced as a whole.
func (in rollout) count(t *rolloutTally, whole *candidate, i rolling, g *Group, suits bool) {
	load := i.load[g.Name]
	want := in.want(g)
	desired := want != nil && sameVersion(&g.Of, want) && g.Stop == Keep
	staying := g.works() && g.Stop == Keep && !g.PerInstance
	if staying {
		t.ready++
		whole.healthy++
		whole.isReady = true
	}
	whole.load.session = whole.load.session || load.session
	whole.load.protected = whole.load.protected || load.protected
	whole.load.players += load.players
	switch {
	case desired:
		t.failures += g.Failures
		t.worst = max(t.worst, g.Failures)
		if g.Ready && g.Failures == 0 && !g.PerInstance {
			t.readyNew++
		}
		if g.Cause != "" && g.Failures > 0 {
			t.cause = fmt.Sprintf("groups of %s do not become ready, or not for long; on %s: %s", &g.Of, i.ID, g.Cause)
		}
		t.complete = t.complete && g.hasWorked()
		if !g.works() {
			t.pending++
		}
	case g.Stop != Keep:
		t.complete = false
		t.pending++
		switch ref := (groupRef{i.ID, g.Name}); {
		case g.Phase == GroupGone:
			t.ended = append(t.ended, ref)
		case want != nil && sameVersion(&g.Of, want) && g.StopBy.IsZero():
			t.wanted = append(t.wanted, ref) // a protected game session has kept it so far
		}
	default:
		t.complete = false
		if suits {
			healthy := 0
			if staying {
				healthy = 1
			}
			between := g.Worked && !g.Ready && g.Failures == 0 && !g.PerInstance
			if between {
				t.pending++
			}
			t.old = append(t.old, candidate{groupRef{i.ID, g.Name}, false, staying, healthy, load, between})
		}
	}
}

// want returns the version that a group should be of, or nil if it should not exist.
func (in rollout) want(g *Group) *fleet.Group {
	if g.PerInstance {
		return in.fleet.Containers.PerInstance
	}
	return in.fleet.Containers.Game
}
