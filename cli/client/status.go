package client

import (
	"context"
	"encoding/json"
	"time"
)

// Status says whether players can play now (pages.Now).
type Status struct {
	Lights []struct {
		Name  string `json:"name"` // Match, Place or Connect
		State string `json:"state"`
		Text  string `json:"text"`
	} `json:"lights"`
	Totals struct {
		Players   int `json:"players"`
		Sessions  int `json:"sessions"`
		Waiting   int `json:"waiting"` // matchmaking tickets
		Pending   int `json:"pending"` // placements
		Free      int `json:"free"`    // game sessions that could start now
		Hosts     int `json:"hosts"`
		HostsAway int `json:"hosts_away"`
	} `json:"totals"`
	Locations []struct {
		Location string `json:"location"`
		State    string `json:"state"`
		Reason   string `json:"reason,omitempty"`
		FleetLoad
	} `json:"locations"`
	Notable []struct {
		At    time.Time `json:"at"` // of the newest
		State string    `json:"state"`
		Code  string    `json:"code"`
		Text  string    `json:"text"`
		Times int       `json:"times"`
	} `json:"notable"` // newest first
	First bool `json:"first"` // there is no fleet
}

// Status returns whether players can play now; raw is the whole document.
func (c *Client) Status(ctx context.Context) (s Status, raw json.RawMessage, err error) {
	var answer struct{ Data json.RawMessage }
	if _, err := c.read(ctx, "/console/api/views/now", &answer); err != nil {
		return s, nil, err
	}
	return s, answer.Data, json.Unmarshal(answer.Data, &s)
}
