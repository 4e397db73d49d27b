package pages

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// The cells of a heat map, one for each process.
const (
	cellFree       = 'f' // can take a game session
	cellStarting   = 'i' // connected, not ready
	cellActivating = 'a' // its game session is being activated
	cellPlaying    = 'p' // its game session is ACTIVE
	cellProtected  = 'P' // and protected
	cellAway       = 'w' // its connection is lost, and it may come back
	cellEnding     = 't'
)

// HostCells are the processes of a fleet on one machine, in the order in which they came.
type HostCells struct {
	ID        string `json:"id,omitempty"` // of the host; empty: a compute of an Anywhere fleet
	Name      string `json:"name"`
	Location  string `json:"location"`
	Connected bool   `json:"connected"`
	Draining  bool   `json:"draining,omitempty"`
	Cells     string `json:"cells"` // a letter for each process
	// Sessions has, of each process, the id of its game session after "gamesession/", or its own
	// id after "!". Fleets with more than 1,500 processes go without.
	Sessions  []string `json:"sessions,omitempty"`
	Instances int      `json:"instances,omitempty"`
	Starting  int      `json:"starting,omitempty"` // instances without a process
}

// FleetPage is a fleet's page.
type FleetPage struct {
	client.Fleet
	Hosts  []HostCells    `json:"hosts"`
	Counts map[string]int `json:"counts"` // of cells
	Events []EventRow     `json:"events"` // newest first
	Series *Series        `json:"series,omitempty"`
}

// EventRow is an event in a list.
type EventRow struct {
	Seq     uint64     `json:"seq"`
	At      time.Time  `json:"at"`
	Code    event.Code `json:"code"`
	Text    string     `json:"text,omitempty"`
	Session string     `json:"session,omitempty"`
}

// Fleet returns a fleet's page: its processes in the locations that reaches accepts.
// Errors: NotFound.
func (p *Pages) Fleet(ctx context.Context, id string, s Range, reaches func(location string) bool) (*FleetPage, error) {
	id = p.Home.FleetID(id)
	all := p.States()
	at := slices.IndexFunc(all, func(f client.Fleet) bool { return f.ID == id })
	if at < 0 {
		return nil, fault.Missing("FleetId: fleet %.128q does not exist", id)
	}
	view := p.Store.View()
	out := &FleetPage{Fleet: all[at], Counts: map[string]int{}, Hosts: p.hostCells(view, id, reaches), Events: []EventRow{}}
	for _, h := range out.Hosts {
		for _, c := range h.Cells {
			out.Counts[string(c)]++
		}
	}
	if h := p.fleet(id); h != nil {
		series := p.series(h, time.Now(), s, nil, []string{"players", "sessions", "processes", "free", "wanted", "there"})
		out.Series = &series
	}
	entries, err := p.Events.Read(ctx, event.Query{FleetID: id, NewestFirst: true, Limit: 30})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		out.Events = append(out.Events, EventRow{Seq: e.Seq, At: e.Value.Time, Code: e.Value.Code, Text: e.Value.Message, Session: e.Value.GameSessionID})
	}
	return out, nil
}

// namedMost is how many processes of a fleet lead to their game sessions one by one.
const namedMost = 1500

// hostCells returns the machines on which a fleet runs, by location and name.
func (p *Pages) hostCells(view store.Reader, fleetID string, reaches func(string) bool) []HostCells {
	var processes []*compute.Process
	for c := range p.Computes.Processes(view, fleetID, "") {
		if reaches(c.Location) {
			processes = append(processes, c)
		}
	}
	slices.SortFunc(processes, func(a, b *compute.Process) int {
		return cmp.Or(a.Initialized.Compare(b.Initialized), strings.Compare(a.Key, b.Key))
	})
	m := machines{}
	computes := map[string]bool{}
	for _, c := range processes {
		h := m.of(c.HostID, c.ComputeName, c.Location)
		cell, what := p.cell(view, c)
		h.letters = append(h.letters, cell)
		if len(processes) <= namedMost {
			h.Sessions = append(h.Sessions, what)
		}
		computes[c.ComputeName] = true
	}
	for i := range p.Instances.Instances(view, fleetID, "") {
		if !reaches(i.Location) {
			continue
		}
		h := m.of(i.HostID, i.ID, i.Location)
		if h.Instances++; !computes[i.ID] {
			h.Starting++
		}
	}
	for _, h := range m {
		if host := p.Instances.Host(view, h.ID); host != nil {
			h.Name, h.Connected, h.Draining = host.Name, host.Connected, host.Draining
		}
	}
	return m.list()
}

// machine is a machine whose cells are being collected.
type machine struct {
	HostCells
	letters []byte
}

// machines are the machines of a fleet by host id, or by the name of the compute in an
// Anywhere fleet.
type machines map[string]*machine

// of returns a machine, which is added if it is new.
func (m machines) of(hostID, computeName, location string) *machine {
	key := cmp.Or(hostID, "compute "+computeName)
	h := m[key]
	if h == nil {
		h = &machine{HostCells: HostCells{ID: hostID, Name: computeName, Location: location, Connected: true}}
		m[key] = h
	}
	return h
}

// list returns the machines by location and name.
func (m machines) list() []HostCells {
	out := []HostCells{}
	for _, h := range m {
		h.Cells = string(h.letters)
		out = append(out, h.HostCells)
	}
	slices.SortFunc(out, func(a, b HostCells) int {
		return cmp.Or(strings.Compare(a.Location, b.Location), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return out
}

// cell returns the letter of a process, and what it leads to.
func (p *Pages) cell(view store.Reader, c *compute.Process) (cell byte, what string) {
	what = "!" + c.ID
	var g *session.GameSession
	if c.GameSessionID != "" {
		g = p.Sessions.Live(view, c.GameSessionID)
		what = c.GameSessionID[strings.LastIndex(c.GameSessionID, "gamesession/")+len("gamesession/"):]
	}
	switch {
	case c.Status == compute.Terminating || c.Status == compute.Terminated:
		return cellEnding, what
	case c.Unreachable():
		return cellAway, what
	case c.Status == compute.Initialized:
		return cellStarting, what
	case g == nil:
		return cellFree, what
	case g.Status == session.Activating:
		return cellActivating, what
	case g.Protection == fleet.FullProtection:
		return cellProtected, what
	}
	return cellPlaying, what
}
