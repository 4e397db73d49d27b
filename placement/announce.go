package placement

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// DetailType is the detail-type of placement events (EventBridge).
const DetailType = "GameLift Queue Placement Event"

// detail is the published payload of a placement event (developer guide, "Game session
// placement events"). There the port is a string.
type detail struct {
	Type          string       `json:"type"`
	PlacementID   string       `json:"placementId"`
	Port          string       `json:"port,omitzero"`
	GameSessionID string       `json:"gameSessionArn,omitzero"`
	IPAddress     string       `json:"ipAddress,omitzero"`
	DNSName       string       `json:"dnsName,omitzero"`
	StartTime     string       `json:"startTime"`
	EndTime       string       `json:"endTime"`
	Region        string       `json:"gameSessionRegion,omitzero"`
	Placed        []placedInfo `json:"placedPlayerSessions,omitzero"`
	EventData     string       `json:"customEventData,omitzero"`
}

type placedInfo struct {
	PlayerID        string `json:"playerId"`
	PlayerSessionID string `json:"playerSessionId"`
}

// ends maps each final status to its names in events and metrics.
var ends = map[Status]struct {
	code      event.Code
	published string // type of the published event
	metric    string // published name of the counter
}{
	Fulfilled: {event.PlacementFulfilled, "PlacementFulfilled", "PlacementsSucceeded"},
	Cancelled: {event.PlacementCancelled, "PlacementCancelled", "PlacementsCanceled"},
	TimedOut:  {event.PlacementTimedOut, "PlacementTimedOut", "PlacementsTimedOut"},
	Failed:    {event.PlacementFailed, "PlacementFailed", "PlacementsFailed"},
}

// announce appends the event of a placement's end and counts it once it is durable.
func (s *Service) announce(tx *store.Tx, p *Placement) {
	q := s.t.queues.Get(tx, p.Queue)
	e := event.Event{
		Code: ends[p.Status].code, Resource: p.ID, Message: p.Reason,
		Notice: &event.Notice{DetailType: DetailType, Source: s.Queues.ARN(p.Queue)},
	}
	d := detail{Type: ends[p.Status].published, PlacementID: p.ID, StartTime: stamp(p.Started), EndTime: stamp(p.Ended)}
	if q != nil {
		e.Notice.Target, d.EventData = q.Target, q.EventData
	}
	if p.Status == Fulfilled {
		e.GameSessionID, e.Location = p.GameSessionID, p.Location
		d.Port, d.GameSessionID, d.IPAddress, d.DNSName, d.Region = strconv.Itoa(p.Port), p.GameSessionID, p.IPAddress, p.DNSName, p.Location
		for _, placed := range p.Placed {
			d.Placed = append(d.Placed, placedInfo(placed))
		}
	}
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // a plain struct
	}
	e.Notice.Detail = raw
	s.events.Append(tx, e)
	tx.OnCommit(func() {
		s.metrics.ended(p)
		s.traceEnd(p)
	})
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
