package object

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Options configures the service.
type Options struct {
	// Blobs stores the bytes.
	Blobs *blob.Store
	// Reserved are names that no bucket may have, because the listener uses their
	// paths.
	Reserved []string
	// MaxSize is the largest size of an object in bytes. Default 50 GiB.
	MaxSize int64
	// UploadLife is how long a multipart upload may stay open. Default 24 hours.
	UploadLife time.Duration
	// Logger receives the log. Default: none.
	Logger *slog.Logger
}

// Service is what doors and the packages above call.
type Service struct {
	Buckets *Buckets
	// Begin starts a multipart upload. Errors: NotFound (bucket), InvalidRequest (key),
	// LimitExceeded.
	Begin *store.Command[Upload, *Upload]
	// Abort drops an upload and its parts; if it does not exist, it does nothing.
	Abort *store.Action[string]
	// Complete creates the object from the chosen parts, which must be in ascending
	// order; others are dropped. Errors: NotFound, InvalidRequest (a part that was not
	// sent or differs; order), and those of the bucket's guard.
	Complete *store.Command[Completion, *Object]
	// Delete removes an object; if it does not exist, it does nothing. Errors: NotFound
	// (bucket), AccessDenied (a bucket whose owner removes objects itself).
	Delete *store.Action[Name]

	st     *store.Store
	opts   Options
	blobs  *blob.Store
	log    *slog.Logger
	guards map[string]Guard
	tables
	cmd   commands
	loop  *wake.Loop
	waste waste
}

type commands struct {
	put     *store.Command[*Object, *Object]
	addPart *store.Action[Part]
	expire  *store.Action[struct{}]
}

// Name names an object.
type Name struct{ Bucket, Key string }

// Guard is called, in the transaction, before an object is put into the bucket it
// guards. It may record the object. An error refuses it.
type Guard func(tx *store.Tx, o *Object) error

// New registers the package's tables and commands on the store.
func New(st *store.Store, o Options) *Service {
	o.MaxSize = cmp.Or(o.MaxSize, 50<<30)
	o.UploadLife = cmp.Or(o.UploadLife, 24*time.Hour)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Service{st: st, opts: o, blobs: o.Blobs, log: o.Logger, guards: map[string]Guard{}, tables: newTables(st, o.UploadLife)}
	s.Buckets = newBuckets(st, o.Reserved, s.clear)
	s.waste = waste{used: s.used, blobs: o.Blobs, log: o.Logger}
	s.cmd = commands{
		put:     store.NewCommand(st, "object.put", s.runPut),
		addPart: store.NewAction(st, "upload.part", s.runAddPart),
		expire:  store.NewAction(st, "object.expire", s.runExpire),
	}
	s.Begin = store.NewCommand(st, "upload.begin", s.runBegin)
	s.Abort = store.NewAction(st, "upload.abort", s.runAbort)
	s.Complete = store.NewCommand(st, "upload.complete", s.runComplete)
	s.Delete = store.NewAction(st, "object.delete", s.runDelete)
	s.loop = wake.NewLoop(s.next, s.work).LogTo(s.log, "stored files not tidied; trying again")
	s.waste.nudge = s.loop.Nudge
	s.blobs.OnSpared(s.waste.add)
	return s
}

// Guard sets the guard of a bucket that has none yet. It must be called before the store opens.
func (s *Service) Guard(bucket string, g Guard) {
	if s.guards[bucket] != nil {
		panic("object: bucket " + bucket + " has a guard already")
	}
	s.guards[bucket] = g
}

// MaxSize returns the largest size of an object in bytes.
func (s *Service) MaxSize() int64 { return s.opts.MaxSize }

// Put stores an object with a staged content, replacing one of the same name. Put
// settles the content, and completes even if ctx ends. Errors: NotFound (bucket),
// InvalidRequest (key, size), and those of the guard.
func (s *Service) Put(ctx context.Context, o *Object, content *Content) (*Object, error) {
	o = o.clone()
	o.Parts, o.Size, o.ETag = []blob.Ref{content.Ref}, content.Size, content.MD5
	o, err := s.cmd.put.Do(context.WithoutCancel(ctx), o)
	content.Settle(err)
	return o, err
}

func (s *Service) runPut(tx *store.Tx, o *Object) (*Object, error) {
	o = o.clone()
	if err := s.check(tx, o); err != nil {
		return nil, err
	}
	if err := s.admit(tx, o); err != nil {
		return nil, err
	}
	s.PutIn(tx, o)
	return o, nil
}

// admit calls the bucket's guard.
func (s *Service) admit(tx *store.Tx, o *Object) error {
	if guard := s.guards[o.Bucket]; guard != nil {
		return guard(tx, o)
	}
	return nil
}

// PutIn stores an object whose contents are those of another object, or were staged
// and are still held, in a transaction of its bucket's owner. No guard is called.
func (s *Service) PutIn(tx *store.Tx, o *Object) {
	o.Modified = tx.Now()
	if old := s.Get(tx, o.Bucket, o.Key); old != nil {
		s.discard(tx, old.Parts)
	}
	s.objects.Put(tx, o)
	s.nudgeFor(tx, o.Expires)
}

func (s *Service) check(tx *store.Tx, o *Object) error {
	if err := s.Buckets.check(tx, o.Bucket); err != nil {
		return err
	}
	if err := checkKey(o.Key); err != nil {
		return err
	}
	if o.Size > s.opts.MaxSize {
		return fault.Invalid("the object has %d bytes; at most %d are allowed", o.Size, s.opts.MaxSize)
	}
	if err := checkHeaders("headers of the object", o.Headers); err != nil {
		return err
	}
	return checkHeaders("x-amz-meta-*", o.Meta)
}

// Get returns an object, or nil.
func (s *Service) Get(r store.Reader, bucket, key string) *Object {
	if bucket == "" {
		return nil
	}
	return s.objects.Get(r, path(bucket, key))
}

// List returns the objects of a bucket whose keys begin with prefix and come after
// after, by key.
func (s *Service) List(r store.Reader, bucket, prefix, after string) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		if o := s.Get(r, bucket, prefix); o != nil && after < prefix && !yield(o) {
			return
		}
		for o := range s.objects.After(r, path(bucket, max(after, prefix))) {
			if o.Bucket != bucket || !strings.HasPrefix(o.Key, prefix) || !yield(o) {
				return
			}
		}
	}
}

func (s *Service) runDelete(tx *store.Tx, n Name) error {
	if err := s.Buckets.check(tx, n.Bucket); err != nil {
		return err
	}
	if s.guards[n.Bucket] != nil {
		return fault.New(fault.AccessDenied, "Key: what is in %s goes with the resource that it belongs to", n.Bucket)
	}
	s.DeleteIn(tx, n.Bucket, n.Key)
	return nil
}

// DeleteIn removes an object in a transaction of the caller.
func (s *Service) DeleteIn(tx *store.Tx, bucket, key string) {
	if o := s.Get(tx, bucket, key); o != nil {
		s.objects.Delete(tx, path(bucket, key))
		s.discard(tx, o.Parts)
	}
}
