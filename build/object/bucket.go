package object

import (
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

// Buckets are the namespaces of objects.
type Buckets struct {
	// Create creates a bucket; if it exists already, it does nothing. Errors:
	// InvalidRequest (name), Conflict (reserved), LimitExceeded.
	Create *store.Action[string]
	// Delete removes an empty bucket. Errors: NotFound, Conflict (not empty),
	// InvalidRequest (the product's own).
	Delete *store.Action[string]

	table    *store.Table[Bucket]
	reserved []string
	clear    func(tx *store.Tx, name string) error // before a bucket is removed
}

func newBuckets(st *store.Store, reserved []string, clear func(tx *store.Tx, name string) error) *Buckets {
	bs := &Buckets{reserved: reserved, clear: clear}
	bs.table = store.NewTable(st, store.TableSpec[Bucket]{Name: "bucket", Key: func(b *Bucket) string { return b.Name }})
	bs.Create = store.NewAction(st, "bucket.create", bs.runCreate)
	bs.Delete = store.NewAction(st, "bucket.delete", bs.runDelete)
	return bs
}

func (bs *Buckets) runCreate(tx *store.Tx, name string) error {
	switch {
	case !bucketForm.MatchString(name):
		return fault.Invalid("Bucket: must have 3 to 63 of a-z, 0-9, . and -, and begin and end with a letter or digit")
	case slices.Contains(bs.reserved, name):
		return fault.New(fault.Conflict, "Bucket: %s is the path of something else on this server", name)
	case bs.table.Get(tx, name) != nil:
		return nil
	case bs.table.Len(tx) >= maxBuckets:
		return fault.New(fault.LimitExceeded, "there are %d buckets; more are not allowed", maxBuckets)
	}
	bs.table.Put(tx, &Bucket{Name: name, Created: tx.Now()})
	return nil
}

func (bs *Buckets) runDelete(tx *store.Tx, name string) error {
	if slices.Contains(Own(), name) {
		return fault.Invalid("Bucket: %s is Muster's own", name)
	}
	if err := bs.check(tx, name); err != nil {
		return err
	}
	if err := bs.clear(tx, name); err != nil {
		return err
	}
	bs.table.Delete(tx, name)
	return nil
}

// All returns the buckets that operators created, by name.
func (bs *Buckets) All(r store.Reader) iter.Seq[*Bucket] { return bs.table.All(r) }

// Has reports whether a bucket exists.
func (bs *Buckets) Has(r store.Reader, name string) bool {
	return slices.Contains(Own(), name) || bs.table.Get(r, name) != nil
}

// check returns an error if a bucket does not exist.
func (bs *Buckets) check(r store.Reader, name string) error {
	if !bs.Has(r, name) {
		return fault.Missing("Bucket: %s does not exist", name)
	}
	return nil
}
