package client

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"
)

// Explanation explains how a placement was decided so far (placement.Explanation).
type Explanation struct {
	Placement struct {
		ID            string    `json:"id"`
		Queue         string    `json:"queue"`
		Status        string    `json:"status"`
		Started       time.Time `json:"started"`
		Ended         time.Time `json:"ended,omitzero"`
		Deadline      time.Time `json:"deadline"`
		GameSessionID string    `json:"game_session_id,omitzero"`
		Location      string    `json:"location,omitzero"`
		Reason        string    `json:"reason,omitzero"`
	} `json:"placement"`
	Attempt *struct {
		Status string    `json:"status"`
		Began  time.Time `json:"began"`
		Place  Place     `json:"place"`
	} `json:"attempt,omitzero"` // at another deployment, in progress
	Rounds []Round `json:"rounds"`
	Now    *Round  `json:"now,omitzero"`
	Caps   []struct {
		Max   int   `json:"max"`
		From  int64 `json:"from_ms"`
		Until int64 `json:"until_ms,omitzero"`
	} `json:"caps,omitzero"`
}

// Round is one decision about a placement.
type Round struct {
	At         time.Time   `json:"at"`
	Cap        int         `json:"cap,omitzero"`
	Result     string      `json:"result"`
	More       int         `json:"more,omitzero"`
	Candidates []Candidate `json:"candidates,omitzero"`
}

// Candidate is a place and its outcome in a round.
type Candidate struct {
	Place   Place    `json:"place"`
	Outcome string   `json:"outcome"`
	Text    string   `json:"text,omitzero"`
	Latency *float64 `json:"latency,omitzero"` // mean of the players' latencies, in ms
	Failed  int      `json:"failed,omitzero"`
}

// Place is a location of a fleet, here or at a remote.
type Place struct {
	FleetID  string `json:"fleet_id"`
	Location string `json:"location"`
	Remote   string `json:"remote,omitzero"`
}

// Queue is a queue and its pending placements (placement.QueueState).
type Queue struct {
	Name         string   `json:"name"`
	ARN          string   `json:"arn"`
	Pending      int      `json:"pending"`
	AverageWait  int64    `json:"average_wait_ms"`
	Timeout      int64    `json:"timeout_ms"`
	Destinations []string `json:"destinations"`
}

// Placements reads what placement does.
type Placements struct{ client *Client }

// Placements returns the calls about placements.
func (c *Client) Placements() Placements { return Placements{c} }

// Explain returns the explanation of a placement; id is its id, or a beginning or an end that no
// other id has. raw is the whole response.
func (p Placements) Explain(ctx context.Context, id string) (e *Explanation, raw json.RawMessage, err error) {
	if e, raw, err = p.explain(ctx, id); !missing(err) {
		return e, raw, err
	}
	all, failed := p.ids(ctx)
	if failed != nil {
		return nil, nil, err // a key for one queue
	}
	if id, err = pickID("placement", queuePage, id, all); err != nil {
		return nil, nil, err
	}
	return p.explain(ctx, id)
}

// ids returns the ids of the placements that the pages of all queues list: those that
// wait, and the last that ended.
func (p Placements) ids(ctx context.Context) (all []string, err error) {
	queues, err := p.Queues(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range queues {
		var page struct {
			Data struct{ Waiting, Ended []struct{ ID string } }
		}
		if _, err := p.client.read(ctx, "/console/api/views/queue?"+url.Values{"name": {q.Name}}.Encode(), &page); err != nil {
			return nil, err
		}
		for _, listed := range slices.Concat(page.Data.Waiting, page.Data.Ended) {
			all = append(all, listed.ID)
		}
	}
	return all, nil
}

// explain is Explain for a whole id.
func (p Placements) explain(ctx context.Context, placementID string) (e *Explanation, raw json.RawMessage, err error) {
	raw, err = p.client.read(ctx, "/console/api/placements/"+url.PathEscape(placementID)+"/explain", &e)
	return e, raw, err
}

// Queues returns all queues.
func (p Placements) Queues(ctx context.Context) (all []Queue, err error) {
	_, err = p.client.read(ctx, "/console/api/queues", &all)
	return all, err
}
