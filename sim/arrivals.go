package sim

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// epoch is the time at which every simulation begins.
var epoch = time.Unix(0, 0).UTC()

// arrival is an arriving ticket and the behavior of its players.
type arrival struct {
	at         time.Duration
	population string
	players    []search.Player
	patience   time.Duration // 0 means that it is not cancelled
	answers    []answer      // by player
	stays      []time.Duration
}

// answer is how a player answers a proposed match.
type answer struct {
	after  time.Duration
	accept bool
	reject bool
}

// source yields arrivals in order of time, and false when there are no more.
type source interface {
	next() (*arrival, bool, error)
}

// crowd draws the arrivals of several populations.
type crowd struct {
	groups []*group
	count  int
}

// group draws the arrivals of one population.
type group struct {
	*Population
	rand       *rand.Rand
	begin      time.Duration // time of the day at which the simulation begins
	due        time.Duration
	sizes      urn
	attributes []drawn
	locations  []string
}

// drawn is an attribute prepared for drawing.
type drawn struct {
	*Attribute
	name string
	urn  urn
	keys []string
}

// newCrowd prepares a Spec's arrivals. Each population has its own random source, so that
// one does not affect another.
func newCrowd(s *Spec, seed uint64) *crowd {
	c := &crowd{}
	for i := range s.Populations {
		p := &s.Populations[i]
		g := &group{Population: p, rand: rand.New(rand.NewPCG(seed, uint64(i)+1)), sizes: newUrn(p.Parties), locations: slices.Sorted(maps.Keys(p.Latency))}
		g.begin = time.Duration(s.StartHour * float64(time.Hour))
		for _, name := range slices.Sorted(maps.Keys(p.Attributes)) {
			a := p.Attributes[name]
			d := drawn{Attribute: &a, name: name, keys: slices.Sorted(maps.Keys(a.Map))}
			switch {
			case a.String != nil:
				d.urn = newUrn(a.String)
			case a.List != nil:
				d.urn = newUrn(a.List.From)
			}
			g.attributes = append(g.attributes, d)
		}
		g.advance()
		c.groups = append(c.groups, g)
	}
	return c
}

// never is later than any simulation lasts.
const never = time.Duration(math.MaxInt64)

// advance draws the time of the next arrival. Gaps are exponential. A gap that crosses a
// full hour is drawn again from there, at the new rate.
func (g *group) advance() {
	for range 24 * 366 {
		into := (g.begin + g.due) % time.Hour
		rate := g.PerMinute.at(int((g.begin + g.due) / time.Hour))
		left := time.Hour - into
		if rate > 0 {
			if gap := g.rand.ExpFloat64() / rate; gap < left.Minutes() {
				g.due += time.Duration(gap * float64(time.Minute))
				return
			}
		}
		g.due += left
	}
	g.due = never
}

// Arrivals calls f for each ticket that comes in a time from now, with its players and when it
// comes. They are those that Run draws from the same seed.
func (s *Spec) Arrivals(seed uint64, until time.Duration, f func(at time.Duration, players []search.Player)) {
	for c := newCrowd(s, seed); ; {
		a, ok, err := c.next()
		if err != nil || !ok || a.at >= until {
			return
		}
		f(a.at, a.players)
	}
}

func (c *crowd) next() (*arrival, bool, error) {
	var first *group
	for _, g := range c.groups {
		if g.due != never && (first == nil || g.due < first.due) {
			first = g
		}
	}
	if first == nil {
		return nil, false, nil
	}
	c.count++
	a := first.ticket("t" + strconv.Itoa(c.count))
	first.advance()
	return a, true, nil
}

// ticket draws a ticket that arrives when the group is due.
func (g *group) ticket(id string) *arrival {
	size, _ := strconv.Atoi(g.sizes.draw(g.rand))
	a := &arrival{at: g.due, population: g.Name, players: make([]search.Player, size), answers: make([]answer, size)}
	for i := range a.players {
		a.players[i] = g.player(id+"-"+strconv.Itoa(i+1), a.players[:i])
		a.answers[i] = g.answer()
		if g.Stay != nil {
			a.stays = append(a.stays, seconds(g.Stay.draw(g.rand)))
		}
	}
	if g.Patience != nil {
		a.patience = max(seconds(g.Patience.draw(g.rand)), time.Millisecond)
	}
	return a
}

func (g *group) answer() answer {
	at := g.rand.Float64()
	return answer{after: seconds(g.Answer.draw(g.rand)), accept: at < *g.Accept, reject: at >= *g.Accept && at < *g.Accept+g.Reject}
}

// player draws a player. before is the earlier players of the same party.
func (g *group) player(id string, before []search.Player) search.Player {
	p := search.Player{ID: id, Attributes: make(map[string]ruleset.Given, len(g.attributes))}
	for i := range g.attributes {
		if v, ok := g.attributes[i].draw(g.rand, before); ok {
			p.Attributes[g.attributes[i].name] = v
		}
	}
	if len(g.locations) > 0 {
		p.Latency = make(map[string]float64, len(g.locations))
		for _, location := range g.locations {
			c := g.Latency[location]
			p.Latency[location] = max(1, math.Round(c.draw(g.rand)))
		}
	}
	return p
}

func (d *drawn) draw(r *rand.Rand, before []search.Player) (ruleset.Given, bool) {
	if d.Share != nil && r.Float64() >= *d.Share {
		return ruleset.Given{}, false
	}
	out := ruleset.Given{Type: d.typ()}
	if len(before) > 0 {
		first, has := before[0].Attributes[d.name]
		switch {
		case has && d.PartySpread > 0 && d.Number != nil:
			out.Number = d.Number.cut(first.Number + d.PartySpread*r.NormFloat64())
			return out, true
		case has && (d.Party == "same" || d.Party == "" && (d.String != nil || d.List != nil)):
			return first, true
		}
	}
	switch {
	case d.Number != nil:
		out.Number = d.Number.draw(r)
	case d.String != nil:
		out.String = d.urn.draw(r)
	case d.List != nil:
		n := 1.0
		if d.List.Count != nil {
			n = d.List.Count.draw(r)
		}
		out.Strings = d.urn.some(r, int(math.Round(n)))
	default:
		out.Map = make(map[string]float64, len(d.keys))
		for _, key := range d.keys {
			c := d.Map[key]
			out.Map[key] = c.draw(r)
		}
	}
	return out, true
}

func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), 1e9) * float64(time.Second))
}
