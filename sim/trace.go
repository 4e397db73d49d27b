package sim

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Trace is a record of real tickets, in order of arrival.
type Trace struct {
	Tickets []TraceTicket
}

// TraceTicket is one ticket of a trace: a line of JSON, with the members of
// StartMatchmaking under their names in the API.
type TraceTicket struct {
	At         float64       `json:"at"` // seconds from the begin of the trace
	TicketID   string        `json:"TicketId"`
	Players    []TracePlayer `json:"Players"`
	Patience   float64       `json:"patience_seconds,omitzero"` // after which the players cancelled; 0: they did not
	Population string        `json:"population,omitzero"`
}

// TracePlayer is a player as StartMatchmaking has it.
type TracePlayer struct {
	PlayerID   string                    `json:"PlayerId"`
	Attributes map[string]TraceAttribute `json:"PlayerAttributes,omitempty"`
	Latency    map[string]float64        `json:"LatencyInMs,omitempty"`
}

// TraceAttribute is an attribute value; exactly one member is set.
type TraceAttribute struct {
	S   *string            `json:"S,omitempty"`
	N   *float64           `json:"N,omitempty"`
	SL  []string           `json:"SL,omitempty"`
	SDM map[string]float64 `json:"SDM,omitempty"`
}

// maxTrace bounds the tickets of a trace, and maxLine a line of it in bytes.
const (
	maxTrace = 20_000_000
	maxLine  = 1 << 20
)

// ReadTrace reads a trace as JSON lines.
func ReadTrace(r io.Reader) (*Trace, error) {
	t := &Trace{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var ticket TraceTicket
		err := strict(lines.Bytes(), &ticket)
		if err == nil {
			err = ticket.check()
		}
		if err == nil && len(t.Tickets) == maxTrace {
			err = fmt.Errorf("more than %d tickets", maxTrace)
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

// sort puts the tickets in order of arrival; those that come together stay in theirs.
func (t *Trace) sort() {
	slices.SortStableFunc(t.Tickets, func(a, b TraceTicket) int { return cmp.Compare(a.At, b.At) })
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

func (t *TraceTicket) check() error {
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
			if _, err := a.given(); err != nil {
				return fmt.Errorf("ticket %s, player %s, attribute %s: %w", t.TicketID, p.PlayerID, name, err)
			}
		}
	}
	return nil
}

func (a TraceAttribute) given() (ruleset.Given, error) {
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

// Ends is when the last ticket of the trace arrives.
func (t *Trace) Ends() time.Duration {
	if len(t.Tickets) == 0 {
		return 0
	}
	return seconds(t.Tickets[len(t.Tickets)-1].At)
}

// replay gives a trace's tickets as arrivals. What a trace does not say of its
// players is drawn as the population of the same name says, else the first.
type replay struct {
	tickets []TraceTicket
	behave  map[string]*group
	rest    *group
}

func (t *Trace) play(s *Spec, seed uint64) source {
	r := &replay{tickets: t.Tickets, behave: map[string]*group{}}
	one := 1.0
	r.rest = &group{Population: &Population{Name: "trace", Accept: &one, Answer: constant(2)}}
	for i := range s.Populations {
		g := &group{Population: &s.Populations[i]}
		r.behave[g.Name] = g
		if i == 0 {
			r.rest = g
		}
	}
	random := rand.New(rand.NewPCG(seed, 1<<32))
	for _, g := range r.behave {
		g.rand = random
	}
	r.rest.rand = random
	return r
}

func (r *replay) next() (*arrival, bool, error) {
	if len(r.tickets) == 0 {
		return nil, false, nil
	}
	t := &r.tickets[0]
	r.tickets = r.tickets[1:]
	g := r.behave[t.Population]
	if g == nil {
		g = r.rest
	}
	a := &arrival{at: seconds(t.At), population: cmp.Or(t.Population, "trace"), id: t.TicketID, patience: seconds(t.Patience)}
	for _, p := range t.Players {
		a.answers = append(a.answers, g.answer())
		if g.Stay != nil {
			a.stays = append(a.stays, seconds(g.Stay.draw(g.rand)))
		}
		player := search.Player{ID: p.PlayerID, Latency: p.Latency, Attributes: make(map[string]ruleset.Given, len(p.Attributes))}
		for name, value := range p.Attributes {
			given, err := value.given()
			if err != nil {
				return nil, false, fmt.Errorf("ticket %s, attribute %s: %w", t.TicketID, name, err)
			}
			player.Attributes[name] = given
		}
		a.players = append(a.players, player)
	}
	return a, true, nil
}
