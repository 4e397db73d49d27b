package client

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// Sessions finds game sessions.
type Sessions struct{ client *Client }

// Sessions returns the calls about game sessions.
func (c *Client) Sessions() Sessions { return Sessions{c} }

// GameSessionID returns the ARN of a game session, from that, its id or name, or an
// unambiguous beginning or end of its id.
func (s Sessions) GameSessionID(ctx context.Context, id string) (string, error) {
	if strings.HasPrefix(id, "arn:") {
		return id, nil
	}
	var answer struct {
		Data struct {
			Sessions []listed
		}
	}
	if _, err := s.client.read(ctx, "/console/api/views/sessions?"+url.Values{"text": {id}}.Encode(), &answer); err != nil {
		return "", err
	}
	if len(answer.Data.Sessions) == 0 {
		var err error
		if answer.Data.Sessions, err = s.kept(ctx); err != nil {
			return "", err
		}
	}
	found, err := pick("game session", "muster sessions", id, answer.Data.Sessions,
		func(g listed) string { return g.ID[strings.LastIndex(g.ID, "/")+1:] }, func(g listed) string { return g.Name })
	return found.ID, err
}

// SessionEnd is how a game session ended (pages.SessionPage).
type SessionEnd struct {
	Ended  time.Time `json:"ended,omitzero"`
	Reason string    `json:"reason,omitempty"` // the GameSessionStatusReason, or else the code of the event by which its process ended; "": its process ended it
	How    string    `json:"how,omitempty"`    // its process ended, for people
}

// End returns how a game session ended.
func (s Sessions) End(ctx context.Context, arn string) (SessionEnd, error) {
	var answer struct{ Data SessionEnd }
	_, err := s.client.read(ctx, "/console/api/views/session?"+url.Values{"id": {arn}}.Encode(), &answer)
	return answer.Data, err
}

// listed is a game session in a list.
type listed struct{ ID, Name string }

// kept returns all game sessions, with those that ended long ago, which the view leaves out.
func (s Sessions) kept(ctx context.Context) ([]listed, error) {
	fleets, err := s.client.Fleets(ctx)
	if err != nil {
		return nil, err
	}
	var all []listed
	for _, f := range fleets {
		for in := (map[string]any{"FleetId": f.ID, "Limit": 100}); ; {
			var page struct {
				GameSessions []struct {
					GameSessionID string `json:"GameSessionId"`
					Name          string
				}
				NextToken string
			}
			if err := s.client.Call(ctx, "DescribeGameSessions", in, &page); err != nil {
				return nil, err
			}
			for _, g := range page.GameSessions {
				all = append(all, listed{g.GameSessionID, g.Name})
			}
			if page.NextToken == "" {
				break
			}
			in["NextToken"] = page.NextToken
		}
	}
	return all, nil
}
