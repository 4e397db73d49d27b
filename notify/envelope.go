package notify

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
)

// Envelope is an event of GameLift as Amazon EventBridge delivers it, and as the
// Message of an SNS notification carries it (developer guide, "Game session
// placement events" and "Matchmaking events").
type Envelope struct {
	Version    string         `json:"version"` // always "0"
	ID         string         `json:"id"`      // the event's; the same each time it is delivered
	DetailType string         `json:"detail-type"`
	Source     string         `json:"source"` // always aws.gamelift
	Account    string         `json:"account"`
	Time       string         `json:"time"`
	Region     string         `json:"region"`
	Resources  []string       `json:"resources"` // ARN of the queue or matchmaking configuration
	Detail     jsontext.Value `json:"detail"`
}

// notice is an event of the log that is to be sent to a sink.
type notice struct {
	seq   uint64
	event *event.Event
	body  []byte // the envelope
}

func newNotice(home arn.Home, e event.Entry) (notice, error) {
	body, err := envelope(home, e.Value)
	return notice{seq: e.Seq, event: e.Value, body: body}, err
}

// target returns the topic of the notice; "" if the queue or configuration names none.
func (n *notice) target() string { return n.event.Notice.Target }

// envelope returns the EventBridge JSON of an event that has a notice.
func envelope(home arn.Home, e *event.Event) ([]byte, error) {
	body, err := json.Marshal(Envelope{
		Version: "0", ID: e.ID, DetailType: e.Notice.DetailType, Source: "aws.gamelift",
		Account: home.Account, Time: published(e), Region: home.Region,
		Resources: []string{e.Notice.Source}, Detail: e.Notice.Detail,
	})
	if err != nil {
		return nil, fmt.Errorf("write notice of event %s: %w", e.ID, err)
	}
	return body, nil
}

// millisLayout is ISO 8601 in UTC with milliseconds.
const millisLayout = "2006-01-02T15:04:05.000Z"

// published returns the envelope's time. The samples in the developer guide have whole
// seconds in placement events and milliseconds in matchmaking events.
func published(e *event.Event) string {
	if e.Notice.DetailType == matchmakingType {
		return e.Time.UTC().Format(millisLayout)
	}
	return e.Time.UTC().Truncate(time.Second).Format(time.RFC3339)
}

const matchmakingType = "GameLift Matchmaking Event"

// subject returns what identifies notices that must stay in order when a sink sends
// several at a time: their placement, or else their matchmaking configuration.
func (n *notice) subject() string {
	var detail struct {
		PlacementID string `json:"placementId"`
	}
	if json.Unmarshal(n.event.Notice.Detail, &detail) == nil && detail.PlacementID != "" {
		return detail.PlacementID
	}
	return n.event.Notice.Source
}
