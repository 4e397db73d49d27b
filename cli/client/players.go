package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Player is what a server knows of a player (pages.PlayerPage).
type Player struct {
	ID      string         `json:"id"`
	Games   []PlayerGame   `json:"stays"` // newest first
	Tickets []PlayerTicket `json:"tickets"`
	Account *PlayerAccount `json:"account,omitempty"` // of the player API; nil: none, or the key has a scope
	Party   *PlayerParty   `json:"party,omitempty"`
}

// PlayerParty is the party that a player is in.
type PlayerParty struct {
	ID      string   `json:"id"`
	Leader  string   `json:"leader"`
	Members []string `json:"members"`
}

// PlayerGame is a player's time in one game session.
type PlayerGame struct {
	Session string    `json:"session"`
	FleetID string    `json:"fleet_id"`
	Status  string    `json:"status"`
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended,omitzero"`
	Reason  string    `json:"reason,omitempty"` // why the game session ended; "": its process ended it
}

// PlayerTicket is a matchmaking ticket that a player is or was in.
type PlayerTicket struct {
	ID            string    `json:"id"`
	Configuration string    `json:"configuration"`
	Status        string    `json:"status"`
	Started       time.Time `json:"started"`
}

// PlayerAccount is a player's account of the player API.
type PlayerAccount struct {
	Name    string    `json:"name,omitempty"`
	Created time.Time `json:"created"`
	Links   []string  `json:"links"`
	Banned  bool      `json:"banned"`
	Reason  string    `json:"reason,omitempty"`
	Until   time.Time `json:"until,omitzero"`
}

// Players reads and bans players.
type Players struct{ client *Client }

// Players returns the calls about players.
func (c *Client) Players() Players { return Players{c} }

// Get returns what is known of a player; raw is the whole document. A player of whom
// nothing is known has neither games nor tickets nor an account.
func (p Players) Get(ctx context.Context, id string) (player Player, raw json.RawMessage, err error) {
	var answer struct{ Data json.RawMessage }
	if _, err := p.client.read(ctx, "/console/api/views/player?"+url.Values{"id": {id}}.Encode(), &answer); err != nil {
		return player, nil, err
	}
	return player, answer.Data, json.Unmarshal(answer.Data, &player)
}

// Ban keeps a player with an account out until a time and ends all their logins; a time
// that has passed lifts the ban.
func (p Players) Ban(ctx context.Context, id string, until time.Time, reason string) error {
	in := struct {
		Until  time.Time `json:"until"`
		Reason string    `json:"reason,omitempty"`
	}{until.UTC(), reason}
	return p.client.change(ctx, http.MethodPut, "/player/v1/server/players/"+url.PathEscape(id)+"/ban", in, nil)
}
