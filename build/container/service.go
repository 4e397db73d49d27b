package container

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wake"
)

// arnKind is the kind of definitions in ARNs.
const arnKind = "containergroupdefinition"

// Options configures the service.
type Options struct {
	Home arn.Home
	// Patience is how long registries that do not answer are asked again until a version is
	// FAILED. Default 10 minutes.
	Patience time.Duration
	// Quotas limits the number of definitions, and of versions of each. Defaults 1000, 100.
	Quotas Quotas
	// Logger receives the log. Default: none.
	Logger *slog.Logger
}

// Quotas limits the number of definitions, and of versions of each.
type Quotas struct{ Definitions, Versions int }

// Deps are the services that a Service uses.
type Deps struct {
	Events *event.Log
	Tags   *tag.Service
	// Resolve returns the digest of the content that an image's name stands for. The error
	// is a *registry.Refused if it is final.
	Resolve func(ctx context.Context, image string) (digest string, err error)
}

// Service is what doors and the packages above call.
type Service struct {
	// Create creates a definition with its first version. Errors: Conflict (the name is in
	// use), InvalidRequest, LimitExceeded, TaggingFailed.
	Create *store.Command[CreateInput, *Version]
	// Update adds a version that differs from an existing one in the given members. Its
	// images are looked up again. Errors: InvalidRequest, LimitExceeded, NotFound.
	Update *store.Command[UpdateInput, *Version]
	// Delete removes versions, and the definition with its last version. Errors:
	// InvalidRequest (a fleet uses a version; then none is removed), NotFound.
	Delete *store.Action[DeleteInput]

	st      *store.Store
	opts    Options
	log     *slog.Logger
	events  *event.Log
	tags    *tag.Service
	resolve func(ctx context.Context, image string) (string, error)
	t       tables
	settle  *store.Action[outcome]
	loop    *wake.Loop
	inUse   func(r store.Reader, name string, number int) (fleet string)
	onReady []func(tx *store.Tx, v *Version)
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, d Deps, o Options) *Service {
	o.Patience = cmp.Or(o.Patience, 10*time.Minute)
	o.Quotas.Definitions = cmp.Or(o.Quotas.Definitions, 1000)
	o.Quotas.Versions = cmp.Or(o.Quotas.Versions, 100)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Service{st: st, opts: o, log: o.Logger, events: d.Events, tags: d.Tags, resolve: d.Resolve, t: newTables(st)}
	s.Create = store.NewCommand(st, "container_group.create", s.runCreate)
	s.Update = store.NewCommand(st, "container_group.update", s.runUpdate)
	s.Delete = store.NewAction(st, "container_group.delete", s.runDelete)
	s.settle = store.NewAction(st, "container_group.settle", s.runSettle)
	s.loop = wake.NewLoop(s.next, s.work).LogTo(s.log, "container group definitions not tended; trying again")
	s.tags.Kind(arnKind, func(r store.Reader, a string) bool { return s.t.definitions.Get(r, s.opts.Home.ID(arnKind, a)) != nil })
	return s
}

// SetInUse registers the function that returns the fleet that uses a version, deploys it
// or may roll back to it, or "". It is called in the transaction that deletes versions.
func (s *Service) SetInUse(f func(r store.Reader, name string, number int) (fleet string)) {
	if s.inUse != nil {
		panic("build/container: SetInUse was called twice")
	}
	s.inUse = f
}

// OnReady registers a function to be called in the transaction in which a version becomes
// READY.
func (s *Service) OnReady(f func(tx *store.Tx, v *Version)) { s.onReady = append(s.onReady, f) }

// Version returns a version of a definition, or nil.
func (s *Service) Version(r store.Reader, name string, number int) *Version {
	return s.t.versions.Get(r, key(name, number))
}

// Ports returns the number of ports of all containers of a group.
func (s *Spec) Ports() int {
	n := 0
	for c := range s.Containers() {
		for _, r := range c.Ports {
			n += r.To - r.From + 1
		}
	}
	return n
}

