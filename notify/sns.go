package notify

import (
	"fmt"
	"strings"
	"time"
)

// snsMessage is what Amazon SNS posts to an HTTP/S endpoint (SNS developer
// guide, "HTTP/HTTPS notification JSON format" and its two siblings).
type snsMessage struct {
	Type             snsType `json:"Type"`
	MessageID        string  `json:"MessageId"`
	Token            string  `json:"Token,omitzero"`
	SequenceNumber   string  `json:"SequenceNumber,omitzero"` // of FIFO topics
	TopicARN         string  `json:"TopicArn"`
	Message          string  `json:"Message"`
	SubscribeURL     string  `json:"SubscribeURL,omitzero"`
	Timestamp        string  `json:"Timestamp"`
	SignatureVersion string  `json:"SignatureVersion"`
	Signature        string  `json:"Signature"`
	SigningCertURL   string  `json:"SigningCertURL"`
	UnsubscribeURL   string  `json:"UnsubscribeURL,omitzero"`
}

type snsType string

const (
	snsNotification snsType = "Notification"
	snsSubscribe    snsType = "SubscriptionConfirmation"
	snsUnsubscribe  snsType = "UnsubscribeConfirmation"
)

// canonical returns the text that is signed: the names and values of some members, in
// order of names, each on a separate line (SNS developer guide, "Verifying the
// signatures of Amazon SNS messages").
func (m *snsMessage) canonical() string {
	var b strings.Builder
	add := func(name, value string) { b.WriteString(name + "\n" + value + "\n") }
	add("Message", m.Message)
	add("MessageId", m.MessageID)
	if m.Type != snsNotification {
		add("SubscribeURL", m.SubscribeURL)
	}
	add("Timestamp", m.Timestamp)
	if m.Type != snsNotification {
		add("Token", m.Token)
	}
	add("TopicArn", m.TopicARN)
	add("Type", string(m.Type))
	return b.String()
}

// notification returns the message that carries a notice to a confirmed subscription.
func (n *notice) notification(sub *Subscription, urls links) *snsMessage {
	m := &snsMessage{
		Type: snsNotification, MessageID: n.event.ID, TopicARN: sub.Topic, Message: string(n.body),
		Timestamp: n.event.Time.UTC().Format(millisLayout), UnsubscribeURL: urls.unsubscribe(sub),
	}
	if isFIFO(sub.Topic) {
		m.SequenceNumber = fmt.Sprintf("%020d", n.seq)
	}
	return m
}

// isFIFO reports whether a topic promises order. AWS's FIFO topics do not deliver to HTTP
// endpoints; ours do, in the order of the log if InFlight is 1.
func isFIFO(topic string) bool { return strings.HasSuffix(topic, ".fifo") }

// handshake returns the message that requests a subscription, or reports its end.
func (s *Subscription) handshake(kind snsType, id string, now time.Time, urls links) *snsMessage {
	text := "Muster has subscribed this endpoint to " + s.Topic + ". It sends nothing until SubscribeURL is visited."
	if kind == snsUnsubscribe {
		text = "The subscription " + s.ARN + " has ended. Visiting SubscribeURL restores it."
	}
	return &snsMessage{
		Type: kind, MessageID: id, Token: s.Token, TopicARN: s.Topic, Message: text,
		SubscribeURL: urls.subscribe(s), Timestamp: now.UTC().Format(millisLayout),
	}
}
