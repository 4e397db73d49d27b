// Package matchdata reads and writes the matchmaker data that a game server receives
// with a game session (developer guide, "Work with matchmaker data"): who was
// matched, in which teams, with which attributes.
//
//	{"matchId": …, "matchmakingConfigurationArn": …,
//	 "teams": [{"name": …, "players": [{"playerId": …,
//	    "attributes": {NAME: {"attributeType": "DOUBLE", "valueAttribute": 23}}}]}],
//	 "autoBackfillMode": …, "autoBackfillTicketId": …}
package matchdata

import (
	"encoding/json"
	"fmt"

	"github.com/musterhq/muster/sdk/session"
)

// Data is the content of matchmaker data. The zero Data is that of a game session
// created without matchmaking.
type Data struct {
	MatchID              string `json:"matchId,omitempty"`
	ConfigurationARN     string `json:"matchmakingConfigurationArn,omitempty"`
	Teams                []Team `json:"teams"`
	AutoBackfillMode     string `json:"autoBackfillMode,omitempty"`     // MANUAL or AUTOMATIC
	AutoBackfillTicketID string `json:"autoBackfillTicketId,omitempty"` // of the service's automatic backfill
}

// Team is a team of a match.
type Team struct {
	Name    string
	Players []session.Player // Team is set, latencies are not
}

// Parse parses matchmaker data. An empty string yields the zero Data.
func Parse(text string) (Data, error) {
	var d Data
	if text == "" {
		return d, nil
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return Data{}, fmt.Errorf("matchmaker data: %w", err)
	}
	return d, nil
}

// Players returns all players, team by team.
func (d Data) Players() []session.Player {
	var all []session.Player
	for _, t := range d.Teams {
		all = append(all, t.Players...)
	}
	return all
}

// Player returns the player with an id.
func (d Data) Player(id string) (session.Player, bool) {
	for _, p := range d.Players() {
		if p.ID == id {
			return p, true
		}
	}
	return session.Player{}, false
}

// String returns the data in the form that Parse reads. The zero Data yields "".
func (d Data) String() string {
	if d.ConfigurationARN == "" && d.MatchID == "" && len(d.Teams) == 0 {
		return ""
	}
	text, err := json.Marshal(d)
	if err != nil {
		return "" // an attribute without a value, which Parse never returns
	}
	return string(text)
}

type wireTeam struct {
	Name    string       `json:"name"`
	Players []wirePlayer `json:"players"`
}

type wirePlayer struct {
	PlayerID   string                   `json:"playerId"`
	Attributes map[string]wireAttribute `json:"attributes,omitempty"`
}

type wireAttribute struct {
	Type  string          `json:"attributeType"`
	Value json.RawMessage `json:"valueAttribute"`
}

// UnmarshalJSON reads a team.
func (t *Team) UnmarshalJSON(b []byte) error {
	var w wireTeam
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	t.Name, t.Players = w.Name, nil
	for _, wp := range w.Players {
		p := session.Player{ID: wp.PlayerID, Team: w.Name}
		for name, wa := range wp.Attributes {
			text, err := json.Marshal(map[string]json.RawMessage{wa.Type: wa.Value})
			if err != nil {
				return err
			}
			a, err := session.ParseAttribute(string(text))
			if err != nil {
				return fmt.Errorf("player %q, attribute %q: %w", wp.PlayerID, name, err)
			}
			if p.Attributes == nil {
				p.Attributes = map[string]session.Attribute{}
			}
			p.Attributes[name] = a
		}
		t.Players = append(t.Players, p)
	}
	return nil
}

// MarshalJSON writes a team.
func (t Team) MarshalJSON() ([]byte, error) {
	w := wireTeam{Name: t.Name, Players: []wirePlayer{}}
	for _, p := range t.Players {
		wp := wirePlayer{PlayerID: p.ID}
		for name, a := range p.Attributes {
			value, err := json.Marshal(a.Value())
			if err != nil {
				return nil, err
			}
			if wp.Attributes == nil {
				wp.Attributes = map[string]wireAttribute{}
			}
			wp.Attributes[name] = wireAttribute{Type: typeName(a), Value: value}
		}
		w.Players = append(w.Players, wp)
	}
	return json.Marshal(w)
}

func typeName(a session.Attribute) string {
	switch a.Value().(type) {
	case string:
		return "STRING"
	case float64:
		return "DOUBLE"
	case []string:
		return "STRING_LIST"
	case map[string]float64:
		return "STRING_DOUBLE_MAP"
	}
	return ""
}
