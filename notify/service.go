package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Service delivers the notices of the event log.
type Service struct {
	st      *store.Store
	events  *event.Log
	opts    Options
	log     *slog.Logger
	metrics *metrics
	t       tables
	subs    *subscriptions
	cmd     commands
	mux     *http.ServeMux

	transport http.RoundTripper

	reloading sync.Mutex // held by one Open or Reload at a time
	mu        sync.Mutex // guards the fields below
	sinks     []*sink
	signer    *signer       // nil until there is a sink of kind sns
	opened    bool          // the store is open, and sinks have cursors
	changed   chan struct{} // closed and replaced with sinks
}

type commands struct {
	begin   *store.Action[string]
	advance *store.Action[advance]
	replay  *store.Action[replay]
	again   *store.Command[again, int]
	settled *store.Action[settled]
	expire  *store.Command[struct{}, int]
}

// New registers the tables and commands on a store that is not open yet. Its error names
// the invalid sink and field.
func New(st *store.Store, events *event.Log, o Options) (*Service, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Service{st: st, events: events, opts: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), t: newTables(st), subs: newSubscriptions(st)}
	s.cmd = commands{
		begin:   store.NewAction(st, "notify.begin", s.runBegin),
		advance: store.NewAction(st, "notify.advance", s.runAdvance),
		replay:  store.NewAction(st, "notify.replay", s.runReplay),
		again:   store.NewCommand(st, "notify.again", s.runAgain),
		settled: store.NewAction(st, "notify.settled", s.runSettled),
		expire:  store.NewCommand(st, "notify.expire", s.runExpire),
	}
	if s.transport = o.Transport; s.transport == nil {
		s.transport = newTransport()
	}
	s.sinks, s.changed = s.makeSinks(o.Sinks), make(chan struct{})
	s.metrics = newMetrics(o.Registerer, s)
	s.mux = handler{s, o.Allow, s.log}.routes()
	return s, nil
}

// makeSinks returns sinks for the configurations; one whose configuration has not changed
// is kept.
func (s *Service) makeSinks(configs []SinkConfig) []*sink {
	known := s.current()
	all := make([]*sink, 0, len(configs))
	for _, c := range configs {
		c.setDefaults()
		at := slices.IndexFunc(known, func(k *sink) bool { return reflect.DeepEqual(k.cfg, c) })
		if at >= 0 {
			all = append(all, known[at])
			continue
		}
		all = append(all, newSink(s, c, s.transport))
	}
	return all
}

func (s *Service) current() []*sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sinks
}

// Reload replaces the sinks. If there is an error, it names the invalid sink and field,
// and the sinks have not changed. Deliveries in progress are cut off, and repeated if
// the sink stays.
func (s *Service) Reload(ctx context.Context, sinks []SinkConfig) error {
	o := s.opts
	o.Sinks = sinks
	if err := o.validate(); err != nil {
		return err
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	next := s.makeSinks(sinks)
	s.mu.Lock()
	opened := s.opened
	s.mu.Unlock()
	if opened {
		if err := s.begin(ctx, next); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sinks = next
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// Open creates cursors for new sinks and subscriptions for their topics. It must be called
// once the store is open, before anything can happen that sinks are to be notified of.
func (s *Service) Open(ctx context.Context) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if err := s.begin(ctx, s.current()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = true
	return nil
}

// begin creates the missing cursors of sinks and subscriptions of topics.
func (s *Service) begin(ctx context.Context, sinks []*sink) error {
	for _, k := range sinks {
		if err := s.cmd.begin.Do(ctx, k.cfg.Name); err != nil {
			return fmt.Errorf("begin sink %s: %w", k.cfg.Name, err)
		}
		if k.cfg.Kind != SNS {
			continue
		}
		if err := s.openSNS(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) openSNS(ctx context.Context, k *sink) error {
	if s.signs() == nil {
		signer, err := loadSigner(s.opts.KeyFile, time.Now())
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.signer = signer
		s.mu.Unlock()
	}
	for _, topic := range k.cfg.Topics {
		if err := s.subs.request(ctx, k, topic, onlyIfNew); err != nil {
			return fmt.Errorf("subscribe sink %s to %s: %w", k.cfg.Name, topic, err)
		}
	}
	return nil
}

// Run delivers until ctx ends, and returns once no delivery is in progress and the cursors
// are stored. It must be called once, after Open.
func (s *Service) Run(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		sinks, changed := s.sinks, s.changed
		s.mu.Unlock()
		s.run(ctx, sinks, changed)
	}
}

// run delivers to sinks until ctx ends, or the sinks are replaced.
func (s *Service) run(ctx context.Context, sinks []*sink, changed <-chan struct{}) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, k := range sinks {
		running.Go(func() { k.run(ctx) })
		if k.cfg.Kind == SNS {
			running.Go(func() { k.keepSubscribing(ctx) })
		}
	}
	if len(sinks) > 0 {
		running.Go(func() { s.watch(ctx) })
		running.Go(func() { s.expire(ctx) })
	}
	select {
	case <-ctx.Done():
	case <-changed:
	}
	stop()
	running.Wait()
}

// signs returns the signer for messages of kind sns, or nil.
func (s *Service) signs() *signer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signer
}

func (s *Service) sink(name string) (*sink, error) {
	for _, k := range s.current() {
		if k.cfg.Name == name {
			return k, nil
		}
	}
	return nil, fault.Missing("the configuration has no sink %q", name)
}

// expireEvery is how often dead letters past their retention are deleted.
const expireEvery = time.Hour

func (s *Service) expire(ctx context.Context) {
	wake.Run(ctx, nil, func(ctx context.Context) time.Time {
		n, err := s.cmd.expire.Do(ctx, struct{}{})
		if err != nil && ctx.Err() == nil {
			s.log.Warn("dead letters not removed at the end of their retention", "error", err)
		}
		if n == expireAtOnce {
			return time.Now()
		}
		return time.Now().Add(expireEvery)
	})
}

// links returns the URLs for messages that are sent now.
func (s *Service) links() links {
	if s.opts.BaseURL == nil {
		return ""
	}
	return links(s.opts.BaseURL())
}