// Names reports whether a name or ARN of a definition names one of its versions.
func Names(nameOrARN string) bool {
	_, id, ok := strings.Cut(nameOrARN, "/")
	return ok && strings.Contains(id, ":")
}

// ARN returns the ARN of a version.
func (s *Service) ARN(v *Version) string {
	return s.opts.Home.Of(arnKind, v.Name+":"+strconv.Itoa(v.Number))
}

// TaggedARN returns the ARN that has the tags of the definition that an ARN names: all
// versions share them. Other ARNs are returned as they are.
func TaggedARN(a string) string {
	if arn.Kind(a) != arnKind {
		return a
	}
	head, id, _ := strings.Cut(a, "/")
	name, _, _ := strings.Cut(id, ":")
	return head + "/" + name
}

// selection is the definition that a request names, and the version, if it names one.
type selection struct {
	name   string
	number int // 0: none is named
}

// named returns what a name or ARN selects, with the version number that a request may
// add to it. member is the name of the number's member.
func (s *Service) named(nameOrARN, member string, number int) (selection, error) {
	id := s.opts.Home.ID(arnKind, nameOrARN)
	name, suffix, versioned := strings.Cut(id, ":")
	if name == "" {
		return selection{}, fault.Missing("Name: %s does not exist", nameOrARN)
	}
	if !versioned {
		return selection{name, number}, nil
	}
	n, err := strconv.ParseUint(suffix, 10, 31)
	switch {
	case err != nil || n == 0:
		return selection{}, fault.Missing("Name: %s does not exist: versions are numbered from 1", nameOrARN)
	case number != 0 && number != int(n):
		return selection{}, fault.Invalid("%s: %d contradicts the version in the ARN, %d; give one of them", member, number, n)
	}
	return selection{name, int(n)}, nil
}

// Find returns a version by the definition's name or ARN; number 0 is that of the ARN, or
// else the newest. Errors: InvalidRequest (the ARN has another number), NotFound.
func (s *Service) Find(r store.Reader, nameOrARN string, number int) (*Version, error) {
	which, err := s.named(nameOrARN, "VersionNumber", number)
	if err != nil {
		return nil, err
	}
	return s.find(r, which)
}

func (s *Service) find(r store.Reader, which selection) (*Version, error) {
	if s.t.definitions.Get(r, which.name) == nil {
		return nil, fault.Missing("Name: container group definition %s does not exist", which.name)
	}
	if which.number == 0 {
		return s.t.of.First(r, which.name), nil
	}
	if v := s.t.versions.Get(r, key(which.name, which.number)); v != nil {
		return v, nil
	}
	return nil, fault.Missing("VersionNumber: container group definition %s has no version %d", which.name, which.number)
}

// Newest returns the newest version of each definition whose name follows after.
func (s *Service) Newest(r store.Reader, after string) iter.Seq[*Version] {
	return func(yield func(*Version) bool) {
		for d := range s.t.definitions.After(r, after) {
			if !yield(s.t.of.First(r, d.Name)) {
				return
			}
		}
	}
}

// Versions returns the versions of a definition older than a number, the newest first;
// before 0 means all. Errors: NotFound.
func (s *Service) Versions(r store.Reader, nameOrARN string, before int) (iter.Seq[*Version], error) {
	which, err := s.named(nameOrARN, "", 0)
	if err != nil {
		return nil, err
	}
	if s.t.definitions.Get(r, which.name) == nil {
		return nil, fault.Missing("Name: container group definition %s does not exist", which.name)
	}
	return func(yield func(*Version) bool) {
		for v := range s.t.of.Equal(r, which.name) {
			if (before == 0 || v.Number < before) && !yield(v) {
				return
			}
		}
	}, nil
}

// Run looks up the images of new versions until ctx ends.
func (s *Service) Run(ctx context.Context) { s.loop.Run(ctx) }

func (s *Service) record(tx *store.Tx, code event.Code, v *Version, text string) {
	s.events.Append(tx, event.Event{Code: code, Resource: s.ARN(v), Message: text})
}
