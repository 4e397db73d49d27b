package cases

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// arrive plays StartMatchmaking or StartMatchBackfill.
func (g *game) arrive(t Ticket) {
	if !g.acceptable(t) {
		g.errors[t.TicketID] = "InvalidRequestException"
		return
	}
	timeout := 3600.0
	if g.c.Config.RequestTimeoutSeconds != nil {
		timeout = *g.c.Config.RequestTimeoutSeconds
	}
	in := &ticket{status: "QUEUED", deadline: t.At + timeout, accepted: map[string]bool{},
		search: &search.Ticket{ID: t.TicketID, Created: clock(t.At), Arrival: uint64(len(g.tickets)), Backfill: t.Backfill != nil}}
	for _, p := range t.Players {
		in.search.Players = append(in.search.Players, p.searchPlayer())
	}
	if t.Backfill != nil {
		in.session = t.Backfill.GameSessionARN
	}
	g.replace(in)
	g.tickets = append(g.tickets, in)
}

// replace ends older tickets that the new one replaces: those of the same game session,
// and those of the same players.
func (g *game) replace(in *ticket) {
	for _, old := range g.tickets {
		session := in.session != "" && old.session == in.session
		if !old.active() || old.status == "PLACING" || !session && !sharePlayer(old, in) {
			continue
		}
		g.dissolve(old)
		if old.status = "CANCELLED"; session {
			old.reason = "Cancelled"
			g.emit("MatchmakingCancelled", "Cancelled", old)
		} else {
			old.reason = "Cancelled due to duplicate player"
		}
	}
}

func sharePlayer(a, b *ticket) bool {
	return slices.ContainsFunc(a.search.Players, func(p search.Player) bool {
		return slices.ContainsFunc(b.search.Players, func(q search.Player) bool { return p.ID == q.ID })
	})
}

// acceptable reports whether a request is valid.
func (g *game) acceptable(t Ticket) bool {
	most := 10
	if t.Backfill != nil {
		most = 199
	}
	if len(t.Players) < 1 || len(t.Players) > most || !ticketID.MatchString(t.TicketID) || g.find(t.TicketID) != nil {
		return false
	}
	seen := map[string]bool{}
	for _, p := range t.Players {
		if !named(p.PlayerID) || seen[p.PlayerID] || !g.sound(p) || p.Team != "" && !named(p.Team) || t.Backfill != nil && !g.team(p.Team) {
			return false
		}
		seen[p.PlayerID] = true
	}
	return true
}

// ticketID matches the ticket ids that the API allows.
var ticketID = regexp.MustCompile(`^[a-zA-Z0-9.-]{1,128}$`)

// named reports whether an id or a name has a length that the API allows.
func named(name string) bool { return name != "" && utf8.RuneCountInString(name) <= 1024 }

func (g *game) team(name string) bool {
	return slices.ContainsFunc(g.rs.Instances, func(i ruleset.Instance) bool { return i.Name == name })
}

// sound reports whether a player's attributes and latencies are valid.
func (g *game) sound(p Player) bool {
	if len(p.PlayerAttributes) > 10 {
		return false
	}
	for name, a := range p.PlayerAttributes {
		declared := slices.IndexFunc(g.rs.Attributes, func(d ruleset.Attribute) bool { return d.Name == name })
		if !named(name) || !a.sound() || declared >= 0 && g.rs.Attributes[declared].Type != a.given().Type {
			return false
		}
	}
	for _, ms := range p.LatencyInMs {
		if ms < 1 || ms != float64(int(ms)) {
			return false
		}
	}
	return true
}

// sound reports whether a value has one type and the documented sizes.
func (a Attribute) sound() bool {
	set := 0
	for _, in := range []bool{a.S != nil, a.N != nil, a.SL != nil, a.SDM != nil} {
		if in {
			set++
		}
	}
	long := func(s string) bool { return s == "" || len([]rune(s)) > 100 }
	for key := range a.SDM {
		if long(key) {
			return false
		}
	}
	return set == 1 && !(a.S != nil && long(*a.S)) && len(a.SL) <= 100 && len(a.SDM) <= 10 && !slices.ContainsFunc(a.SL, long)
}
