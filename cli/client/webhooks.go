package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Sink is a receiver of notices and how it is doing (notify.SinkStatus).
type Sink struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	URL         string   `json:"url,omitempty"`
	Topics      []string `json:"topics"`
	Seq         uint64   `json:"seq"`
	LagSeconds  float64  `json:"lag_seconds"`
	Failures    int      `json:"failures"` // consecutive
	DeadLetters int      `json:"dead_letters"`
	Attempts    struct {
		Delivered int `json:"delivered"`
		Failed    int `json:"failed"`
		Refused   int `json:"refused"`
		Dead      int `json:"dead"`
	} `json:"attempts"`
}

// DeadLetter is a notice that a sink did not take (notify.DeadLetter).
type DeadLetter struct {
	Seq        uint64    `json:"seq"`
	EventID    string    `json:"event_id"`
	DetailType string    `json:"detail_type"`
	Topic      string    `json:"topic,omitempty"`
	Error      string    `json:"error"`
	Attempts   int       `json:"attempts"`
	Time       time.Time `json:"time"`
	Again      bool      `json:"again,omitempty"` // is being delivered again
}

// Webhooks reads and repeats what is delivered to sinks.
type Webhooks struct{ client *Client }

// Webhooks returns what is known of deliveries.
func (c *Client) Webhooks() Webhooks { return Webhooks{c} }

// Sinks returns all sinks, in the order of the server's configuration.
func (w Webhooks) Sinks(ctx context.Context) ([]Sink, error) {
	var all struct{ Sinks []Sink }
	_, err := w.client.read(ctx, "/notify/sinks", &all)
	return all.Sinks, err
}

// DeadLetters returns the dead letters of a sink, oldest first.
func (w Webhooks) DeadLetters(ctx context.Context, sink string) (all []DeadLetter, err error) {
	const page = 1000
	for after := uint64(0); ; after = all[len(all)-1].Seq {
		var next struct {
			DeadLetters []DeadLetter `json:"dead_letters"`
		}
		q := url.Values{"sink": {sink}, "after": {strconv.FormatUint(after, 10)}, "limit": {strconv.Itoa(page)}}
		if _, err := w.client.read(ctx, "/notify/dead-letters?"+q.Encode(), &next); err != nil {
			return nil, err
		}
		all = append(all, next.DeadLetters...)
		if len(next.DeadLetters) < page {
			return all, nil
		}
	}
}

// Redeliver delivers dead letters of a sink again, once each; without numbers, all of them. It
// returns how many there are.
func (w Webhooks) Redeliver(ctx context.Context, sink string, seqs ...uint64) (n int, err error) {
	q := url.Values{"sink": {sink}}
	for _, seq := range seqs {
		q.Add("seq", strconv.FormatUint(seq, 10))
	}
	var answer struct{ Redelivering int }
	err = w.client.change(ctx, http.MethodPost, "/notify/redeliver?"+q.Encode(), nil, &answer)
	return answer.Redelivering, err
}
