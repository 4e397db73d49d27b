package terminal

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/plain"
)

// mostNotable is how many of the last notable events the status shows.
const mostNotable = 8

// parts are what the lights of a status judge, and words its states.
var (
	parts = map[string]string{"Match": "matchmaking", "Place": "placement", "Connect": "game servers"}
	words = map[string]string{"ok": "OK", "warn": "WARNING", "fail": "FAILED", "idle": "IDLE"}
)

// Status shows whether players can play now, where, and what happened lately that is worth
// knowing.
func (t *Terminal) Status(ctx context.Context) error {
	return t.show(ctx, func(ctx context.Context) (table, error) {
		s, raw, err := t.Client.Status(ctx)
		return table{data: raw, write: func() error { return t.writeStatus(s) }}, err
	})
}

func (t *Terminal) writeStatus(s client.Status) error {
	word := func(state string) string { return cmp.Or(words[state], state) }
	lights := Table{Head: []string{"STATUS", "PART", "NOW"}}
	for _, l := range s.Lights {
		lights.Rows = append(lights.Rows, []string{word(l.State), cmp.Or(parts[l.Name], l.Name), l.Text})
	}
	if err := t.writeTable(lights); err != nil {
		return err
	}
	fmt.Fprintln(t.Out)
	if s.First {
		return t.line("There is no fleet yet: make one with 'muster apply', or begin with " + t.Client.Endpoint + "/docs/ten-minutes.html.")
	}
	if err := t.line(totalsLine(s)); err != nil {
		return err
	}
	if len(s.Locations) > 0 {
		at := Table{Head: []string{"STATUS", "LOCATION", "INSTANCES", "PROCESSES", "FREE", "SESSIONS", "PLAYERS", "REASON"}}
		for _, l := range s.Locations {
			instances := "-" // in ANYWHERE fleets there are none
			if l.Desired+l.Active+l.Idle+l.Pending+l.Terminating > 0 {
				instances = instanceCounts(client.Fleet{}, l.FleetLoad)
			}
			at.Rows = append(at.Rows, []string{word(l.State), l.Location, instances, strconv.Itoa(l.Processes),
				strconv.Itoa(l.Free), strconv.Itoa(l.Sessions), fmt.Sprintf("%d/%d", l.Players, l.MaxPlayers), cmp.Or(l.Reason, "-")})
		}
		fmt.Fprintln(t.Out)
		if err := t.writeTable(at); err != nil {
			return err
		}
	}
	if len(s.Notable) == 0 {
		return nil
	}
	lately := Table{Head: []string{"STATUS", "AGO", "TIMES", "EVENT", "LAST"}}
	for _, n := range s.Notable[:min(len(s.Notable), mostNotable)] {
		kind := word(n.State)
		if n.State == "idle" { // it is a change, neither good nor bad
			kind = "-"
		}
		lately.Rows = append(lately.Rows, []string{kind, since(n.At), strconv.Itoa(n.Times), n.Code, n.Text})
	}
	fmt.Fprintln(t.Out)
	return t.writeTable(lately)
}

// totalsLine says how much is played, waits and is free.
func totalsLine(s client.Status) string {
	n := s.Totals
	waits := "nothing waits"
	if n.Waiting+n.Pending > 0 {
		waits = fmt.Sprintf("waiting: %s, %s", plain.Count(n.Waiting, "ticket"), plain.Count(n.Pending, "placement"))
	}
	text := fmt.Sprintf("%s in %s; %s; %s could start now", plain.Count(n.Players, "player"), plain.Count(n.Sessions, "game session"),
		waits, plain.Count(n.Free, "more game session"))
	if n.Hosts > 0 {
		text += "; " + plain.Count(n.Hosts, "host")
	}
	if n.HostsAway > 0 {
		text += fmt.Sprintf(", of which %d away", n.HostsAway)
	}
	return text + "."
}
