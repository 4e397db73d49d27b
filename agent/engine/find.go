package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// Find returns the groups of the owner that there are, with those that a former agent
// left. Groups whose start did not come to its end are removed.
func (e *Engine) Find(ctx context.Context) ([]*Running, error) {
	list, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: e.filters()})
	if err != nil {
		return nil, err
	}
	groups := map[groupKey][]found{}
	for _, c := range list.Items {
		f := found{id: c.ID, labels: c.Labels}
		groups[f.key()] = append(groups[f.key()], f)
	}
	var all []*Running
	for key, containers := range groups {
		r, err := e.adopt(ctx, key, containers)
		if err != nil {
			return nil, err
		}
		if r != nil {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Running) int {
		return strings.Compare(a.labels.Instance+"\x00"+a.labels.Group, b.labels.Instance+"\x00"+b.labels.Group)
	})
	return all, nil
}

// found is a container of the owner.
type found struct {
	id     string
	labels map[string]string
}

func (f found) key() groupKey { return groupKey{f.labels[labelInstance], f.labels[labelGroup]} }

// adopt returns the group of the containers; nil if it is being started, or was removed
// since its start did not come to its end.
func (e *Engine) adopt(ctx context.Context, key groupKey, containers []found) (*Running, error) {
	e.mu.Lock()
	known := e.running[key]
	e.mu.Unlock()
	if known != nil {
		if !known.isLaunched() {
			return nil, nil
		}
		return known, nil
	}
	r := newRunning(e, labelsFrom(containers[0].labels))
	r.members = membersFrom(containers)
	states := make([]state, len(r.members))
	half := false
	for i := range r.members {
		var err error
		if states[i], err = e.inspect(ctx, &r.members[i]); err != nil {
			return nil, err
		}
		half = half || states[i].phase == created
	}
	if half {
		if err := e.removeAll(ctx, r.members); err != nil {
			return nil, err
		}
		e.log.Info("removed a container group whose start did not come to its end", "instance", key.instance, "group", key.group)
		return nil, nil
	}
	r.states, r.launched = states, true
	r.outlived.Store(true)
	if !e.claim(r) {
		return nil, nil
	}
	e.steady(r)
	r.nudge() // the group may have ended
	return r, nil
}

func (r *Running) isLaunched() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.launched
}

func labelsFrom(labels map[string]string) Labels {
	started, _ := time.Parse(time.RFC3339Nano, labels[labelStarted]) // zero if others changed it
	return Labels{Instance: labels[labelInstance], Group: labels[labelGroup], Definition: labels[labelDefinition], ProcessID: labels[labelProcess], Started: started}
}

// membersFrom returns all members of a group, those that others removed without an id.
func membersFrom(containers []found) []member {
	var members []member
	for one := range strings.SplitSeq(containers[0].labels[labelMembers], ",") {
		role, name, _ := strings.Cut(one, "=")
		m := member{name: name, role: role, stop: defaultStop}
		for _, c := range containers {
			if c.labels[labelContainer] == name {
				m.id = c.id
			}
		}
		members = append(members, m)
	}
	return members
}

// roleIn returns the role of a container among a group's members.
func roleIn(members, name string) string {
	for one := range strings.SplitSeq(members, ",") {
		if role, of, _ := strings.Cut(one, "="); of == name {
			return role
		}
	}
	return roleOther
}
