package notify

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// subscribe requests a subscription. Its secrets are created outside the transaction,
// which must not depend on randomness.
type subscribe struct {
	Sink     string `json:"sink"`
	Topic    string `json:"topic"`
	ARN      string `json:"arn"`
	Endpoint string `json:"endpoint"`
	Token    string `json:"token"`
	Anew     bool   `json:"anew"`
}

type confirmation struct {
	Topic string `json:"topic"`
	Token string `json:"token"`
}

// occasion is why a sink is subscribed.
type occasion bool

const (
	onlyIfNew occasion = false // the configuration names the topic
	anew      occasion = true  // an operator requests it
)

type subscriptions struct {
	table   *store.Table[Subscription]
	byToken *store.Index[Subscription]
	byARN   *store.Index[Subscription]

	subscribe   *store.Action[subscribe]
	confirm     *store.Command[confirmation, string]
	unsubscribe *store.Action[string]
	left        *store.Action[string]
}

func newSubscriptions(st *store.Store) *subscriptions {
	ss := &subscriptions{}
	ss.table = store.NewTable(st, store.TableSpec[Subscription]{
		Name: "notify_subscription", Key: func(s *Subscription) string { return subscriptionKey(s.Sink, s.Topic) },
	})
	ss.byToken = store.NewIndex(ss.table, "token", func(s *Subscription, emit func(string)) { emit(s.Token) })
	ss.byARN = store.NewIndex(ss.table, "arn", func(s *Subscription, emit func(string)) { emit(s.ARN) })
	ss.subscribe = store.NewAction(st, "notify.subscribe", ss.runSubscribe)
	ss.confirm = store.NewCommand(st, "notify.confirm", ss.runConfirm)
	ss.unsubscribe = store.NewAction(st, "notify.unsubscribe", ss.runUnsubscribe)
	ss.left = store.NewAction(st, "notify.left", ss.runLeft)
	return ss
}

// of returns a sink's subscription to a topic, or nil.
func (ss *subscriptions) of(r store.Reader, sink, topic string) *Subscription {
	return ss.table.Get(r, subscriptionKey(sink, topic))
}

func (ss *subscriptions) request(ctx context.Context, k *sink, topic string, why occasion) error {
	endpoint := sha256.Sum256([]byte(k.cfg.URL))
	return ss.subscribe.Do(ctx, subscribe{
		Sink: k.cfg.Name, Topic: topic, ARN: topic + ":" + uuid.NewString(),
		Endpoint: hex.EncodeToString(endpoint[:]), Token: newToken(), Anew: why == anew,
	})
}

// newToken returns a token of the length of SNS's: 256 random bits.
func newToken() string {
	b := make([]byte, 32)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func (ss *subscriptions) runSubscribe(tx *store.Tx, a subscribe) error {
	old := ss.of(tx, a.Sink, a.Topic)
	next := Subscription{Sink: a.Sink, Topic: a.Topic, ARN: a.ARN, Endpoint: a.Endpoint, Token: a.Token}
	if old != nil {
		if old.Endpoint == a.Endpoint && !a.Anew {
			return nil
		}
		next.Status = old.Status
	}
	ss.move(tx, next, Pending)
	return nil
}

// runConfirm confirms the subscription with the token and returns its ARN.
func (ss *subscriptions) runConfirm(tx *store.Tx, c confirmation) (string, error) {
	sub := ss.byToken.First(tx, c.Token)
	if sub == nil || sub.Topic != c.Topic {
		return "", fault.Invalid("Token: it belongs to no subscription of this topic, or a later one has taken its place")
	}
	if sub.Status != Confirmed {
		ss.move(tx, *sub, Confirmed)
	}
	return sub.ARN, nil
}

func (ss *subscriptions) runUnsubscribe(tx *store.Tx, subscriptionARN string) error {
	sub := ss.byARN.First(tx, subscriptionARN)
	if sub == nil {
		return fault.Missing("SubscriptionArn: there is no such subscription")
	}
	if sub.Status == Pending || sub.Status == Confirmed {
		ss.move(tx, *sub, Leaving)
	}
	return nil
}

// runLeft ends the subscription with the ARN if it is still leaving.
func (ss *subscriptions) runLeft(tx *store.Tx, subscriptionARN string) error {
	if sub := ss.byARN.First(tx, subscriptionARN); sub != nil && sub.Status == Leaving {
		ss.move(tx, *sub, Unsubscribed)
	}
	return nil
}

func (ss *subscriptions) move(tx *store.Tx, s Subscription, to Status) {
	Moves.Move(&s.Status, to, s.ARN)
	s.Changed = tx.Now()
	ss.table.Put(tx, &s)
}

// Subscribe requests the endpoint of a sink of kind sns to confirm its topics anew, with new
// tokens. It is for endpoints that unsubscribed or lost the message.
// Errors: NotFound, InvalidRequest (a sink of another kind).
func (s *Service) Subscribe(ctx context.Context, sink string) error {
	k, err := s.sink(sink)
	if err != nil {
		return err
	}
	if k.cfg.Kind != SNS {
		return fault.Invalid("sink %q is of kind %s; only those of kind sns have subscriptions", sink, k.cfg.Kind)
	}
	for _, topic := range k.cfg.Topics {
		if err := s.subs.request(ctx, k, topic, anew); err != nil {
			return err
		}
	}
	k.resend.Send()
	return nil
}

// subscription returns the sink's confirmed subscription to a topic, or nil.
func (k *sink) subscription(topic string) *Subscription {
	sub := k.svc.subs.of(k.svc.st.View(), k.cfg.Name, topic)
	if sub == nil || sub.Status != Confirmed {
		return nil
	}
	return sub
}

// Pauses between requests to confirm that were received but not followed.
const (
	firstAsk = time.Minute
	lastAsk  = time.Hour
	goodbyes = 5 // attempts to notify an endpoint that it is unsubscribed
)

// asked records how often one token was sent, and when it is sent again. It is not
// stored: after a restart the endpoint is asked immediately.
type asked struct {
	failed, taken int
	next          time.Time
}

// keepSubscribing sends the messages that subscriptions wait for, until ctx ends.
func (k *sink) keepSubscribing(ctx context.Context) {
	tried := map[string]*asked{} // by status and ARN
	wake.Run(ctx, k.resend, func(ctx context.Context) time.Time { return k.sendHandshakes(ctx, tried) })
}

// sendHandshakes sends the messages that are due and returns when the next is.
func (k *sink) sendHandshakes(ctx context.Context, tried map[string]*asked) time.Time {
	next := time.Now().Add(lastAsk)
	waiting := map[string]bool{}
	for _, topic := range k.cfg.Topics {
		sub := k.svc.subs.of(k.svc.st.View(), k.cfg.Name, topic)
		if sub == nil || sub.Status != Pending && sub.Status != Leaving {
			continue
		}
		id := string(sub.Status) + " " + sub.ARN
		waiting[id] = true
		if tried[id] == nil {
			tried[id] = &asked{}
		}
		if !time.Now().Before(tried[id].next) {
			k.shake(ctx, sub, tried[id])
		}
		next = wake.Earliest(next, tried[id].next)
	}
	maps.DeleteFunc(tried, func(id string, _ *asked) bool { return !waiting[id] })
	return next
}
