package pages

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/fault"
)

// TicketRow is a ticket in a list.
type TicketRow struct {
	ID            string      `json:"id"`
	Configuration string      `json:"configuration"`
	Status        life.Status `json:"status"`
	Started       time.Time   `json:"started"`
	Ended         time.Time   `json:"ended,omitzero"`
	Players       []string    `json:"players"`
	Backfill      bool        `json:"backfill,omitempty"`
	Reason        string      `json:"reason,omitempty"`
	Match         string      `json:"match,omitempty"`
	Session       string      `json:"session,omitempty"`
}

func ticketRow(t *life.Ticket) TicketRow {
	row := TicketRow{
		ID: t.ID, Configuration: t.Configuration, Status: t.Status, Started: t.Started, Ended: t.Ended, Players: []string{},
		Backfill: t.Backfill, Reason: t.Message, Match: t.MatchID, Session: t.GameSessionID,
	}
	for _, m := range t.Members {
		row.Players = append(row.Players, m.PlayerID)
	}
	return row
}

// MatchmakerList is the page of all matchmaking configurations.
type MatchmakerList struct {
	Matchmakers []MatchmakerRow `json:"matchmakers"`
}

// MatchmakerRow is a matchmaking configuration in the list.
type MatchmakerRow struct {
	Name    string   `json:"name"`
	RuleSet string   `json:"rule_set"`
	Open    int      `json:"open"` // tickets that have not ended
	Done    int      `json:"done"` // in the range
	Failed  int      `json:"failed"`
	P50     *float64 `json:"p50"` // until matched, in seconds
	P90     *float64 `json:"p90"`
	Placed  *float64 `json:"p90_place"` // from the match, and its acceptance, to the game session
	Spark   Series   `json:"spark"`
}

// Matchmakers returns the page of all matchmaking configurations.
func (p *Pages) Matchmakers(s Range) *MatchmakerList {
	out, view, now := &MatchmakerList{Matchmakers: []MatchmakerRow{}}, p.Store.View(), time.Now()
	for c := range p.Matches.Configurations.After(view, "") {
		row := MatchmakerRow{Name: c.Name, RuleSet: c.RuleSet, Open: p.Matches.Active(view, c.Name)}
		if h := p.configuration(c.Name); h != nil {
			counts, took := h.in(now, s)
			row.Done, row.Failed = counts[string(life.Completed)], counts[string(life.Failed)]+counts[string(life.TimedOut)]
			matching := took[string(flexmatch.Matching)]
			row.P50, row.P90 = pointer(matching.quantile(.5)), pointer(matching.quantile(.9))
			row.Placed = pointer(took[string(flexmatch.Placing)].quantile(.9))
			row.Spark = p.series(&h.history, now, s, []string{string(life.Completed)}, nil)
		}
		out.Matchmakers = append(out.Matchmakers, row)
	}
	return out
}

// Matchmaker is the page of a matchmaking configuration.
type Matchmaker struct {
	Name       string         `json:"name"`
	RuleSet    string         `json:"rule_set"`
	Mode       string         `json:"mode"`
	Queues     []string       `json:"queues"`
	Timeout    int64          `json:"timeout_ms"`
	Acceptance bool           `json:"acceptance"`
	Counts     map[string]int `json:"counts"` // of the range
	Series     Series         `json:"series"`
	Match      StageWaits     `json:"match"`
	Accept     *StageWaits    `json:"accept,omitempty"` // if players are asked
	Place      *StageWaits    `json:"place,omitempty"`  // if matches are placed by a queue
	Open       []TicketRow    `json:"open"`             // longest waiting first, at most 200
	OpenAll    int            `json:"open_all"`
	Ended      []TicketRow    `json:"ended"` // newest first
}

// StageWaits says how long tickets were in a stage.
type StageWaits struct {
	Quantiles map[string]*float64 `json:"quantiles"` // of the range, in seconds
	Waits     Series              `json:"waits"`
}

// Matchmaker returns the page of a matchmaking configuration. Errors: NotFound.
func (p *Pages) Matchmaker(name string, s Range) (*Matchmaker, error) {
	view, now := p.Store.View(), time.Now()
	c := p.Matches.Configurations.Get(view, name)
	if c == nil {
		return nil, fault.Missing("Name: matchmaking configuration %.128q does not exist", name)
	}
	out := &Matchmaker{
		Name: c.Name, RuleSet: c.RuleSet, Mode: string(c.Mode), Queues: c.Queues, Timeout: c.RequestTimeout.Milliseconds(), Acceptance: c.AcceptanceRequired,
		Counts: map[string]int{}, Open: []TicketRow{}, Ended: []TicketRow{},
	}
	var open []*life.Ticket
	for t := range p.Matches.Open(view, c.Name) {
		open = append(open, t)
	}
	out.OpenAll = len(open)
	// Many start at one time, in one commit: the order must not differ from view to view.
	slices.SortFunc(open, func(a, b *life.Ticket) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
	})
	for _, t := range open[:min(len(open), barsMost)] {
		out.Open = append(out.Open, ticketRow(t))
	}
	if h := p.configuration(c.Name); h != nil {
		for _, t := range h.ended.list() {
			out.Ended = append(out.Ended, ticketRow(t))
		}
		counts, took := h.in(now, s)
		out.Counts = counts
		out.Series = p.series(&h.history, now, s, []string{"created", string(life.Completed), string(life.TimedOut), string(life.Failed), string(life.Cancelled)}, nil)
		stage := func(of flexmatch.Stage) *StageWaits {
			return &StageWaits{took[string(of)].quantiles(), p.waits(&h.history, now, s, string(of))}
		}
		out.Match = *stage(flexmatch.Matching)
		if c.AcceptanceRequired {
			out.Accept = stage(flexmatch.Accepting)
		}
		if c.Mode == flexmatch.WithQueue {
			out.Place = stage(flexmatch.Placing)
		}
	}
	return out, nil
}

// Ticket is a ticket's page.
type Ticket struct {
	Ticket *flexmatch.Ticket `json:"ticket"`
	Match  *flexmatch.Match  `json:"match,omitempty"`
}

// Ticket returns a ticket's page. Errors: NotFound.
func (p *Pages) Ticket(ctx context.Context, id string) (*Ticket, error) {
	d, err := p.Matches.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, fault.Missing("TicketId: ticket %.128q does not exist", id)
	}
	out := &Ticket{Ticket: d.Ticket}
	if d.Ticket.MatchID == "" {
		return out, nil
	}
	out.Match, err = p.Matches.Match(ctx, d.Ticket.MatchID)
	return out, err
}
