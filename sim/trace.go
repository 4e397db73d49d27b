package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/trace"
)

// replay yields a trace's tickets as arrivals. Players' behavior, which a trace lacks, is
// drawn from the population of the same name, else from the first one.
type replay struct {
	tickets []trace.Ticket
	behave  map[string]*group
	rest    *group
}

func replayOf(t *trace.Trace, s *Spec, seed uint64) source {
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
	a := &arrival{at: seconds(t.At), population: cmp.Or(t.Population, "trace"), patience: seconds(t.Patience)}
	for _, p := range t.Players {
		a.answers = append(a.answers, g.answer())
		if g.Stay != nil {
			a.stays = append(a.stays, seconds(g.Stay.draw(g.rand)))
		}
		player := search.Player{ID: p.PlayerID, Latency: p.Latency, Attributes: make(map[string]ruleset.Given, len(p.Attributes))}
		for name, value := range p.Attributes {
			given, err := value.Given()
			if err != nil {
				return nil, false, fmt.Errorf("ticket %s, attribute %s: %w", t.TicketID, name, err)
			}
			player.Attributes[name] = given
		}
		a.players = append(a.players, player)
	}
	return a, true, nil
}
