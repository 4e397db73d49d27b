package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// ReadTable reads a trace from a CSV table with one row per player. Rows of one ticket
// share its id. The columns at, ticket and player are required; patience_seconds and
// population are optional. Attributes are columns named by type and name, such as
// N:skill, S:mode, SL:maps (values separated by |) and SDM:prefs (key=number, separated
// by |); latencies are columns such as ms:eu-west-1. An empty cell means that the player
// has no such value.
func ReadTable(r io.Reader) (*Trace, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord = true
	head, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	columns := append([]string(nil), head...)
	if err := checkColumns(columns); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	t, known := &Trace{}, map[string]int{}
	for n := 2; ; n++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = t.row(columns, row, known)
		}
		if err != nil {
			return nil, fmt.Errorf("read trace: row %d: %w", n, err)
		}
	}
	for i := range t.Tickets {
		if err := t.Tickets[i].check(); err != nil {
			return nil, fmt.Errorf("read trace: %w", err)
		}
	}
	t.sort()
	return t, nil
}

func checkColumns(columns []string) error {
	missing := map[string]bool{"at": true, "ticket": true, "player": true}
	for _, c := range columns {
		kind, name, typed := strings.Cut(c, ":")
		switch {
		case missing[c]:
			delete(missing, c)
		case c == "patience_seconds" || c == "population":
		case typed && name != "" && (kind == "N" || kind == "S" || kind == "SL" || kind == "SDM" || kind == "ms"):
		default:
			return fmt.Errorf("column %q is not known, or there twice", c)
		}
	}
	for _, name := range []string{"at", "ticket", "player"} {
		if missing[name] {
			return fmt.Errorf("there is no column %q", name)
		}
	}
	return nil
}

func (t *Trace) row(columns, row []string, known map[string]int) error {
	var ticket Ticket
	var player Player
	for i, c := range columns {
		if row[i] == "" {
			continue
		}
		if err := cell(&ticket, &player, c, row[i]); err != nil {
			return fmt.Errorf("column %s: %w", c, err)
		}
	}
	if at, ok := known[ticket.TicketID]; ok {
		t.Tickets[at].Players = append(t.Tickets[at].Players, player)
		return nil
	}
	if len(t.Tickets) == maxTickets {
		return fmt.Errorf("more than %d tickets", maxTickets)
	}
	known[ticket.TicketID] = len(t.Tickets)
	ticket.Players = []Player{player}
	t.Tickets = append(t.Tickets, ticket)
	return nil
}

func cell(t *Ticket, p *Player, column, text string) (err error) {
	kind, name, _ := strings.Cut(column, ":")
	switch kind {
	case "at":
		t.At, err = number(text)
	case "ticket":
		t.TicketID = text
	case "player":
		p.PlayerID = text
	case "population":
		t.Population = text
	case "patience_seconds":
		t.Patience, err = number(text)
	case "ms":
		var ms float64
		ms, err = number(text)
		if p.Latency == nil {
			p.Latency = map[string]float64{}
		}
		p.Latency[name] = ms
	default:
		var a Attribute
		a, err = attributeCell(kind, text)
		if p.Attributes == nil {
			p.Attributes = map[string]Attribute{}
		}
		p.Attributes[name] = a
	}
	return err
}

func attributeCell(kind, text string) (a Attribute, err error) {
	switch kind {
	case "N":
		var v float64
		v, err = number(text)
		a.N = &v
	case "S":
		a.S = &text
	case "SL":
		a.SL = strings.Split(text, "|")
	default:
		a.SDM = map[string]float64{}
		for _, pair := range strings.Split(text, "|") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return a, fmt.Errorf("%q is not key=number", pair)
			}
			if a.SDM[key], err = number(value); err != nil {
				return a, err
			}
		}
	}
	return a, err
}

// number reads a finite number: NaN and infinities cannot be ordered or judged by rules.
func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = fmt.Errorf("%q is no number", text)
	}
	return v, err
}
