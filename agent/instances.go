package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/hosts/protocol"
)

// member is an instance on this machine: of a fleet with a build (instance.Instance), or of
// one with containers (group.Instance).
type member interface {
	Run()
	Want(protocol.Desired)
	Forget()
	Kill(protocol.Kill)
	Detach()
	Stop(ctx context.Context, grace time.Duration)

	IsOwn() bool
	Desired() protocol.Desired
	Build() string
	Report() protocol.Instance
	Runs(processID string) bool
	Gone() <-chan struct{}
	Over() bool

	PackLogs(io.Writer, protocol.Collect) error
	DropLogs(processID string) error
	Tail(ctx context.Context, processID string, most int) (protocol.Tailed, error)
	Remove() error
}

// instances are the instances on this machine.
type instances struct {
	m *instance.Machine
	g *group.Machine

	mu     sync.Mutex
	ctx    context.Context // of the instances; set by resume
	byID   map[string]member
	server bool           // Muster decides about what a former agent left
	over   bool           // no new instances are begun
	found  bool           // adopt was called
	work   sync.WaitGroup // of their goroutines
}

// desiredFile is the file of the desired state that was received last, below Root.
const desiredFile = "wish.json"

// store stores a desired state for the next agent.
func (s *instances) store(desired protocol.Assign) error {
	return disk.Write(filepath.Join(s.m.Root, desiredFile), desired)
}

// resume continues with the desired state that a former agent received last, and begins
// the instances of o.Own. An instance can be on disk although that state does not name it:
// the former agent died before it ended the instance, or could not store a newer state.
// Such an instance waits for the next desired state or, if there is no server to send one,
// is ended.
func (s *instances) resume(ctx context.Context, o *Options) error {
	var last protocol.Assign
	err := disk.Read(filepath.Join(s.m.Root, desiredFile), &last)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the last desired state: %w", err)
	}
	folders, err := os.ReadDir(instance.Folders(s.m.Root))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for instances: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.server = ctx, o.Server != ""
	for _, d := range last.Instances {
		if instance.ValidID(d.InstanceID) {
			s.begin(d.InstanceID, s.make(d, false))
		}
	}
	for _, f := range folders {
		id := f.Name()
		isOwn := slices.ContainsFunc(o.Own, func(o *instance.Own) bool { return o.Desired.InstanceID == id }) ||
			slices.ContainsFunc(o.OwnImages, func(o *group.Own) bool { return o.Desired.InstanceID == id })
		if !f.IsDir() || !instance.ValidID(id) || s.byID[id] != nil || isOwn {
			continue
		}
		i := s.make(protocol.Desired{InstanceID: id, PortFrom: o.Facts.PortFrom, PortTo: o.Facts.PortTo}, true)
		s.begin(id, i)
		if !s.server {
			i.Forget()
		}
	}
	for _, own := range o.Own {
		s.begin(own.Desired.InstanceID, instance.New(ctx, s.m, instance.Options{Desired: own.Desired, Own: own}))
	}
	for _, own := range o.OwnImages {
		s.begin(own.Desired.InstanceID, group.New(ctx, s.g, group.Options{Desired: own.Desired, Own: own, Searched: s.found}))
	}
	return nil
}

// make returns an instance, of a fleet with a build or of one with containers. The caller
// must hold mu.
func (s *instances) make(d protocol.Desired, unnamed bool) member {
	if len(d.Groups) > 0 || group.IsHome(s.m.Root, d.InstanceID) {
		return group.New(s.ctx, s.g, group.Options{Desired: d, Unnamed: unnamed, Searched: s.found})
	}
	return instance.New(s.ctx, s.m, instance.Options{Desired: d, Unnamed: unnamed})
}

// adopt takes over the container groups that a former agent left. An instance that no known
// desired state names waits for the next one, like those found on disk.
func (s *instances) adopt(left []group.Containers) {
	for _, g := range s.adopting(left) {
		g.Settle()
	}
}

