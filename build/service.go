package build

import (
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
	st      *store.Store
	opts    Options
	log     *slog.Logger
	events  *event.Log
	tags    *tag.Service
	objects *object.Service
	t       tables
	cmd     commands
	loop    *wake.Loop
	ready   []func(*Build)
	inUse   func(store.Reader, string) bool
}

type commands struct {
	create       *store.Command[CreateInput, *Build]
	update       *store.Command[UpdateInput, *Build]
	del          *store.Command[string, struct{}]
	settle       *store.Command[verdict, struct{}]
	overdue      *store.Command[struct{}, struct{}]
	purge        *store.Command[struct{}, struct{}]
	createScript *store.Command[scriptArgs, *Script]
	updateScript *store.Command[scriptArgs, *Script]
	deleteScript *store.Command[string, struct{}]
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, events *event.Log, tags *tag.Service, objects *object.Service, o Options) *Service {
	if o.UploadTime <= 0 {
		o.UploadTime = 24 * time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		st: st, opts: o, log: o.Logger, events: events, tags: tags, objects: objects, t: newTables(st),
		inUse: func(store.Reader, string) bool { return false },
	}
	s.cmd = commands{
		create:       store.NewCommand(st, "build.create", s.runCreate),
		update:       store.NewCommand(st, "build.update", s.runUpdate),
		del:          store.NewCommand(st, "build.delete", s.runDelete),
		settle:       store.NewCommand(st, "build.settle", s.runSettle),
		overdue:      store.NewCommand(st, "build.overdue", s.runOverdue),
		purge:        store.NewCommand(st, "build.purge", s.runPurge),
		createScript: store.NewCommand(st, "script.create", s.runCreateScript),
		updateScript: store.NewCommand(st, "script.update", s.runUpdateScript),
		deleteScript: store.NewCommand(st, "script.delete", s.runDeleteScript),
	}
	s.loop = wake.NewLoop(s.next, s.work)
	objects.Guard(object.BuildBucket, s.arrive)
	objects.Guard(object.ScriptBucket, s.ownOnly)
	tags.Kind("build", func(r store.Reader, a string) bool { return s.visible(r, a) != nil })
	tags.Kind("script", func(r store.Reader, a string) bool { return s.Script(r, a) != nil })
	return s
}

// OnReady registers f to be called after the commit that made a build READY, on the
// committing goroutine: f must not block. Call it before the store opens. f is not
// called for builds that are READY already: check first.
func (s *Service) OnReady(f func(*Build)) { s.ready = append(s.ready, f) }

// SetInUse sets the function that reports whether a fleet uses a build, so that a
// deleted build's archive stays that long. Call it before the store opens, and Nudge
// when a fleet is gone.
func (s *Service) SetInUse(f func(r store.Reader, buildID string) bool) { s.inUse = f }

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

func (s *Service) record(tx *store.Tx, code event.Code, kind, id, text string) {
	s.events.Append(tx, event.Event{Code: code, Resource: s.opts.Home.Of(kind, id), Message: text})
}
