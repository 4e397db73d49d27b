package container

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/registry"
	"github.com/musterhq/muster/internal/store"
)

// CreateInput describes a definition to create.
type CreateInput struct {
	Name string
	Type Type // "": GAME_SERVER
	Spec Spec
	Tags map[string]string
}

func (s *Service) runCreate(tx *store.Tx, in CreateInput) (*Version, error) {
	if s.t.definitions.Get(tx, in.Name) != nil {
		return nil, fault.New(fault.Conflict, "Name: container group definition %s exists; use UpdateContainerGroupDefinition for another version of it, or another name", in.Name)
	}
	if n, q := s.t.definitions.Len(tx), s.opts.Quotas.Definitions; n >= q {
		return nil, fault.New(fault.LimitExceeded, "there are %d container group definitions; the quota is %d", n, q)
	}
	d := &Definition{Name: in.Name, Type: cmp.Or(in.Type, GameServer)}
	v, err := s.add(tx, d, in.Spec)
	if err != nil {
		return nil, err
	}
	if err := s.tags.Put(tx, s.opts.Home.Of(arnKind, d.Name), in.Tags); err != nil {
		return nil, err
	}
	s.record(tx, event.ContainerGroupCreated, v, fmt.Sprintf("Container group definition %s was created", v.Name))
	s.announce(tx, v)
	return v, nil
}

// UpdateInput describes a version by its differences from another: nil members are as
// they are there.
type UpdateInput struct {
	Name    string // or ARN, which may have the number of the version to begin with
	Source  int    // number of the version to begin with; 0: the ARN's, or else the newest
	OS      *string
	Memory  *int
	VCPU    *float64
	About   *string
	Game    *Container
	Support *[]Container
}

func (s *Service) runUpdate(tx *store.Tx, in UpdateInput) (*Version, error) {
	which, err := s.named(in.Name, "SourceVersionNumber", in.Source)
	if err != nil {
		return nil, err
	}
	source, err := s.find(tx, which)
	if err != nil {
		return nil, err
	}
	if n, q := s.t.of.Count(tx, which.name), s.opts.Quotas.Versions; n >= q {
		return nil, fault.New(fault.LimitExceeded, "container group definition %s has %d versions; the quota is %d. DeleteContainerGroupDefinition with VersionCountToRetain removes old ones", which.name, n, q)
	}
	spec := source.clone().Spec
	patch.Set(&spec.OS, in.OS)
	patch.Set(&spec.Memory, in.Memory)
	patch.Set(&spec.VCPU, in.VCPU)
	patch.Set(&spec.Description, in.About)
	patch.Set(&spec.Support, in.Support)
	if in.Game != nil {
		spec.Game = in.Game
	}
	d := *s.t.definitions.Get(tx, which.name)
	v, err := s.add(tx, &d, spec)
	if err != nil {
		return nil, err
	}
	s.record(tx, event.ContainerGroupUpdated, v, fmt.Sprintf("Container group definition %s has version %d, made from version %d", v.Name, v.Number, source.Number))
	s.announce(tx, v)
	return v, nil
}

// add checks and stores the next version of a definition.
func (s *Service) add(tx *store.Tx, d *Definition, spec Spec) (*Version, error) {
	d.Last++
	v := (&Version{Name: d.Name, Number: d.Last, Type: d.Type, Created: tx.Now(), Due: tx.Now(), Spec: spec}).clone()
	v.move(Copying)
	if err := check(v); err != nil {
		return nil, err
	}
	known := true
	for c := range v.Containers() {
		ref, err := registry.Parse(c.Image)
		if err != nil {
			return nil, err // check has parsed it
		}
		c.Digest = ref.Digest
		known = known && c.Digest != ""
	}
	if known { // every image is named by its digest: no registry needs to be asked
		v.settle(Ready)
	} else {
		tx.OnCommit(s.loop.Nudge)
	}
	s.t.definitions.Put(tx, d)
	s.t.versions.Put(tx, v)
	return v, nil
}

// announce records that a stored version is READY, if it is, and tells those who wait for it.
func (s *Service) announce(tx *store.Tx, v *Version) {
	if v.Status != Ready {
		return
	}
	s.record(tx, event.ContainerGroupReady, v, fmt.Sprintf("Container group definition %s, version %d, is READY", v.Name, v.Number))
	for _, f := range s.onReady {
		f(tx, v)
	}
}

// DeleteInput says which versions to delete: one, all but the newest, or all.
type DeleteInput struct {
	Name   string // or ARN, which may have the number of the version
	Number int    // of the version; 0: the ARN's, if it has one
	Retain *int   // how many of the newest versions stay
}

func (s *Service) runDelete(tx *store.Tx, in DeleteInput) error {
	which, err := s.named(in.Name, "VersionNumber", in.Number)
	if err != nil {
		return err
	}
	if which.number != 0 && in.Retain != nil {
		return fault.Invalid("VersionCountToRetain: cannot be combined with a version number; give one of them")
	}
	if _, err := s.find(tx, which); err != nil {
		return err
	}
	all := slices.Collect(s.t.of.Equal(tx, which.name)) // the newest first
	gone := all
	switch {
	case which.number != 0:
		gone = []*Version{s.t.versions.Get(tx, key(which.name, which.number))}
	case in.Retain != nil:
		gone = all[min(*in.Retain, len(all)):]
	}
	for _, v := range gone {
		if s.inUse == nil {
			break
		}
		if fleet := s.inUse(tx, v.Name, v.Number); fleet != "" {
			return fault.Invalid("Name: version %d of container group definition %s is in use by fleet %s; update or delete the fleet first. No version was deleted", v.Number, v.Name, fleet)
		}
	}
	for _, v := range gone {
		s.t.versions.Delete(tx, key(v.Name, v.Number))
		s.record(tx, event.ContainerGroupDeleted, v, fmt.Sprintf("Container group definition %s, version %d, was deleted", v.Name, v.Number))
	}
	if len(gone) == len(all) {
		s.t.definitions.Delete(tx, which.name)
		s.tags.Drop(tx, s.opts.Home.Of(arnKind, which.name))
	}
	return nil
}
