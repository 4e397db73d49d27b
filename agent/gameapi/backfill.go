package gameapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// maxBackfill limits the players of a backfill.
const maxBackfill = 200

// wirePlayer is a player in a request to Muster.
type wirePlayer struct {
	PlayerID   string                    `json:"PlayerId"`
	Team       string                    `json:"Team,omitempty"`
	Attributes map[string]map[string]any `json:"PlayerAttributes,omitempty"`
	LatencyMS  map[string]int            `json:"LatencyInMs,omitempty"`
}

// startBackfill is POST /backfill. A ticket id that the game session has used, by a request
// that may not have been answered, changes nothing.
func (p *Process) startBackfill(ctx context.Context, in BackfillRequest) (Backfill, error) {
	session, err := p.session()
	if err != nil {
		return Backfill{}, err
	}
	if in.TicketID != "" {
		p.mu.Lock()
		latest := p.kept.Backfill
		p.mu.Unlock()
		if latest != nil && latest.TicketID == in.TicketID { // a repeated request
			return *latest, nil
		}
	}
	match, err := p.match(in)
	if err != nil {
		return Backfill{}, err
	}
	known, err := match.players()
	if err != nil {
		return Backfill{}, err
	}
	var players []wirePlayer
	if in.Players == nil {
		players, err = p.matched(ctx, known)
	} else {
		players, err = wirePlayers(in.Players, known)
	}
	if err != nil {
		return Backfill{}, err
	}
	var answer struct {
		TicketID string `json:"TicketId"`
	}
	if err := p.request(ctx, "more players are searched for", "StartMatchBackfill", map[string]any{
		"GameSessionArn": session, "MatchmakingConfigurationArn": match.Configuration, "TicketId": in.TicketID, "Players": players, "Repeatable": true,
	}, &answer); err != nil {
		return Backfill{}, err
	}
	b := Backfill{answer.TicketID, Searching}
	p.change(func(k *kept) {
		if k.Backfill == nil || k.Backfill.TicketID != b.TicketID {
			k.Backfill = &b
		} else {
			b = *k.Backfill // its result was first
		}
	})
	return b, nil
}

// match returns the match of the game session, with the configuration that a request names.
func (p *Process) match(in BackfillRequest) (m matchData, err error) {
	if err := p.isReady(); err != nil {
		return m, err
	}
	p.mu.Lock()
	var text json.RawMessage
	if p.kept.Session != nil {
		text = p.kept.Session.Match
	}
	p.mu.Unlock()
	if text != nil && json.Unmarshal(text, &m) != nil {
		m = matchData{}
	}
	if in.Configuration != "" {
		m.Configuration = in.Configuration
	}
	switch {
	case len(in.TicketID) > maxID:
		return m, checkID("ticket_id", in.TicketID)
	case m.Configuration == "":
		return m, invalid("configuration", "the game session was not made by matchmaking, so that configuration is required", "name the ARN of a matchmaking configuration")
	}
	return m, nil
}

// players returns the players of the match, team by team.
func (m matchData) players() ([]wirePlayer, error) {
	var all []wirePlayer
	for _, t := range m.Teams {
		for _, one := range t.Players {
			player := wirePlayer{PlayerID: one.PlayerID, Team: t.Name, Attributes: map[string]map[string]any{}}
			for name, a := range one.Attributes {
				attribute, err := wireAttribute(a.Value)
				if err != nil {
					return nil, fmt.Errorf("attribute %s of the match: %w", name, err)
				}
				player.Attributes[name] = attribute
			}
			all = append(all, player)
		}
	}
	return all, nil
}

// matched returns those of the match's players who are in the game session.
func (p *Process) matched(ctx context.Context, known []wirePlayer) ([]wirePlayer, error) {
	here, err := p.players(ctx, "active")
	if err != nil {
		return nil, err
	}
	active := map[string]bool{}
	for _, one := range here.Players {
		active[one.PlayerID] = true
	}
	all := slices.DeleteFunc(known, func(one wirePlayer) bool { return !active[one.PlayerID] })
	if len(all) == 0 {
		return nil, problem(http.StatusConflict, "no-players", "players", "no player of the match is active in the game session", "accept a player first, or name the players")
	}
	return all, nil
}

// wirePlayers converts the players of a request. Of known ones, the team and the attributes
// may be left out.
func wirePlayers(named []BackfillPlayer, known []wirePlayer) ([]wirePlayer, error) {
	if len(named) == 0 || len(named) > maxBackfill {
		return nil, invalid("players", fmt.Sprintf("players has %d entries; it must have 1 to %d", len(named), maxBackfill), "leave it out for the match's players who are active")
	}
	all := make([]wirePlayer, 0, len(named))
	for n, one := range named {
		member := fmt.Sprintf("players[%d]", n)
		if err := checkID(member+".player_id", one.PlayerID); err != nil {
			return nil, err
		}
		player := wirePlayer{PlayerID: one.PlayerID, Team: one.Team, LatencyMS: one.LatencyMS, Attributes: map[string]map[string]any{}}
		for name, value := range one.Attributes {
			attribute, err := wireAttribute(value)
			if err != nil {
				return nil, invalid(member+".attributes", fmt.Sprintf("the attribute %q must be a text, a number, a list of texts, or an object with numbers", name), "")
			}
			player.Attributes[name] = attribute
		}
		if at := slices.IndexFunc(known, func(k wirePlayer) bool { return k.PlayerID == one.PlayerID }); at >= 0 {
			player.Team = cmp.Or(player.Team, known[at].Team)
			if one.Attributes == nil {
				player.Attributes = known[at].Attributes
			}
		}
		all = append(all, player)
	}
	return all, nil
}

// wireAttribute converts a value to the form of Server SDK 5, which names the type.
func wireAttribute(value json.RawMessage) (map[string]any, error) {
	value = bytes.TrimSpace(value)
	if bytes.Equal(value, []byte("null")) {
		return nil, fmt.Errorf("null is no value")
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return map[string]any{"AttrType": "STRING", "S": text}, nil
	}
	var number float64
	if json.Unmarshal(value, &number) == nil {
		return map[string]any{"AttrType": "DOUBLE", "N": number}, nil
	}
	var list []string
	if json.Unmarshal(value, &list) == nil {
		return map[string]any{"AttrType": "STRING_LIST", "SL": list}, nil
	}
	var numbers map[string]float64
	if err := json.Unmarshal(value, &numbers); err != nil {
		return nil, err
	}
	return map[string]any{"AttrType": "STRING_DOUBLE_MAP", "SDM": numbers}, nil
}

// stopBackfill is DELETE /backfill/{id}.
func (p *Process) stopBackfill(ctx context.Context, ticketID string) error {
	session, err := p.session()
	if err != nil {
		return err
	}
	if err := checkID("ticket_id", ticketID); err != nil {
		return err
	}
	match, err := p.match(BackfillRequest{})
	if err != nil {
		return err
	}
	return p.request(ctx, "the search has ended", "StopMatchBackfill", map[string]any{
		"GameSessionArn": session, "MatchmakingConfigurationArn": match.Configuration, "TicketId": ticketID, "Players": []wirePlayer{},
	}, nil)
}
