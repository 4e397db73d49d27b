package build

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/archive"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wake"
)

// Options configures the service.
type Options struct {
	Home arn.Home
	// UploadTime is how long a build waits for its archive. Default 24 hours.
	UploadTime time.Duration
	// Limits limits what an archive may unpack to.
	Limits archive.Limits
	// Quotas limits the number of builds and scripts; 0 means no limit.
	Quotas Quotas
	// Logger receives the log. Default: none.
	Logger *slog.Logger
}

// Quotas limits the number of resources; 0 means no limit.
type Quotas struct{ Builds, Scripts int }

// Service is what doors and the packages above call.
type Service struct {
	Scripts *Scripts
	// Create creates a build that awaits its archive, or takes an object of the caller's
	// as its archive. Errors: InvalidRequest (no such object), TaggingFailed.
	Create *store.Command[CreateInput, *Build]
	// Update changes a build's name or version. Errors: NotFound.
	Update *store.Command[UpdateInput, *Build]
	// Delete hides a build, by id or ARN. Fleets that run it continue to, also on new
	// hosts; when the last of them is gone, the archive is removed. Errors: NotFound.
	Delete *store.Action[string]

	st      *store.Store
	opts    Options
	log     *slog.Logger
	events  *event.Log
	tags    *tag.Service
	objects *object.Service
	t       tables
	cmd     commands
	loop    *wake.Loop
	inUse   func(store.Reader, string) bool
}

type commands struct {
	settle  *store.Action[verdict]
	overdue *store.Action[struct{}]
	purge   *store.Action[struct{}]
}

// Deps are the services that a Service uses.
type Deps struct {
	Events  *event.Log
	Tags    *tag.Service
	Objects *object.Service
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, d Deps, o Options) *Service {
	o.UploadTime = cmp.Or(o.UploadTime, 24*time.Hour)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Service{
		Scripts: newScripts(st, d, o),
		st:      st, opts: o, log: o.Logger, events: d.Events, tags: d.Tags, objects: d.Objects, t: newTables(st),
	}
	s.Create = store.NewCommand(st, "build.create", s.runCreate)
	s.Update = store.NewCommand(st, "build.update", s.runUpdate)
	s.Delete = store.NewAction(st, "build.delete", s.runDelete)
	s.cmd = commands{
		settle:  store.NewAction(st, "build.settle", s.runSettle),
		overdue: store.NewAction(st, "build.overdue", s.runOverdue),
		purge:   store.NewAction(st, "build.purge", s.runPurge),
	}
	s.loop = wake.NewLoop(s.next, s.work).LogTo(s.log, "builds not tended; trying again")
	s.objects.Guard(object.BuildBucket, s.arrive)
	s.tags.Kind("build", func(r store.Reader, a string) bool { return s.visible(r, a) != nil })
	return s
}

// SetInUse sets the function that reports whether a fleet uses a build, so that a
// deleted build's archive stays that long. Call it once, before the store opens, and
// Nudge when a fleet is gone.
func (s *Service) SetInUse(f func(r store.Reader, buildID string) bool) {
	if s.inUse != nil {
		panic("build: SetInUse was called twice")
	}
	s.inUse = f
}

// removable reports whether no fleet uses a deleted build.
func (s *Service) removable(r store.Reader, b *Build) bool {
	return s.inUse == nil || !s.inUse(r, b.ID)
}

// Nudge makes the service check again whether deleted builds are still in use.
func (s *Service) Nudge() { s.loop.Nudge() }

// Get returns a build by id or ARN, or nil. That includes deleted builds that a fleet
// still uses; callers of the API see Find.
func (s *Service) Get(r store.Reader, idOrARN string) *Build {
	return s.t.builds.Get(r, s.opts.Home.ID("build", idOrARN))
}

// visible returns a build that is not deleted, or nil.
func (s *Service) visible(r store.Reader, idOrARN string) *Build {
	if b := s.Get(r, idOrARN); b != nil && b.Deleted.IsZero() {
		return b
	}
	return nil
}

// Find returns a build that is not deleted, by id or ARN. Errors: NotFound.
func (s *Service) Find(r store.Reader, idOrARN string) (*Build, error) {
	if b := s.visible(r, idOrARN); b != nil {
		return b, nil
	}
	return nil, fault.Missing("BuildId: build %s does not exist", idOrARN)
}

// All returns the builds after an id that are not deleted, oldest first.
func (s *Service) All(r store.Reader, after string) iter.Seq[*Build] {
	return func(yield func(*Build) bool) {
		for b := range s.t.builds.After(r, after) {
			if b.Deleted.IsZero() && !yield(b) {
				return
			}
		}
	}
}

// Place returns where a build's archive is stored, or awaited.
func (s *Service) Place(b *Build) Location {
	return Location{Bucket: object.BuildBucket, Key: s.opts.Home.Account + "/" + b.ID}
}

// Open opens the archive of a READY build, for hosts that fetch it. Errors: NotFound,
// InvalidRequest (not READY).
func (s *Service) Open(_ context.Context, idOrARN string) (*object.File, error) {
	view := s.st.View()
	b := s.Get(view, idOrARN)
	if b == nil {
		return nil, fault.Missing("BuildId: build %s does not exist", idOrARN)
	}
	if b.Status != Ready {
		return nil, fault.Invalid("BuildId: build %s is %s; only a READY build has an archive", b.ID, b.Status)
	}
	at := s.Place(b)
	o := s.objects.Get(view, at.Bucket, at.Key)
	if o == nil {
		return nil, fault.Missing("BuildId: the archive of build %s is gone", b.ID)
	}
	return s.objects.Open(o)
}

// Missing returns the READY builds whose archives are not in the directory of contents: it was lost, or
// is on another machine.
func (s *Service) Missing(r store.Reader) (missing []*Build) {
	for b := range s.All(r, "") {
		at := s.Place(b)
		if o := s.objects.Get(r, at.Bucket, at.Key); b.Status == Ready && (o == nil || !s.objects.Has(o)) {
			missing = append(missing, b)
		}
	}
	return missing
}

func (s *Service) record(tx *store.Tx, code event.Code, id, text string) {
	s.events.Append(tx, event.Event{Code: code, Resource: s.opts.Home.Of("build", id), Message: text})
}
