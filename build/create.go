package build

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// CreateInput describes a build to create.
type CreateInput struct {
	Name, Version  string
	OS, SDKVersion string
	Source         *Location // an object stored here; nil awaits an upload
	Tags           map[string]string
}

func (s *Service) runCreate(tx *store.Tx, in CreateInput) (*Build, error) {
	if in.OS == "" {
		return nil, fault.Invalid("OperatingSystem: is required; the build's processes run on it")
	}
	// LimitExceeded is not modeled for CreateBuild.
	if q := s.opts.Quotas.Builds; q > 0 && s.t.builds.Len(tx) >= q {
		return nil, fault.Invalid("there are %d builds; the quota is %d", s.t.builds.Len(tx), q)
	}
	b := &Build{
		ID: tx.ID("build-"), Name: in.Name, Version: in.Version, OS: in.OS, SDKVersion: in.SDKVersion,
		Created: tx.Now(), Due: tx.Now().Add(s.opts.UploadTime), Source: in.Source,
	}
	b.move(Initialized)
	if b.SDKVersion == "" {
		b.SDKVersion = DefaultSDKVersion
	}
	if err := s.tags.Put(tx, s.opts.Home.Of("build", b.ID), in.Tags); err != nil {
		return nil, err
	}
	if in.Source != nil {
		if err := s.copyFrom(tx, b); err != nil {
			return nil, err
		}
	}
	s.t.builds.Put(tx, b)
	s.record(tx, event.BuildCreated, b.ID, "Build "+b.ID+" was created"+b.legacy())
	tx.OnCommit(s.loop.Nudge)
	return b, nil
}

// copyFrom copies an object of the caller's as the build's archive: the same bytes,
// under the build's own key.
func (s *Service) copyFrom(tx *store.Tx, b *Build) error {
	from := s.objects.Get(tx, b.Source.Bucket, b.Source.Key)
	if from == nil || slices.Contains(object.Own(), b.Source.Bucket) {
		return noObject("build", b.Source)
	}
	b.Copied, b.Arrived = true, tx.Now()
	to := *from
	at := s.Place(b)
	to.Bucket, to.Key, to.Headers = at.Bucket, at.Key, nil
	s.objects.PutIn(tx, &to)
	return nil
}

// arrive is called before an object is put into the bucket of builds: it must be the
// archive that a build awaits.
func (s *Service) arrive(tx *store.Tx, o *object.Object) error {
	b := s.awaited(tx, o.Key)
	switch {
	case b == nil:
		return fault.New(fault.AccessDenied, "Key: no build awaits this object")
	case !b.Arrived.IsZero():
		return fault.New(fault.AccessDenied, "Key: build %s has its archive; create another build for other files", b.ID)
	}
	b = b.clone()
	b.Arrived = tx.Now()
	s.t.builds.Put(tx, b)
	tx.OnCommit(s.loop.Nudge)
	return nil
}

// awaited returns the build whose archive belongs under a key, or nil.
func (s *Service) awaited(r store.Reader, key string) *Build {
	id, ok := strings.CutPrefix(key, s.opts.Home.Account+"/")
	if !ok {
		return nil
	}
	b := s.t.builds.Get(r, id)
	if b == nil || b.Status != Initialized || !b.Deleted.IsZero() {
		return nil
	}
	return b
}

// Awaits returns a build that still awaits its upload. Errors: NotFound,
// InvalidRequest (already uploaded, or the build is not INITIALIZED).
func (s *Service) Awaits(r store.Reader, idOrARN string) (*Build, error) {
	b, err := s.Find(r, idOrARN)
	if err != nil {
		return nil, err
	}
	if b.Status != Initialized || !b.Arrived.IsZero() {
		return nil, fault.Invalid("BuildId: build %s has its archive or is %s; credentials are given only while a build awaits its upload", b.ID, b.Status)
	}
	return b, nil
}

// UpdateInput changes a build: nil members stay as they are.
type UpdateInput struct {
	BuildID       string
	Name, Version *string
}

func (s *Service) runUpdate(tx *store.Tx, in UpdateInput) (*Build, error) {
	b, err := s.Find(tx, in.BuildID)
	if err != nil {
		return nil, err
	}
	b = b.clone()
	if in.Name != nil {
		b.Name = *in.Name
	}
	if in.Version != nil {
		b.Version = *in.Version
	}
	s.t.builds.Put(tx, b)
	s.record(tx, event.BuildUpdated, b.ID, "Build "+b.ID+" was updated")
	return b, nil
}
