package search_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// The reference search leaves much out that cannot matter. Here nothing is left
// out: every set of a few tickets in all teams, judged by the definition.
func TestPass_IsTheDefinition(t *testing.T) {
	played := 0
	for seed := uint64(0); played < 150; seed++ {
		rs, opts, tickets, _ := world(t, seed)
		if sorts(rs) || len(rs.Instances) > 3 {
			continue
		}
		played++
		tickets = tickets[:min(5, len(tickets))]
		want := plainly{rs, opts, 25}.pass(tickets)
		if got := search.Pass(rs, opts, tickets, second(25)); describe(got) != describe(want) {
			t.Errorf("seed %d: formed\n%s\nby the definition\n%s", seed, describe(got), describe(want))
		}
	}
}

func sorts(rs *ruleset.RuleSet) bool {
	return slices.ContainsFunc(rs.Level(0).Rules, func(r *ruleset.Rule) bool {
		return r.Type == ruleset.DistanceSort || r.Type == ruleset.AbsoluteSort
	})
}

// plainly forms matches by trying everything.
type plainly struct {
	rs   *ruleset.RuleSet
	opts search.Options
	now  int
}

func (p plainly) pass(tickets []*search.Ticket) []*search.Match {
	priority := map[string]int{ruleset.PriorityHigh: -1, ruleset.PriorityLow: 1}[p.rs.Algorithm.BackfillPriority]
	left := slices.SortedStableFunc(slices.Values(tickets), func(a, b *search.Ticket) int {
		rank := func(t *search.Ticket) int {
			if t.Backfill {
				return priority
			}
			return 0
		}
		return cmp.Or(rank(a)-rank(b), a.Created.Compare(b.Created), cmp.Compare(a.Arrival, b.Arrival))
	})
	if priority <= 0 {
		return p.all(&left, true)
	}
	first := p.all(&left, false)
	return append(first, p.all(&left, true)...)
}

// all forms matches until no ticket is in any.
func (p plainly) all(left *[]*search.Ticket, backfill bool) (out []*search.Match) {
	for i := 0; i < len(*left); i++ {
		if m := p.around(*left, i, backfill); m != nil {
			out = append(out, m)
			*left = slices.DeleteFunc(*left, func(t *search.Ticket) bool { return slices.Contains(m.Tickets, t) })
			i = -1
		}
	}
	return out
}

// around gives the best match with the i-th ticket: the most new players, then the
// set that takes the earlier of the other tickets.
func (p plainly) around(left []*search.Ticket, i int, backfill bool) *search.Match {
	others := slices.Delete(slices.Clone(left), i, i+1)
	var best *search.Match
	for set := 1<<len(others) - 1; set >= 0; set-- { // the first ticket is the highest bit
		tickets := []*search.Ticket{left[i]}
		for n, o := range others {
			if set>>(len(others)-1-n)&1 == 1 {
				tickets = append(tickets, o)
			}
		}
		if !backfill && slices.ContainsFunc(tickets, func(t *search.Ticket) bool { return t.Backfill }) {
			continue
		}
		m := &search.Match{Tickets: tickets, Teams: make([]int, len(tickets))}
		if (best == nil || m.NewPlayers() > best.NewPlayers()) && p.seat(m, 0) {
			best = m
		}
	}
	return best
}

// seat tries the teams of the n-th ticket and those after it.
func (p plainly) seat(m *search.Match, n int) bool {
	if n == len(m.Tickets) {
		return search.Verify(p.rs, p.opts, m, second(p.now)) == nil
	}
	if m.Tickets[n].Backfill {
		m.Teams[n] = -1
		return p.seat(m, n+1)
	}
	for m.Teams[n] = range p.rs.Instances {
		if p.seat(m, n+1) {
			return true
		}
	}
	return false
}
