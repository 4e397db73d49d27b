package object

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Bucket is a namespace of objects that an operator created.
type Bucket struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

// bucketForm is the form of names of S3's general purpose buckets.
var bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// CreateBucket creates a bucket; if it exists already, it does nothing. Errors:
// InvalidRequest (name), Conflict (reserved), LimitExceeded.
func (s *Service) CreateBucket(ctx context.Context, name string) error {
	_, err := s.cmd.createBucket.Do(ctx, name)
	return err
}

func (s *Service) runCreateBucket(tx *store.Tx, name string) (struct{}, error) {
	switch {
	case !bucketForm.MatchString(name):
		return struct{}{}, fault.Invalid("Bucket: must have 3 to 63 of a-z, 0-9, . and -, and begin and end with a letter or digit")
	case slices.Contains(s.opts.Reserved, name):
		return struct{}{}, fault.New(fault.Conflict, "Bucket: %s is the path of something else on this server", name)
	case s.buckets.Get(tx, name) != nil:
		return struct{}{}, nil
	case s.buckets.Len(tx) >= maxBuckets:
		return struct{}{}, fault.New(fault.LimitExceeded, "there are %d buckets; more are not allowed", maxBuckets)
	}
	s.buckets.Put(tx, &Bucket{Name: name, Created: tx.Now()})
	return struct{}{}, nil
}

// DeleteBucket removes an empty bucket. Errors: NotFound, Conflict (not empty),
// InvalidRequest (the product's own).
func (s *Service) DeleteBucket(ctx context.Context, name string) error {
	_, err := s.cmd.deleteBucket.Do(ctx, name)
	return err
}

func (s *Service) runDeleteBucket(tx *store.Tx, name string) (struct{}, error) {
	if slices.Contains(Own(), name) {
		return struct{}{}, fault.Invalid("Bucket: %s is Muster's own", name)
	}
	if err := s.checkBucket(tx, name); err != nil {
		return struct{}{}, err
	}
	for range s.List(tx, name, "", "") {
		return struct{}{}, fault.New(fault.Conflict, "Bucket: %s is not empty", name)
	}
	for _, u := range s.uploadsOf(tx, name) {
		s.forgetUpload(tx, u)
	}
	s.buckets.Delete(tx, name)
	return struct{}{}, nil
}

// Buckets returns the buckets that operators created, by name.
func (s *Service) Buckets(r store.Reader) iter.Seq[*Bucket] { return s.buckets.All(r) }

// HasBucket reports whether a bucket exists.
func (s *Service) HasBucket(r store.Reader, name string) bool {
	return slices.Contains(Own(), name) || s.buckets.Get(r, name) != nil
}

func (s *Service) checkBucket(r store.Reader, name string) error {
	if !s.HasBucket(r, name) {
		return fault.Missing("Bucket: %s does not exist", name)
	}
	return nil
}
