package notify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/wake"
)

// sender sends a notice to a sink's destination. The error is a refusal if the receiver
// rejected the notice, and otherwise a failure.
type sender interface {
	send(ctx context.Context, n *notice) error
}

// sink delivers to one receiver; only its goroutine moves the cursor.
type sink struct {
	cfg    SinkConfig
	svc    *Service
	sender sender
	poster *poster // nil for kind log
	wakeup wake.Nudge
	resend wake.Nudge // nudges keepSubscribing

	made   deliveries
	oldest atomic.Int64 // Unix nanoseconds of the oldest notice not delivered; 0 for none

	mu       sync.Mutex
	failures int                // consecutive, over all notices
	cut      context.CancelFunc // ends the batch that is being delivered
}

func newSink(s *Service, c SinkConfig, transport http.RoundTripper) *sink {
	k := &sink{cfg: c, svc: s, wakeup: wake.NewNudge(), resend: wake.NewNudge()}
	if c.Kind != Log {
		k.poster = newPoster(&c, transport)
	}
	switch c.Kind {
	case Log:
		k.sender = logSender{s.log, c.Name}
	case SNS:
		k.sender = &snsSender{k}
	case Webhook:
		k.sender = &webhookSender{k.poster, c.Secrets}
	default:
		k.sender = &bareSender{k.poster}
	}
	return k
}

const batchSize = 100

// run delivers what there is to deliver, initially and whenever it is nudged, until ctx
// ends.
func (k *sink) run(ctx context.Context) {
	wake.Run(ctx, k.wakeup, func(ctx context.Context) time.Time {
		busy, err := k.turn(ctx)
		if err != nil && ctx.Err() == nil {
			k.svc.log.Error("sink cannot go on; it tries again", "sink", k.cfg.Name, "error", err)
			wake.Sleep(ctx, time.Second)
		}
		if busy || err != nil {
			return time.Now()
		}
		return time.Time{}
	})
}

// turn delivers one dead letter that is to be redelivered, if there is one, and the next
// batch. It reports whether there may be more.
func (k *sink) turn(ctx context.Context) (busy bool, err error) {
	d := k.svc.t.again.First(k.svc.st.View(), k.cfg.Name)
	if d != nil {
		if err := k.redeliver(ctx, d); err != nil {
			return false, err
		}
	}
	cursor := k.svc.t.cursors.Get(k.svc.st.View(), k.cfg.Name)
	if cursor == nil {
		return false, fmt.Errorf("it has no cursor")
	}
	entries, err := k.svc.events.Read(ctx, event.Query{Notices: true, After: cursor.Seq, Limit: batchSize})
	if err != nil {
		return false, err
	}
	if len(entries) == 0 {
		k.oldest.Store(0)
		return d != nil, nil
	}
	return true, k.batch(ctx, cursor, entries)
}

func (k *sink) redeliver(ctx context.Context, d *DeadLetter) error {
	entries, err := k.svc.events.Read(ctx, event.Query{Notices: true, After: d.Seq - 1, Limit: 1})
	if err != nil {
		return err
	}
	outcome := settled{Sink: d.Sink, Seq: d.Seq}
	if len(entries) == 0 || entries[0].Seq != d.Seq {
		outcome.Error = "the event log does not hold the notice any more"
	} else if err := k.sendOnce(ctx, entries[0]); err != nil {
		outcome.Error = err.Error()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = k.svc.cmd.settled.Do(ctx, outcome)
	return err
}

func (k *sink) sendOnce(ctx context.Context, e event.Entry) error {
	n, err := newNotice(k.svc.opts.Home, e)
	if err != nil {
		return err
	}
	if !k.wants(&n) {
		return fmt.Errorf("the sink does not subscribe to topic %q any more", n.target())
	}
	if !wake.Sleep(ctx, k.rest(1, nil)) {
		return ctx.Err()
	}
	return k.attempt(ctx, &n, 1, true, func(error) bool { return false })
}

func (k *sink) wants(n *notice) bool {
	if !k.cfg.wants(n.target()) {
		return false
	}
	return k.cfg.Kind != SNS || k.subscription(n.target()) != nil
}

// note counts an attempt and the consecutive failures. A refusal is an answer, which
// shows that the receiver is reachable.
func (k *sink) note(err error) {
	k.svc.metrics.deliveries.WithLabelValues(k.cfg.Name, resultOf(err)).Inc()
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil || isRefusal(err) {
		if k.failures >= troubled {
			k.svc.log.Info("sink answers again", "sink", k.cfg.Name, "failures", k.failures)
		}
		k.failures = 0
		return
	}
	k.failures++
	if k.failures == troubled {
		k.svc.log.Warn("sink keeps failing; its notices wait", "sink", k.cfg.Name, "error", err)
	}
}

// troubled is the number of consecutive failures after which one is logged.
const troubled = 3

// rest returns the pause before attempt number try of a notice. It grows with the attempts
// of the notice and with the sink's consecutive failures over all notices, so that an
// unreachable receiver is tried once a minute and not once per notice. It is at least what
// the receiver requested.
func (k *sink) rest(try int, err error) time.Duration {
	return max(backoff(max(k.inTrouble(), try-1), rand.Float64()), retryAfter(err))
}

func (k *sink) inTrouble() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failures
}

func (k *sink) interrupt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cut != nil {
		k.cut()
	}
}

func (k *sink) setCut(cut context.CancelFunc) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = cut
}
