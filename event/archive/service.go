package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Target is where objects are stored.
type Target interface {
	// Put stores an object, or replaces it, and returns nil once it is durable. Its errors
	// say what to do.
	Put(ctx context.Context, name string, data []byte) error
	// String returns the target as it is configured.
	String() string
}

// Options configure a Service.
type Options struct {
	Target Target // nil: there is no archive
	Region string // first part of the names of objects

	// Every is how long an event waits at most for its object to be full. Default
	// DefaultEvery.
	Every time.Duration
	// Size is how many bytes of JSON an object has at most, before compression. Default
	// DefaultSize.
	Size int

	Logger     *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil keeps no metrics
}

// Defaults of Options, and the most that may be set.
const (
	DefaultEvery = 5 * time.Minute
	DefaultSize  = 64 << 20
	LongestEvery = 30 * time.Minute
	LargestSize  = 1 << 30
)

const (
	pageSize   = 1000            // events that are read at a time
	putTimeout = 5 * time.Minute // for one object
)

// Service writes the archive.
type Service struct {
	opts      Options
	log       *slog.Logger
	st        *store.Store
	events    *event.Log
	positions *store.Table[Position]
	cmd       commands
	metrics   *metrics

	open   *object      // what is being filled or written; nil: nothing. Only Run uses it
	oldest atomic.Int64 // Unix nanoseconds of the oldest event that the archive lacks; 0: none is known
}

// New registers the position on a store that is not open yet. With a target, events are kept
// until they are archived.
func New(st *store.Store, events *event.Log, o Options) *Service {
	o.Every, o.Size = cmp.Or(o.Every, DefaultEvery), cmp.Or(o.Size, DefaultSize)
	s := &Service{opts: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), st: st, events: events}
	s.register(st)
	if o.Target != nil {
		events.Hold(func(r store.Reader) uint64 { return s.position(r).Seq })
		s.metrics = newMetrics(o.Registerer, s)
	}
	return s
}

// Run writes the archive until ctx ends. Only the owner of the cell may run it, once.
func (s *Service) Run(ctx context.Context) {
	if s.opts.Target == nil {
		return
	}
	nudge, end := s.events.Watch()
	defer end()
	for failures := 0; ctx.Err() == nil; {
		wait, err := s.turn(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.metrics.failures.Inc()
			if failures++; failures == 1 {
				s.log.Error("events are not archived; they wait, and it is tried again", "archive", s.opts.Target, "error", err)
			}
			wake.Sleep(ctx, pause(failures, rand.Float64()))
			continue
		case failures > 0:
			s.log.Info("events are archived again", "archive", s.opts.Target, "failures", failures)
		}
		failures = 0
		if wait == untilEvent {
			select {
			case <-ctx.Done():
			case <-nudge:
			}
			continue
		}
		wake.Sleep(ctx, wait)
	}
}

// untilEvent is the pause of an archive that has everything.
const untilEvent = -1

// longestPause is the longest time between attempts.
const longestPause = time.Minute

// pause returns the time before the next attempt, which doubles from a second to a minute;
// chance (0 ≤ chance < 1) takes away up to half of it.
func pause(failures int, chance float64) time.Duration {
	full := min(time.Second<<min(failures-1, 6), longestPause)
	return full - time.Duration(chance*float64(full)/2)
}

// turn does one step, and returns how long to wait until the next.
func (s *Service) turn(ctx context.Context) (wait time.Duration, err error) {
	p := s.position(s.st.View())
	if p.Cut != 0 {
		return 0, s.write(ctx, p)
	}
	full, err := s.fill(ctx, p)
	if err != nil {
		s.open = nil // it may have a part of a page
		return 0, err
	}
	o := s.open
	if o == nil || o.empty() {
		s.oldest.Store(0)
		return untilEvent, nil
	}
	s.oldest.Store(o.begin.UnixNano())
	if due := s.opts.Every - time.Since(o.begin); !full && due > 0 {
		// What comes until then is read in parts.
		return min(due, max(s.opts.Every/10, time.Second)), nil
	}
	return 0, s.cmd.cut.Do(ctx, cut{From: p.Seq, First: o.first, To: o.last})
}

// fill reads events into the open object until the next object has to begin, which full
// reports, or there are no more.
func (s *Service) fill(ctx context.Context, p Position) (full bool, err error) {
	if s.open == nil || s.open.after != p.Seq {
		s.open = newObject(p.Seq)
	}
	o := s.open
	for {
		page, err := s.events.Read(ctx, event.Query{After: o.next(), Limit: pageSize})
		if err != nil {
			return false, err
		}
		if len(page) > 0 && o.empty() {
			if done, err := s.skip(ctx, p, page[0].Seq); done || err != nil {
				s.open = nil
				return false, err
			}
		}
		for _, e := range page {
			if added, err := o.add(e, s.opts.Size); !added || err != nil {
				return true, err
			}
		}
		if len(page) < pageSize {
			return false, nil
		}
	}
}

// skip moves the position to what is left of the log, if events between it and next were
// removed, and reports whether it did. Numbers are also missing without a loss: before an
// archive's first event, and where the database lost commits.
func (s *Service) skip(ctx context.Context, p Position, next uint64) (done bool, err error) {
	if p.Seq == 0 && p.Cut == 0 || next == p.Seq+1 {
		return false, nil
	}
	oldest, err := s.events.Read(ctx, event.Query{Limit: 1})
	if err != nil || len(oldest) == 0 || oldest[0].Seq < next {
		return false, err
	}
	return true, s.cmd.skip.Do(ctx, cut{From: p.Seq, To: next - 1, Events: next - 1 - p.Seq})
}

// write stores the object that was cut, and moves the position.
func (s *Service) write(ctx context.Context, p Position) error {
	o := s.open
	if o == nil || o.after != p.Seq && o.first != p.Seq+1 || o.last != p.Cut {
		var err error
		if o, err = s.again(ctx, p); o == nil || err != nil {
			return err
		}
		s.open = o
	}
	s.oldest.Store(o.begin.UnixNano())
	data, err := o.bytes()
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeoutCause(ctx, putTimeout, errors.New("not stored within "+putTimeout.String()))
	defer cancel()
	name := o.name(s.opts.Region)
	if err := s.opts.Target.Put(within, name, data); err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	if err := s.cmd.move.Do(ctx, p.Cut); err != nil {
		return err
	}
	s.open = nil
	s.metrics.objects.Inc()
	s.metrics.bytes.Add(float64(len(data)))
	return nil
}

// again reads the events of an object that this owner, or the one before, has cut. It returns
// nil if the position had to be moved because they are gone.
func (s *Service) again(ctx context.Context, p Position) (*object, error) {
	o := newObject(p.Seq)
	for o.next() < p.Cut {
		page, err := s.events.Read(ctx, event.Query{After: o.next(), Limit: int(min(pageSize, p.Cut-o.next()))})
		if err != nil {
			return nil, err
		}
		switch {
		case len(page) == 0 && o.empty():
			return nil, s.cmd.skip.Do(ctx, cut{From: p.Seq, To: p.Cut, Events: p.Cut - p.Seq})
		case o.empty():
			if done, err := s.skip(ctx, p, page[0].Seq); done || err != nil {
				return nil, err
			}
		}
		for _, e := range page {
			if added, err := o.add(e, LargestSize); !added || err != nil {
				return nil, errors.Join(err, fmt.Errorf("event %d does not follow %d", e.Seq, o.last))
			}
		}
	}
	return o, nil
}
