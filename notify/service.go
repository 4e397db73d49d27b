package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Service delivers the notices of the event log.
type Service struct {
	st      *store.Store
	events  *event.Log
	opts    Options
	log     *slog.Logger
	metrics *metrics
	t       tables
	cmd     commands
	sinks   []*sink
	signer  *signer // nil without sinks of kind sns
	mux     *http.ServeMux
}

type commands struct {
	begin       *store.Command[string, struct{}]
	advance     *store.Command[advance, struct{}]
	replay      *store.Command[replay, struct{}]
	again       *store.Command[again, int]
	settled     *store.Command[settled, struct{}]
	expire      *store.Command[struct{}, int]
	subscribe   *store.Command[subscribe, struct{}]
	confirm     *store.Command[confirmation, string]
	unsubscribe *store.Command[string, struct{}]
	left        *store.Command[string, struct{}]
}

// New registers the tables and commands on a store that is not open yet. The
// error names the sink and the field that is wrong.
func New(st *store.Store, events *event.Log, o Options) (*Service, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Service{st: st, events: events, opts: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), t: newTables(st)}
	s.cmd = commands{
		begin:       store.NewCommand(st, "notify.begin", s.runBegin),
		advance:     store.NewCommand(st, "notify.advance", s.runAdvance),
		replay:      store.NewCommand(st, "notify.replay", s.runReplay),
		again:       store.NewCommand(st, "notify.again", s.runAgain),
		settled:     store.NewCommand(st, "notify.settled", s.runSettled),
		expire:      store.NewCommand(st, "notify.expire", s.runExpire),
		subscribe:   store.NewCommand(st, "notify.subscribe", s.runSubscribe),
		confirm:     store.NewCommand(st, "notify.confirm", s.runConfirm),
		unsubscribe: store.NewCommand(st, "notify.unsubscribe", s.runUnsubscribe),
		left:        store.NewCommand(st, "notify.left", s.runLeft),
	}
	transport := o.Transport
	if transport == nil {
		transport = newTransport()
	}
	for _, c := range o.Sinks {
		c.setDefaults()
		s.sinks = append(s.sinks, newSink(s, c, transport))
	}
	s.metrics = newMetrics(o.Registerer, s.sinks)
	s.routes()
	return s, nil
}

// Open gives new sinks their cursors and topics their subscriptions. Call it
// when the store is open, before anything can happen that sinks are told of.
func (s *Service) Open(ctx context.Context) error {
	for _, k := range s.sinks {
		if _, err := s.cmd.begin.Do(ctx, k.cfg.Name); err != nil {
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

func (s *Service) openSNS(ctx context.Context, k *sink) (err error) {
	if s.signer == nil {
		if s.signer, err = loadSigner(s.opts.KeyFile, time.Now()); err != nil {
			return err
		}
	}
	for _, topic := range k.cfg.Topics {
		if err := s.subscribe(ctx, k, topic, onlyIfNew); err != nil {
			return fmt.Errorf("subscribe sink %s to %s: %w", k.cfg.Name, topic, err)
		}
	}
	return nil
}

// Run delivers until ctx ends, and returns when nothing is being delivered any
// more and the cursors are kept. Call it once, after Open.
func (s *Service) Run(ctx context.Context) {
	if len(s.sinks) == 0 {
		return
	}
	var running sync.WaitGroup
	for _, k := range s.sinks {
		running.Go(func() { k.run(ctx) })
		if k.cfg.Kind == SNS {
			running.Go(func() { k.keepSubscribing(ctx) })
		}
	}
	running.Go(func() { s.watch(ctx) })
	running.Go(func() { s.expire(ctx) })
	running.Wait()
}

// sink gives the sink of a name.
func (s *Service) sink(name string) (*sink, error) {
	for _, k := range s.sinks {
		if k.cfg.Name == name {
			return k, nil
		}
	}
	return nil, fault.Missing("the configuration has no sink %q", name)
}

// expireEvery is how often dead letters past their retention are removed.
const expireEvery = time.Hour

func (s *Service) expire(ctx context.Context) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		n, err := s.cmd.expire.Do(ctx, struct{}{})
		if err != nil && ctx.Err() == nil {
			s.log.Warn("dead letters not removed at the end of their retention", "error", err)
		}
		if n == expireAtOnce {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// links gives the URLs for messages that are sent now.
func (s *Service) links() links {
	if s.opts.BaseURL == nil {
		return ""
	}
	return links(s.opts.BaseURL())
}
