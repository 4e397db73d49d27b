package flexmatch

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// matchmakerData is the MatchmakerData of a game session (developer guide, "Working with
// matchmaker data"): who plays in which team, with the values that the rules saw. The
// JSON contains no spaces and autoBackfillTicketId comes last, because sample servers of
// AWS search it as text.
type matchmakerData struct {
	MatchID       string     `json:"matchId"`
	Configuration string     `json:"matchmakingConfigurationArn"`
	Teams         []dataTeam `json:"teams"`
	AutoMode      string     `json:"autoBackfillMode,omitzero"`
	AutoTicketID  string     `json:"autoBackfillTicketId,omitzero"`
}

type dataTeam struct {
	Name    string       `json:"name"`
	Players []dataPlayer `json:"players"`
}

type dataPlayer struct {
	ID         string               `json:"playerId"`
	Attributes map[string]dataValue `json:"attributes"`
}

type dataValue struct {
	Type  string `json:"attributeType"`
	Value any    `json:"valueAttribute"`
}

// dataTypes maps attribute types to their names in matchmaker data.
var dataTypes = map[ruleset.AttributeType]string{
	ruleset.String: "STRING", ruleset.Number: "DOUBLE", ruleset.StringSet: "STRING_LIST", ruleset.NumberMap: "STRING_DOUBLE_MAP",
}

func (s *Configurations) matchmakerData(c *Configuration, rs *ruleset.RuleSet, matchID string, players []Player, autoTicketID string) string {
	d := matchmakerData{
		MatchID: matchID, Configuration: s.ARN(c.Name), AutoMode: string(c.Backfill), AutoTicketID: autoTicketID,
	}
	for i := range rs.Instances {
		team := dataTeam{Name: rs.Instances[i].Name, Players: []dataPlayer{}}
		for j := range players {
			if players[j].Team == team.Name {
				team.Players = append(team.Players, dataPlayer{players[j].ID, dataValues(rs, &players[j])})
			}
		}
		d.Teams = append(d.Teams, team)
	}
	raw, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		panic(err) // plain structs; numbers are finite
	}
	return string(raw)
}

// playersIn returns the players whom the MatchmakerData of a game session names.
func playersIn(data string) (ids []string) {
	var d matchmakerData
	if json.Unmarshal([]byte(data), &d) != nil {
		return nil // not of matchmaking
	}
	for _, team := range d.Teams {
		for _, p := range team.Players {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// dataValues returns the values of declared attributes, defaults included.
func dataValues(rs *ruleset.RuleSet, p *Player) map[string]dataValue {
	values, missing := rs.Resolve(p.Given())
	out := make(map[string]dataValue, len(values))
	for i, a := range rs.Attributes {
		if slices.Contains(missing, a.Name) {
			continue // in a backfill ticket: the player is playing, but has no value for the rules
		}
		out[a.Name] = dataValue{dataTypes[a.Type], valueOf(a.Type, &values[i])}
	}
	return out
}

func valueOf(t ruleset.AttributeType, v *ruleset.Value) any {
	switch t {
	case ruleset.Number:
		return double(v.Number)
	case ruleset.String:
		return v.String
	case ruleset.NumberMap:
		out := make(map[string]double, len(v.Map))
		for k, n := range v.Map {
			out[k] = double(n)
		}
		return out
	}
	if v.Strings == nil {
		return []string{}
	}
	return v.Strings
}

// double is a number that always shows a fraction, as AWS writes it: 23.0.
type double float64

// MarshalJSON writes the shortest text that reads back as the same number.
func (d double) MarshalJSON() ([]byte, error) {
	text := strconv.AppendFloat(nil, float64(d), 'g', -1, 64)
	if !bytes.ContainsAny(text, ".e") {
		text = append(text, ".0"...)
	}
	return text, nil
}
