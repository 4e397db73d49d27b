package container

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/registry"
	"github.com/musterhq/muster/internal/store"
)

// Bounds of looking up images.
const (
	atOnce    = 8                // versions whose registries are asked at a time
	tryTime   = time.Minute      // for one try of a version, with all its images
	firstWait = 2 * time.Second  // after the first try in vain; doubles with each
	lastWait  = 30 * time.Second // the longest wait
)

// maxReason is the largest StatusReason.
const maxReason = 1024

// next returns when registries are to be asked.
func (s *Service) next() time.Time { return s.t.due.NextDue(s.st.View()) }

// work tries to look up the images of versions that are due.
func (s *Service) work(ctx context.Context) error {
	var due []*Version
	for v := range s.t.due.Due(s.st.View(), time.Now()) {
		if due = append(due, v); len(due) == atOnce {
			break
		}
	}
	outcomes := make([]outcome, len(due))
	var asking sync.WaitGroup
	for i, v := range due {
		asking.Go(func() { outcomes[i] = s.lookUp(ctx, v) })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return ctx.Err() // what failed because of that says nothing about the images
	}
	for _, o := range outcomes {
		if err := s.settle.Do(ctx, o); err != nil {
			return fmt.Errorf("settle version %d of container group definition %s: %w", o.Number, o.Name, err)
		}
	}
	return nil
}

// outcome is the result of a try to look up the images of a version.
type outcome struct {
	Name    string
	Number  int
	Created time.Time         // of the version: the name may have been deleted and created again
	Digests map[string]string // by image
	Failure string            // why there is none for an image; names it
	Final   bool              // another try would change nothing
}

// lookUp asks the registries of a version for its images.
func (s *Service) lookUp(ctx context.Context, v *Version) outcome {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	o := outcome{Name: v.Name, Number: v.Number, Created: v.Created, Digests: map[string]string{}}
	for c := range v.Containers() {
		if c.Digest != "" || o.Digests[c.Image] != "" {
			continue
		}
		digest, err := s.resolve(ctx, c.Image)
		if err != nil {
			_, o.Final = errors.AsType[*registry.Refused](err)
			o.Failure = fmt.Sprintf("image %s of container %s: %v", c.Image, c.Name, err)
			s.log.Info("image not looked up", "name", v.Name, "version", v.Number, "image", c.Image, "error", err, "cause", errors.Unwrap(err))
			return o
		}
		o.Digests[c.Image] = digest
	}
	return o
}

// runSettle applies an outcome to a version that is still COPYING.
func (s *Service) runSettle(tx *store.Tx, o outcome) error {
	v := s.t.versions.Get(tx, key(o.Name, o.Number))
	if v == nil || v.Status != Copying || !v.Created.Equal(o.Created) {
		return nil
	}
	v = v.clone()
	for c := range v.Containers() {
		if c.Digest == "" {
			c.Digest = o.Digests[c.Image]
		}
	}
	switch {
	case o.Failure == "":
		v.settle(Ready)
		s.t.versions.Put(tx, v)
		s.announce(tx, v)
		return nil
	case o.Final || v.Tries > 0 && tx.Now().Sub(v.Created) >= s.opts.Patience:
		s.fail(tx, v, o.Failure)
	default:
		v.Due = tx.Now().Add(min(firstWait<<min(v.Tries, 8), lastWait))
		v.Tries++
	}
	s.t.versions.Put(tx, v)
	return nil
}

func (s *Service) fail(tx *store.Tx, v *Version, failure string) {
	v.settle(Failed)
	const remedy = ". Put this right and call UpdateContainerGroupDefinition for a new version, or name the image with its digest"
	v.Reason = strings.ToValidUTF8(failure[:min(len(failure), maxReason-len(remedy))], "") + remedy
	tx.OnCommit(func() {
		s.log.Info("container group definition failed", "name", v.Name, "version", v.Number, "reason", v.Reason)
	})
	s.record(tx, event.ContainerGroupFailed, v, fmt.Sprintf("Container group definition %s, version %d, FAILED: %s", v.Name, v.Number, v.Reason))
}

// settle ends the search for a version's images.
func (v *Version) settle(to Status) {
	v.move(to)
	v.Due, v.Tries = time.Time{}, 0
}
