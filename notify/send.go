package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

type bareSender struct{ poster *poster }

func (b *bareSender) send(ctx context.Context, n *notice) error {
	return b.poster.post(ctx, map[string]string{"Content-Type": "application/json"}, n.body)
}

// webhookSender posts the EventBridge JSON with a signature, from which the receiver
// knows that it comes from us and when it was sent.
type webhookSender struct {
	poster  *poster
	secrets []string
}

// Headers of a webhook.
const (
	signatureHeader = "Muster-Signature"
	eventHeader     = "Muster-Event-Id"
	sequenceHeader  = "Muster-Sequence"
)

func (w *webhookSender) send(ctx context.Context, n *notice) error {
	headers := map[string]string{
		"Content-Type": "application/json",
		eventHeader:    n.event.ID,
		sequenceHeader: strconv.FormatUint(n.seq, 10),
	}
	return w.post(ctx, headers, n.body)
}

func (w *webhookSender) post(ctx context.Context, headers map[string]string, body []byte) error {
	if len(w.secrets) > 0 {
		headers[signatureHeader] = webhookSignature(w.secrets, time.Now(), body)
	}
	return w.poster.post(ctx, headers, body)
}

// webhookSignature returns t=SECONDS and, for each secret, v1=HEX: the HMAC-SHA256 of
// "SECONDS.BODY".
func webhookSignature(secrets []string, now time.Time, body []byte) string {
	at := strconv.FormatInt(now.Unix(), 10)
	text := "t=" + at
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(at + "."))
		mac.Write(body)
		text += ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	return text
}

type logSender struct {
	log  *slog.Logger
	sink string
}

func (l logSender) send(ctx context.Context, n *notice) error {
	l.log.LogAttrs(ctx, slog.LevelInfo, "notice",
		slog.String("sink", l.sink), slog.Uint64("seq", n.seq), slog.String("event_id", n.event.ID),
		slog.String("detail_type", n.event.Notice.DetailType), slog.String("source", n.event.Notice.Source),
		slog.String("target", n.target()), slog.String("detail", string(n.event.Notice.Detail)))
	return nil
}

// snsSender posts to an endpoint that has confirmed its subscription.
type snsSender struct{ sink *sink }

func (s *snsSender) send(ctx context.Context, n *notice) error {
	sub := s.sink.subscription(n.target())
	if sub == nil {
		return nil // it unsubscribed while the notice waited
	}
	if s.sink.cfg.Raw {
		headers := snsHeaders(snsNotification, n.event.ID, sub.Topic)
		headers["x-amz-sns-subscription-arn"] = sub.ARN
		headers["x-amz-sns-rawdelivery"] = "true"
		return s.sink.poster.post(ctx, headers, n.body)
	}
	return s.sink.postSNS(ctx, n.notification(sub, s.sink.svc.links()), sub)
}

func (k *sink) postSNS(ctx context.Context, m *snsMessage, sub *Subscription) error {
	if err := k.svc.signs().sign(m, k.cfg.SignatureVersion, k.svc.links()); err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write message %s: %w", m.MessageID, err)
	}
	headers := snsHeaders(m.Type, m.MessageID, m.TopicARN)
	if m.Type != snsSubscribe { // an unconfirmed endpoint does not learn the ARN
		headers["x-amz-sns-subscription-arn"] = sub.ARN
	}
	return k.poster.post(ctx, headers, body)
}

func snsHeaders(kind snsType, id, topic string) map[string]string {
	return map[string]string{
		"Content-Type":           "text/plain; charset=UTF-8", // as SNS sends it
		"x-amz-sns-message-type": string(kind),
		"x-amz-sns-message-id":   id,
		"x-amz-sns-topic-arn":    topic,
	}
}
