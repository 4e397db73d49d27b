package sim

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

type game struct {
	id       string
	location string
	ends     time.Duration
	over     bool
	players  []search.Player // in it now; with automatic backfill, all who ever were
	backfill *ticket         // its backfill request; nil if there is none
	stale    bool            // the request lists players who have left since
}

func (r *run) begin(p *proposal, location string) {
	r.sessions++
	g := &game{id: "g" + strconv.Itoa(r.sessions), location: location}
	g.ends = r.now + seconds(r.Spec.Matches.Length.draw(r.rand))
	g.join(r, p)
	if r.Spec.Matchmaking.Backfill == BackfillNone {
		return // nothing else happens to it
	}
	r.games[g.id] = g
	r.at(g.ends, func() { r.finish(g) })
	r.refill(g)
}

func (g *game) join(r *run, p *proposal) {
	for n, t := range p.tickets {
		if t.come == nil {
			continue
		}
		for i, player := range t.Players {
			player.Team = r.RuleSet.Instances[p.Teams[n]].Name
			if ms, ok := player.Latency[g.location]; ok {
				player.Latency = map[string]float64{g.location: ms} // only the game session's location counts
			}
			g.players = append(g.players, player)
			leaves := g.ends
			if t.come.stays != nil {
				leaves = min(leaves, r.now+t.come.stays[i])
			}
			r.tally.plays(r.now, min(leaves, r.For))
			if leaves < g.ends && r.Spec.Matchmaking.Backfill == BackfillManual {
				r.at(leaves, func() { r.leave(g, player.ID) })
			}
		}
	}
}

// leave removes a player, and the game server requests another.
func (r *run) leave(g *game, id string) {
	if g.over {
		return
	}
	g.players = slices.DeleteFunc(g.players, func(p search.Player) bool { return p.ID == id })
	if len(g.players) == 0 {
		r.finish(g)
		return
	}
	r.refill(g)
}

// refill requests players if slots are open. It replaces a request that is searching, but
// leaves one whose match is being accepted or placed.
func (r *run) refill(g *game) {
	open := r.RuleSet.Level(0).Capacity() - r.opts.AdditionalPlayerCount - len(g.players)
	if r.Spec.Matchmaking.Backfill == BackfillNone || g.over || open <= 0 {
		return
	}
	if g.stale = g.backfill != nil && g.backfill.row.Status != life.Searching; g.stale {
		return
	}
	if g.backfill != nil {
		r.change().End(&g.backfill.row, life.Replaced)
	}
	r.tally.backfills++
	g.backfill = r.newTicket(slices.Clone(g.players), nil, g)
	r.change().Search(&g.backfill.row)
}

func (r *run) finish(g *game) {
	if g.over {
		return
	}
	g.over = true
	if g.backfill != nil {
		r.change().End(&g.backfill.row, life.SessionEnded)
	}
	delete(r.games, g.id)
}

// bestLocation returns the location with the lowest mean latency among those that the
// latency rules allow, as a queue would choose. For backfill it is that of the game
// session; without latencies it is "".
func (r *run) bestLocation(p *proposal, l *ruleset.Lineup) string {
	if p.game != nil {
		return p.game.location
	}
	allowed := p.Locations
	if allowed == nil && len(l.Parties[0].Players) > 0 {
		allowed = slices.Sorted(maps.Keys(l.Parties[0].Players[0].Latency))
	}
	best, lowest := "", math.Inf(1)
	for _, location := range allowed {
		if mean, ok := meanLatency(l, location); ok && mean < lowest {
			best, lowest = location, mean
		}
	}
	return best
}

// meanLatency returns the players' mean latency to a location, and false unless all
// report it.
func meanLatency(l *ruleset.Lineup, location string) (float64, bool) {
	total, n := 0.0, 0
	for _, party := range l.Parties {
		for i := range party.Players {
			ms, ok := party.Players[i].Latency[location]
			if !ok {
				return 0, false
			}
			total, n = total+ms, n+1
		}
	}
	return total / float64(n), n > 0
}
