package group

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/wake"
)

// Images fetches images for all groups of a machine.
type Images struct {
	engine func() Engine // nil while none is there
	log    *slog.Logger

	mu      sync.Mutex
	ahead   []string   // to fetch before they are needed
	changed wake.Nudge // ahead was replaced
}

// NewImages returns Images that fetch by an engine.
func NewImages(engine func() Engine, log *slog.Logger) *Images {
	return &Images{engine: engine, log: log, changed: wake.NewNudge()}
}

// ErrNoEngine says that no container engine answers.
var ErrNoEngine = errors.New("no container engine answers on this machine: start Docker or Podman")

// Get fetches an image unless it is there.
func (s *Images) Get(ctx context.Context, image string, progress func(percent int)) error {
	engine := s.engine()
	if engine == nil {
		return ErrNoEngine
	}
	return engine.Pull(ctx, image, progress)
}

// Ahead replaces the images to fetch before they are needed.
func (s *Images) Ahead(images []string) {
	s.mu.Lock()
	same := slices.Equal(s.ahead, images)
	s.ahead = slices.Clone(images)
	s.mu.Unlock()
	if !same {
		s.changed.Send()
	}
}

// retryAhead is how long an image that could not be fetched ahead is left alone.
const retryAhead = time.Minute

// askAgain is how often images are asked for that were fetched ahead: so they are not
// taken for unneeded, and are fetched again if others removed them.
const askAgain = time.Hour

// Run fetches images ahead, one after the other, until ctx ends.
func (s *Images) Run(ctx context.Context) {
	here := map[string]bool{}
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		failed := false
		for _, image := range s.wanted(here) {
			err := s.Get(ctx, image, nil)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				s.log.Warn("an image was not fetched ahead", "image", image, "error", err)
				failed = true
				continue
			}
			here[image] = true
			s.log.Info("an image was fetched ahead", "image", image)
		}
		var retry <-chan time.Time
		if failed {
			retry = time.After(retryAhead)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		case <-again.C:
			clear(here)
		case <-retry:
		}
	}
}

// wanted returns the images to fetch ahead that are not here, and forgets those that are
// no longer wanted.
func (s *Images) wanted(here map[string]bool) (images []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for image := range here {
		if !slices.Contains(s.ahead, image) {
			delete(here, image)
		}
	}
	for _, image := range s.ahead {
		if !here[image] {
			images = append(images, image)
		}
	}
	return images
}
