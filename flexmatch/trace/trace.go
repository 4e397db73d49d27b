package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Trace is a record of real tickets, in order of arrival.
type Trace struct {
	Tickets []Ticket
}

// Ticket is one ticket of a trace: a line of JSON, with the members of
// StartMatchmaking under their names in the API.
type Ticket struct {
	At         float64  `json:"at"` // seconds from the beginning of the trace
	TicketID   string   `json:"TicketId"`
	Players    []Player `json:"Players"`
	Patience   float64  `json:"patience_seconds,omitzero"` // seconds after which the players cancelled; 0 if they did not
	Population string   `json:"population,omitzero"`
}

// Player is a player as in StartMatchmaking.
type Player struct {
	PlayerID   string               `json:"PlayerId"`
	Attributes map[string]Attribute `json:"PlayerAttributes,omitempty"`
	Latency    map[string]float64   `json:"LatencyInMs,omitempty"`
}

// Attribute is an attribute value; exactly one member is set.
type Attribute struct {
	S   *string            `json:"S,omitempty"`
	N   *float64           `json:"N,omitempty"`
	SL  []string           `json:"SL,omitzero"`
	SDM map[string]float64 `json:"SDM,omitzero"`
}

// Bounds of a trace that is read.
const (
	maxTickets = 20_000_000
	maxLine    = 1 << 20 // bytes
)

// Read reads a trace as JSON lines.
func Read(r io.Reader) (*Trace, error) {
	t := &Trace{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var ticket Ticket
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		err := d.Decode(&ticket)
		if err == nil {
			err = ticket.check()
		}
		if err == nil && len(t.Tickets) == maxTickets {
			err = fmt.Errorf("more than %d tickets", maxTickets)
		}
		if err != nil {
			return nil, fmt.Errorf("read trace: line %d: %w", n, err)
		}
		t.Tickets = append(t.Tickets, ticket)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	t.sort()
	return t, nil
}

// sort sorts the tickets by arrival. The sort is stable.
func (t *Trace) sort() {
	slices.SortStableFunc(t.Tickets, func(a, b Ticket) int { return cmp.Compare(a.At, b.At) })
}

// Ends returns when the last ticket of the trace arrives.
func (t *Trace) Ends() time.Duration {
	if len(t.Tickets) == 0 {
		return 0
	}
	return time.Duration(min(t.Tickets[len(t.Tickets)-1].At, 1e9) * float64(time.Second)) // more would overflow
}

// Write writes a trace as JSON lines.
func (t *Trace) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	for i := range t.Tickets {
		if err := e.Encode(&t.Tickets[i]); err != nil {
			return fmt.Errorf("write trace: %w", err)
		}
	}
	return nil
}

func (t *Ticket) check() error {
	switch {
	case t.At < 0 || t.Patience < 0:
		return errors.New("times must not be negative")
	case t.TicketID == "":
		return errors.New("TicketId is required")
	case len(t.Players) < 1 || len(t.Players) > 10:
		return fmt.Errorf("ticket %s has %d players; from 1 to 10 are allowed", t.TicketID, len(t.Players))
	}
	for _, p := range t.Players {
		for name, a := range p.Attributes {
			if _, err := a.Given(); err != nil {
				return fmt.Errorf("ticket %s, player %s, attribute %s: %w", t.TicketID, p.PlayerID, name, err)
			}
		}
	}
	return nil
}

// Given returns the attribute as rules see it. It returns an error unless exactly one
// member is set.
func (a Attribute) Given() (ruleset.Given, error) {
	switch {
	case a.N != nil && a.S == nil && a.SL == nil && a.SDM == nil:
		return ruleset.Given{Type: ruleset.Number, Value: ruleset.Value{Number: *a.N}}, nil
	case a.S != nil && a.N == nil && a.SL == nil && a.SDM == nil:
		return ruleset.Given{Type: ruleset.String, Value: ruleset.Value{String: *a.S}}, nil
	case a.SL != nil && a.N == nil && a.S == nil && a.SDM == nil:
		return ruleset.Given{Type: ruleset.StringSet, Value: ruleset.Value{Strings: a.SL}}, nil
	case a.SDM != nil && a.N == nil && a.S == nil && a.SL == nil:
		return ruleset.Given{Type: ruleset.NumberMap, Value: ruleset.Value{Map: a.SDM}}, nil
	}
	return ruleset.Given{}, errors.New("exactly one of S, N, SL and SDM is required")
}
