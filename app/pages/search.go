package pages

import (
	"context"
	"net/url"
	"strings"

	"github.com/musterhq/muster/auth"
)

// Hit is something that a search found.
type Hit struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
	To   string `json:"to"` // its page
}

// hitsMost is how many hits a search returns.
const hitsMost = 8

// finder collects the hits of a search; exact ones come first.
type finder struct {
	*Pages
	caller       auth.Caller
	text         string // in lower case
	exact, other []Hit
}

func (f *finder) full() bool { return len(f.exact)+len(f.other) >= 4*hitsMost }

// try adds a hit if one of the names contains the text.
func (f *finder) try(h Hit, names ...string) {
	for _, name := range append(names, h.Name) {
		name = strings.ToLower(name)
		switch {
		case name == f.text:
			f.exact = append(f.exact, h)
			return
		case strings.Contains(name, f.text):
			f.other = append(f.other, h)
			return
		}
	}
}

// Search returns what has an id, name or address like text, in the caller's scope.
func (p *Pages) Search(ctx context.Context, caller auth.Caller, text string) ([]Hit, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return []Hit{}, nil
	}
	f := &finder{Pages: p, caller: caller, text: strings.ToLower(text)}
	view := p.Store.View()
	for fl := range p.Fleets.All(view, "") {
		if arn := p.Home.OfFleet(fl.ID); caller.Reaches(arn) && may(caller, "DescribeFleetAttributes") {
			f.try(Hit{Kind: "fleet", Name: fl.Name, Note: fl.ID, To: to("/fleets?id=", fl.ID)}, fl.ID, arn)
		}
	}
	if may(caller, "DescribeGameSessionQueues") {
		for _, q := range p.Placements.Overview() {
			if caller.Reaches(q.ARN) {
				f.try(Hit{Kind: "queue", Name: q.Name, To: to("/queues?name=", q.Name)}, q.ARN)
			}
		}
	}
	for c := range p.Matches.Configurations.After(view, "") {
		if caller.Reaches(p.Matches.Configurations.ARN(c.Name)) && may(caller, "DescribeMatchmakingConfigurations") {
			f.try(Hit{Kind: "matchmaker", Name: c.Name, To: to("/matchmaking?name=", c.Name)})
			for t := range p.Matches.Open(view, c.Name) {
				if f.full() {
					break
				}
				f.try(Hit{Kind: "ticket", Name: t.ID, Note: string(t.Status), To: to("/tickets?id=", t.ID)})
			}
		}
	}
	if may(caller, auth.ReadHosts) && !caller.Scoped() {
		for h := range p.Instances.Hosts(view) {
			f.try(Hit{Kind: "host", Name: h.Name, Note: h.Location, To: to("/hosts?id=", h.ID)}, h.ID, h.IPAddress, h.DNSName)
		}
	}
	if may(caller, "DescribeGameSessions") {
		f.sessions()
	}
	if err := f.byID(ctx, text); err != nil {
		return nil, err
	}
	hits := append(append([]Hit{}, f.exact...), f.other...) // none is an empty list, not null
	return hits[:min(len(hits), hitsMost)], nil
}

// to returns the address of a page; ids of players may have any character.
func to(page, id string) string { return page + url.QueryEscape(id) }

func may(caller auth.Caller, action auth.Action) bool { return caller.Has(action) == nil }

// sessions looks for game sessions by id, name and address, and for their players.
func (f *finder) sessions() {
	view, reaches := f.Store.View(), f.locationsOf(f.caller)
	for fl := range f.Fleets.All(view, "") {
		if !f.caller.Reaches(f.Home.OfFleet(fl.ID)) {
			continue
		}
		for g := range f.Sessions.All(view, fl.ID) {
			if f.full() {
				return
			}
			if !reaches(g.Location) {
				continue
			}
			short := g.ID[strings.LastIndex(g.ID, "/")+1:]
			f.try(Hit{Kind: "session", Name: short, Note: g.Name, To: to("/sessions?id=", g.ID)}, g.ID, g.Name, g.IPAddress)
			if !may(f.caller, "DescribePlayerSessions") {
				continue
			}
			for s := range f.Sessions.Players.Of(view, g.ID) {
				f.try(Hit{Kind: "player", Name: s.PlayerID, Note: string(s.Status), To: to("/players?id=", s.PlayerID)})
			}
		}
	}
}

// byID looks for what is no longer in memory, by its exact id.
func (f *finder) byID(ctx context.Context, text string) error {
	if len(f.exact) > 0 {
		return nil
	}
	if may(f.caller, "DescribeMatchmaking") {
		d, err := f.Matches.Get(ctx, text)
		if err != nil {
			return err
		}
		if d != nil && f.caller.Reaches(f.Matches.Configurations.ARN(d.Ticket.Configuration)) {
			f.exact = append(f.exact, Hit{Kind: "ticket", Name: d.Ticket.ID, Note: string(d.Ticket.Status), To: to("/tickets?id=", d.Ticket.ID)})
		}
	}
	if may(f.caller, "DescribeGameSessions") && strings.Contains(text, "gamesession/") && f.reachesSession(f.caller, text) {
		g, err := f.Sessions.Get(ctx, text)
		if err != nil {
			return err
		}
		if g != nil {
			f.exact = append(f.exact, Hit{Kind: "session", Name: g.ID[strings.LastIndex(g.ID, "/")+1:], Note: g.Name, To: to("/sessions?id=", g.ID)})
		}
	}
	return nil
}
