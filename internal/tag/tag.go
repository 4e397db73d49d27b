// Package tag stores the tags of resources by their ARN.
//
// The packages that own resources provide functions that find them (Kind), so that
// tagging an unknown resource is refused in the same transaction.
package tag

import (
	"maps"
	"strings"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Limit is how many tags a resource may have (API reference, TagResource).
const Limit = 50

// Set is all tags of one resource.
type Set struct {
	ARN  string            `json:"arn"`
	Tags map[string]string `json:"tags"`
}

// Service tags and untags.
type Service struct {
	st    *store.Store
	sets  *store.Table[Set]
	kinds map[string]func(store.Reader, string) bool

	// Add sets tags of a resource, replacing values of keys it has. Errors: NotFound,
	// InvalidRequest (kind cannot be tagged), TaggingFailed (limit, reserved key).
	Add *store.Action[AddArgs]
	// Remove removes tags from a resource; keys it does not have are ignored. Errors:
	// NotFound, InvalidRequest.
	Remove *store.Action[RemoveArgs]
}

// AddArgs are the tags to add to a resource.
type AddArgs struct {
	ARN  string            `json:"arn"`
	Tags map[string]string `json:"tags"`
}

// RemoveArgs are the keys of tags to remove from a resource.
type RemoveArgs struct {
	ARN  string   `json:"arn"`
	Keys []string `json:"keys"`
}

// New registers the tag table and commands on the store.
func New(st *store.Store) *Service {
	s := &Service{st: st, kinds: map[string]func(store.Reader, string) bool{}}
	s.sets = store.NewTable(st, store.TableSpec[Set]{Name: "tag", Key: func(v *Set) string { return v.ARN }})
	s.Add = store.NewAction(st, "tag.add", func(tx *store.Tx, a AddArgs) error {
		if err := s.check(tx, a.ARN); err != nil {
			return err
		}
		return s.Put(tx, a.ARN, a.Tags)
	})
	s.Remove = store.NewAction(st, "tag.remove", s.remove)
	return s
}

// Kind makes resources of an ARN kind taggable: exists reports whether the ARN names
// an existing one.
func (s *Service) Kind(kind string, exists func(r store.Reader, resourceARN string) bool) {
	s.kinds[kind] = exists
}

// List returns a resource's tags. Errors: NotFound, InvalidRequest.
func (s *Service) List(resourceARN string) (map[string]string, error) {
	view := s.st.View()
	if err := s.check(view, resourceARN); err != nil {
		return nil, err
	}
	if set := s.sets.Get(view, resourceARN); set != nil {
		return set.Tags, nil
	}
	return nil, nil
}

// Of returns a resource's tags; nil if it has none or does not exist.
func (s *Service) Of(r store.Reader, resourceARN string) map[string]string {
	if set := s.sets.Get(r, resourceARN); set != nil {
		return set.Tags
	}
	return nil
}

// Put merges tags into a resource's set inside a transaction of its owner.
// The resource is not checked. Errors: TaggingFailed.
func (s *Service) Put(tx *store.Tx, resourceARN string, tags map[string]string) error {
	if len(tags) == 0 {
		return nil
	}
	merged := map[string]string{}
	if old := s.sets.Get(tx, resourceARN); old != nil {
		maps.Copy(merged, old.Tags)
	}
	for k, v := range tags {
		if strings.HasPrefix(strings.ToLower(k), "aws:") {
			return fault.New(fault.TaggingFailed, "Tags: key %q starts with aws:, which is reserved", k)
		}
		merged[k] = v
	}
	if len(merged) > Limit {
		return fault.New(fault.TaggingFailed, "Tags: %s would have %d tags; at most %d are allowed", resourceARN, len(merged), Limit)
	}
	s.sets.Put(tx, &Set{ARN: resourceARN, Tags: merged})
	return nil
}

// Drop removes all tags of a resource that is being deleted.
func (s *Service) Drop(tx *store.Tx, resourceARN string) { s.sets.Delete(tx, resourceARN) }

func (s *Service) remove(tx *store.Tx, a RemoveArgs) error {
	if err := s.check(tx, a.ARN); err != nil {
		return err
	}
	old := s.sets.Get(tx, a.ARN)
	if old == nil {
		return nil
	}
	left := maps.Clone(old.Tags)
	for _, k := range a.Keys {
		delete(left, k)
	}
	if len(left) == 0 {
		s.sets.Delete(tx, a.ARN)
	} else if len(left) != len(old.Tags) {
		s.sets.Put(tx, &Set{ARN: a.ARN, Tags: left})
	}
	return nil
}

func (s *Service) check(r store.Reader, resourceARN string) error {
	exists, ok := s.kinds[arn.Kind(resourceARN)]
	if !ok {
		return fault.Invalid("ResourceARN: %s does not name a resource that can be tagged", resourceARN)
	}
	if !exists(r, resourceARN) {
		return fault.Missing("ResourceARN: %s does not exist", resourceARN)
	}
	return nil
}
