package notify

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// shake sends one message about a subscription and sets when to send the next.
func (k *sink) shake(ctx context.Context, sub *Subscription, a *asked) {
	kind := snsSubscribe
	if sub.Status == Leaving {
		kind = snsUnsubscribe
	}
	m := sub.handshake(kind, uuid.NewString(), time.Now(), k.svc.links())
	err := k.postSNS(ctx, m, sub)
	if ctx.Err() != nil {
		return
	}
	k.svc.metrics.handshakes.WithLabelValues(k.cfg.Name, resultOf(err)).Inc()
	switch {
	case err != nil:
		a.failed++
		a.next = time.Now().Add(max(backoff(a.failed, rand.Float64()), retryAfter(err)))
		k.svc.log.Warn("endpoint did not take a message about its subscription",
			"sink", k.cfg.Name, "topic", sub.Topic, "type", kind, "attempt", a.failed, "error", err)
	default:
		a.failed = 0
		a.taken++
		a.next = time.Now().Add(min(firstAsk<<min(a.taken-1, 6), lastAsk))
		k.svc.log.Info("endpoint took a message about its subscription", "sink", k.cfg.Name, "topic", sub.Topic, "type", kind)
	}
	if kind == snsUnsubscribe && (err == nil || a.failed >= goodbyes) {
		k.leave(ctx, sub)
	}
}

// leave ends a subscription that is leaving, after the last message to its endpoint.
func (k *sink) leave(ctx context.Context, sub *Subscription) {
	if err := k.svc.subs.left.Do(ctx, sub.ARN); err != nil && ctx.Err() == nil {
		k.svc.log.Warn("end of a subscription not kept", "sink", k.cfg.Name, "topic", sub.Topic, "error", err)
	}
}
