package build

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/store"
)

// Build is a game server's archive and its metadata.
type Build struct {
	ID         string    `json:"id"`
	Name       string    `json:"name,omitzero"`
	Version    string    `json:"version,omitzero"`
	OS         string    `json:"os"`          // the API's OperatingSystem
	SDKVersion string    `json:"sdk_version"` // of the server SDK it was built with
	Status     Status    `json:"status"`
	Reason     string    `json:"reason,omitzero"` // why it is FAILED
	Created    time.Time `json:"created"`

	Due     time.Time `json:"due,omitzero"`     // when an INITIALIZED build fails for lack of its archive
	Arrived time.Time `json:"arrived,omitzero"` // when its archive arrived
	Copied  bool      `json:"copied,omitzero"`  // from an object of the caller's (StorageLocation)
	Source  *Location `json:"source,omitzero"`  // what it was copied from
	Deleted time.Time `json:"deleted,omitzero"` // hidden; its archive is removed with the last fleet

	// Members of a READY build:
	Format   string `json:"format,omitzero"` // zip, tar or tar.gz
	SHA256   string `json:"sha256,omitzero"` // of the archive, lower case hexadecimal
	Size     int64  `json:"size,omitzero"`   // of the archive in bytes
	Files    int    `json:"files,omitzero"`
	Unpacked int64  `json:"unpacked,omitzero"` // bytes
}

// Location names an object (the API's S3Location).
type Location struct {
	Bucket  string `json:"bucket"`
	Key     string `json:"key"`
	RoleARN string `json:"role_arn,omitzero"` // kept as given; nothing here assumes roles
	Version string `json:"version,omitzero"`
}

// SizeOnDisk returns the size that the API shows: 0 before READY, and for a build
// copied from the caller's own bucket (API reference, Build).
func (b *Build) SizeOnDisk() int64 {
	if b.Copied {
		return 0
	}
	return b.Size
}

func (b *Build) clone() *Build { c := *b; return &c }

// DefaultSDKVersion is the version of a build that states none (API reference,
// CreateBuild).
const DefaultSDKVersion = "4.0.2"

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
		ID: tx.ID("build-"), Name: in.Name, Version: in.Version, OS: in.OS, SDKVersion: cmp.Or(in.SDKVersion, DefaultSDKVersion),
		Created: tx.Now(), Due: tx.Now().Add(s.opts.UploadTime), Source: in.Source,
	}
	b.move(Initialized)
	if err := s.tags.Put(tx, s.opts.Home.Of("build", b.ID), in.Tags); err != nil {
		return nil, err
	}
	if in.Source != nil {
		if err := s.copyFrom(tx, b); err != nil {
			return nil, err
		}
	}
	s.t.builds.Put(tx, b)
	s.record(tx, event.BuildCreated, b.ID, "Build "+b.ID+" was created")
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
	patch.Set(&b.Name, in.Name)
	patch.Set(&b.Version, in.Version)
	s.t.builds.Put(tx, b)
	s.record(tx, event.BuildUpdated, b.ID, "Build "+b.ID+" was updated")
	return b, nil
}

func (s *Service) runDelete(tx *store.Tx, idOrARN string) error {
	b, err := s.Find(tx, idOrARN)
	if err != nil {
		return err
	}
	b = b.clone()
	b.Deleted = tx.Now()
	s.t.builds.Put(tx, b)
	s.tags.Drop(tx, s.opts.Home.Of("build", b.ID))
	s.record(tx, event.BuildDeleted, b.ID, "Build "+b.ID+" was deleted")
	tx.OnCommit(s.loop.Nudge)
	return nil
}

// runPurge removes deleted builds that no fleet uses.
func (s *Service) runPurge(tx *store.Tx, _ struct{}) error {
	for b := range s.t.deleted.Equal(tx, "") {
		if !s.removable(tx, b) {
			continue
		}
		at := s.Place(b)
		s.objects.DeleteIn(tx, at.Bucket, at.Key)
		s.t.builds.Delete(tx, b.ID)
	}
	return nil
}
