package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/hosts/protocol"
)

// instances are the instances on this machine.
type instances struct {
	m *instance.Machine

	mu   sync.Mutex
	ctx  context.Context // of the instances; set by resume
	byID map[string]*instance.Instance
	over bool           // no new instances are begun
	work sync.WaitGroup // of their goroutines
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
	s.ctx = ctx
	for _, d := range last.Instances {
		if instance.ValidID(d.InstanceID) {
			s.begin(instance.New(ctx, s.m, instance.Options{Desired: d}))
		}
	}
	for _, f := range folders {
		id := f.Name()
		isOwn := slices.ContainsFunc(o.Own, func(o *instance.Own) bool { return o.Desired.InstanceID == id })
		if !f.IsDir() || !instance.ValidID(id) || s.byID[id] != nil || isOwn {
			continue
		}
		d := protocol.Desired{InstanceID: id, PortFrom: o.Facts.PortFrom, PortTo: o.Facts.PortTo}
		i := instance.New(ctx, s.m, instance.Options{Desired: d, Unnamed: true})
		s.begin(i)
		if o.Server == "" {
			i.Forget()
		}
	}
	for _, own := range o.Own {
		s.begin(instance.New(ctx, s.m, instance.Options{Desired: own.Desired, Own: own}))
	}
	return nil
}

// begin starts an instance's goroutine. The caller must hold mu.
func (s *instances) begin(i *instance.Instance) {
	s.byID[i.ID] = i
	s.work.Go(func() {
		i.Run()
		if i.Over() {
			s.mu.Lock()
			delete(s.byID, i.ID)
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
			s.begin(instance.New(s.ctx, s.m, instance.Options{Desired: d}))
		}
	}
	for id, i := range s.byID {
		if !named[id] && i.Own == nil {
			i.Forget()
		}
	}
	s.m.Changed()
}

// find returns an instance, or nil.
func (s *instances) find(id string) *instance.Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

func (s *instances) all() []*instance.Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byID))
}

// report returns the instances as they are reported to Muster.
func (s *instances) report() []protocol.Instance {
	list := []protocol.Instance{}
	for _, i := range s.all() {
		if i.Own == nil {
			list = append(list, i.Report())
		}
	}
	return list
}

// builds returns the builds in use.
func (s *instances) builds() map[string]bool {
	used := map[string]bool{}
	for _, i := range s.all() {
		used[i.Desired().Build.SHA256] = true
	}
	return used
}

// clear immediately ends all instances that Muster assigned, and removes their folders.
func (s *instances) clear() {
	s.assign(protocol.Assign{})
	for _, i := range s.all() {
		if i.Own != nil {
			continue
		}
		<-i.Gone()
		if err := i.Home.Remove(); err != nil {
			s.m.Log.Warn("the folder of an instance is left", "instance", i.ID, "error", err)
		}
	}
}

// detach ends the work on all instances and leaves their processes to the next agent.
func (s *instances) detach() { s.end(func(i *instance.Instance) { i.Detach() }) }

// stop ends all instances. Processes have until the end of the grace period, or of ctx,
// to end by themselves.
func (s *instances) stop(ctx context.Context, grace time.Duration) {
	s.end(func(i *instance.Instance) { i.Stop(ctx, grace) })
}

func (s *instances) end(end func(*instance.Instance)) {
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
