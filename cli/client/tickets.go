package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/flexmatch/explain"
)

// TicketExplanation is a ticket's status and, while it waits, why
// (flexmatch.Explanation).
type TicketExplanation struct {
	Ticket struct {
		ID            string    `json:"id"`
		Configuration string    `json:"configuration"`
		Status        string    `json:"status"`
		Reason        string    `json:"reason,omitzero"`
		Message       string    `json:"message,omitzero"`
		Started       time.Time `json:"started"`
		Ended         time.Time `json:"ended,omitzero"`
		Deadline      time.Time `json:"deadline"`
		MatchID       string    `json:"match_id,omitzero"`
		Unplaced      int       `json:"unplaced,omitzero"`
		GameSessionID string    `json:"game_session_id,omitzero"`
		Members       []struct {
			PlayerID string `json:"p"`
			Answer   string `json:"a,omitzero"` // to a proposed match
		} `json:"members"`
	} `json:"ticket"`
	Waiting *explain.Explanation `json:"waiting,omitzero"`
	Late    *explain.Explanation `json:"late,omitzero"`

	Placement *Explanation `json:"-"` // of its latest match, if it is being placed or found no place
}

// Matchmaking reads what matchmaking does.
type Matchmaking struct{ client *Client }

// Matchmaking returns the calls about matchmaking.
func (c *Client) Matchmaking() Matchmaking { return Matchmaking{c} }

// Ticket is a ticket in a list (pages.TicketRow).
type Ticket struct {
	ID            string    `json:"id"`
	Configuration string    `json:"configuration"`
	Status        string    `json:"status"`
	Started       time.Time `json:"started"`
	Ended         time.Time `json:"ended,omitzero"`
	Players       []string  `json:"players"`
	Backfill      bool      `json:"backfill,omitempty"`
	Reason        string    `json:"reason,omitempty"`
	Session       string    `json:"session,omitempty"`
}

// Tickets returns the tickets of a configuration, or of all if its name is "": those that
// have not ended, the longest waiting first and at most 200 of each configuration, and then
// the last that ended.
func (m Matchmaking) Tickets(ctx context.Context, configuration string) ([]Ticket, error) {
	names := []string{configuration}
	if configuration == "" {
		var all struct {
			Data struct{ Matchmakers []struct{ Name string } }
		}
		if _, err := m.client.read(ctx, "/console/api/views/matchmakers", &all); err != nil {
			return nil, err
		}
		names = nil
		for _, c := range all.Data.Matchmakers {
			names = append(names, c.Name)
		}
	}
	open, ended := []Ticket{}, []Ticket{}
	for _, name := range names {
		var one struct {
			Data struct{ Open, Ended []Ticket }
		}
		if _, err := m.client.read(ctx, "/console/api/views/matchmaker?"+url.Values{"name": {name}}.Encode(), &one); err != nil {
			return nil, err
		}
		open, ended = append(open, one.Data.Open...), append(ended, one.Data.Ended...)
	}
	return append(open, ended...), nil
}

// find returns the id of the ticket that text, which is no whole id, stands for: an unambiguous
// beginning or end of an id in the list of Tickets. It returns unknown if the list cannot be read.
func (m Matchmaking) find(ctx context.Context, text string, unknown error) (string, error) {
	listed, err := m.Tickets(ctx, "")
	if err != nil {
		return "", unknown // a key for one configuration
	}
	var all []string
	for _, t := range listed {
		all = append(all, t.ID)
	}
	return pickID("ticket", "muster tickets", text, all)
}

// ExplainTicket returns why a ticket waits; id is its id, or a beginning or an end that no other id
// has. raw is the whole response, with the placement of the ticket's latest match as its member
// placement if that is what it waits for, or found no place, and the caller may read it.
func (m Matchmaking) ExplainTicket(ctx context.Context, id string) (e *TicketExplanation, raw json.RawMessage, err error) {
	read := func(id string) (json.RawMessage, error) {
		return m.client.read(ctx, "/console/api/tickets/"+url.PathEscape(id)+"/explain", &e)
	}
	if raw, err = read(id); missing(err) {
		if id, err = m.find(ctx, id, err); err == nil {
			raw, err = read(id)
		}
	}
	if err != nil || e.Ticket.MatchID == "" || e.Ticket.Status != "PLACING" && e.Ticket.Status != "FAILED" && e.Ticket.Unplaced == 0 {
		return e, raw, err
	}
	placement, whole, refused := m.client.Placements().explain(ctx, e.Ticket.MatchID) // the placement has the id of the match
	if _, ok := errors.AsType[*Error](refused); ok {
		return e, raw, nil // it is not kept any more, or it is in a queue out of the scope of the key
	}
	if refused != nil {
		return nil, nil, refused
	}
	e.Placement = placement
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, nil, err
	}
	members["placement"] = whole
	raw, err = json.Marshal(members)
	return e, raw, err
}

// Explain returns why the tickets of a configuration wait; raw is the whole response.
func (m Matchmaking) Explain(ctx context.Context, configuration string) (v *explain.Overview, raw json.RawMessage, err error) {
	raw, err = m.client.read(ctx, "/console/api/matchmaking/"+url.PathEscape(configuration)+"/explain", &v)
	return v, raw, err
}

// maxTrace bounds the size of a trace, in bytes.
const maxTrace = 4 << 30

// Trace writes a configuration's tickets that were started since a time as
// JSON lines; the zero time means all that are kept.
func (m Matchmaking) Trace(ctx context.Context, configuration string, since time.Time, out io.Writer) error {
	query := url.Values{}
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339))
	}
	answer, err := m.client.open(ctx, http.MethodGet, "/console/api/matchmaking/"+url.PathEscape(configuration)+"/trace?"+query.Encode(), nil, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(out, io.LimitReader(answer.Body, maxTrace)); err != nil {
		return fmt.Errorf("read trace: %w", err)
	}
	return nil
}