// adopting returns the instances that take containers over now.
func (s *instances) adopting(left []group.Containers) (all []*group.Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.found {
		return nil
	}
	s.found = true
	byInstance := map[string][]group.Containers{}
	for _, c := range left {
		id := c.Labels().InstanceID
		byInstance[id] = append(byInstance[id], c)
	}
	for id, i := range s.byID {
		if g, ok := i.(*group.Instance); ok {
			g.Adopt(byInstance[id])
			all = append(all, g)
			delete(byInstance, id)
		}
	}
	for id, left := range byInstance {
		if s.byID[id] != nil || !instance.ValidID(id) {
			s.m.Log.Error("containers are left of an instance that cannot have any", "instance", id)
			continue
		}
		d := protocol.Desired{InstanceID: id, FleetID: left[0].Labels().FleetID}
		i := group.New(s.ctx, s.g, group.Options{Desired: d, Unnamed: true, Left: left, Searched: true})
		s.begin(id, i)
		if !s.server {
			i.Forget()
		}
	}
	return all
}

// begin starts an instance's goroutine. The caller must hold mu.
func (s *instances) begin(id string, i member) {
	s.byID[id] = i
	s.work.Go(func() {
		i.Run()
		if i.Over() {
			s.mu.Lock()
			delete(s.byID, id)
			s.mu.Unlock()
		}
		s.m.Changed()
	})
}

// assign applies a desired state.
func (s *instances) assign(desired protocol.Assign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return // it is on disk for the next agent
	}
	named := map[string]bool{}
	for _, d := range desired.Instances {
		named[d.InstanceID] = true
		switch i := s.byID[d.InstanceID]; {
		case i != nil:
			i.Want(d)
		case !instance.ValidID(d.InstanceID):
			s.m.Log.Error("an instance has an id that cannot be a folder's name", "instance", d.InstanceID)
		default:
			s.begin(d.InstanceID, s.make(d, false))
		}
	}
	for id, i := range s.byID {
		if !named[id] && !i.IsOwn() {
			i.Forget()
		}
	}
	s.m.Changed()
}

// find returns an instance, or nil.
func (s *instances) find(id string) member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

func (s *instances) all() []member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byID))
}

// report returns the instances as they are reported to Muster: those that it assigned, and the
// machine's own.
func (s *instances) report() (assigned, own []protocol.Instance) {
	assigned = []protocol.Instance{}
	for _, i := range s.all() {
		if i.IsOwn() {
			own = append(own, i.Report())
		} else {
			assigned = append(assigned, i.Report())
		}
	}
	return assigned, own
}

// builds returns the builds in use.
func (s *instances) builds() map[string]bool {
	used := map[string]bool{}
	for _, i := range s.all() {
		used[i.Build()] = true
	}
	return used
}

// engineGone bounds how long clear waits for the end of instances.
const engineGone = 2 * time.Minute

// clear immediately ends all instances that Muster assigned, and removes their folders.
func (s *instances) clear() {
	s.assign(protocol.Assign{})
	late := time.NewTimer(engineGone)
	defer late.Stop()
	for _, i := range s.all() {
		if i.IsOwn() {
			continue
		}
		id := i.Desired().InstanceID
		select {
		case <-i.Gone():
		case <-late.C:
			s.m.Log.Error("the containers of instances are left, because no container engine answers", "instance", id)
			return
		}
		if err := i.Remove(); err != nil {
			s.m.Log.Warn("the folder of an instance is left", "instance", id, "error", err)
		}
	}
}

// detach ends the work on all instances and leaves their processes to the next agent.
func (s *instances) detach() { s.end(func(i member) { i.Detach() }) }

// stop ends all instances. Processes have until the end of the grace period, or of ctx,
// to end by themselves.
func (s *instances) stop(ctx context.Context, grace time.Duration) {
	s.end(func(i member) { i.Stop(ctx, grace) })
}

func (s *instances) end(end func(member)) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	var ends sync.WaitGroup
	for _, i := range s.all() {
		ends.Go(func() { end(i) })
	}
	ends.Wait()
	s.work.Wait()
}
