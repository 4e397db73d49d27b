package large

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Pass returns every large match that the tickets allow at a time, in the order of
// forming.
func Pass(rs *ruleset.RuleSet, opts search.Options, tickets []*search.Ticket, now time.Time) []*search.Match {
	rules := search.RulesOf(rs, opts)
	matches, _ := New(rules).Pass(partitions(rules, tickets), now, Bounds{Steps: math.MaxInt}, false)
	return matches
}

// Partition is the waiting tickets with one value of each string that must be equal, by
// priority and age.
type Partition struct {
	Key        string
	Candidates []*search.Candidate
}

// partitions divides tickets by the strings that must be equal. A party with different
// values is in no partition.
func partitions(rules *search.Rules, tickets []*search.Ticket) []Partition {
	index := map[string][]*search.Candidate{}
	for _, t := range tickets {
		if c, ok := search.Prepare(rules.Set, t); ok {
			if key, ok := rules.Partition(c); ok {
				index[key] = append(index[key], c)
			}
		}
	}
	var out []Partition
	for key, candidates := range index {
		search.SortByPriority(rules.Set, candidates)
		out = append(out, Partition{key, candidates})
	}
	return out
}

// Search forms large matches pass by pass. It remembers where the last pass stopped. A
// Search must not be used concurrently.
type Search struct {
	rules *search.Rules
	judge *search.Judge
	now   time.Time

	budget    budget
	locations map[*search.Candidate][]string // of the tickets of the last pass, if there are latency rules
	gathering gathering                      // its memory is reused
}

// New returns a search that has not passed over any tickets.
func New(rules *search.Rules) *Search {
	return &Search{rules: rules, judge: search.NewJudge(rules), budget: budget{from: map[string]int{}, changed: map[string]bool{}}}
}

// Pass returns the matches that the candidates allow at a time, within bounds; more reports
// whether some partition is unfinished. changed must be true
// if tickets were added since the last pass, or other rules apply to some by now. Pass
// sorts the partitions, of which none may be empty.
func (s *Search) Pass(partitions []Partition, now time.Time, bounds Bounds, changed bool) (matches []*search.Match, more bool) {
	s.now, s.judge.Now = now, now
	s.budget.begin(bounds, changed)
	slices.SortFunc(partitions, func(a, b Partition) int {
		x, y := a.Candidates[0], b.Candidates[0]
		return cmp.Or(search.Priority(s.rules.Set, x)-search.Priority(s.rules.Set, y), search.Older(x.Ticket, y.Ticket))
	})
	known := s.locations
	s.locations = map[*search.Candidate][]string{}
	for n, p := range partitions {
		s.budget.open(p.Key, len(partitions)-n)
		members := s.members(p.Candidates, known)
		for {
			m, used := s.match(members)
			if m == nil {
				break
			}
			matches = append(matches, m)
			for _, c := range used {
				c.used = true
			}
			members = slices.DeleteFunc(members, func(c *member) bool { return c.used })
			if !s.budget.spend(0) {
				s.budget.pause(s.budget.start)
				break
			}
		}
		s.budget.close()
	}
	return matches, s.budget.more
}

// member is a ticket of a partition.
type member struct {
	*search.Candidate
	order     int      // position in the partition: of tickets that are not backfill, by age
	players   int      // those of the game session included
	level     int      // at the ticket's age
	value     float64  // of the balanced attribute, on average
	locations []string // that its latencies allow at some age, best first
	used      bool     // in a match
}

// members returns the members for candidates of a partition. known are the locations of
// some candidates.
func (s *Search) members(candidates []*search.Candidate, known map[*search.Candidate][]string) []*member {
	rs, all, out := s.rules.Set, make([]member, len(candidates)), make([]*member, len(candidates))
	for i, c := range candidates {
		all[i] = member{Candidate: c, order: i, players: c.Size + c.Held, level: c.LevelAt(rs, s.now), value: c.Party.PartyNumber(rs.Algorithm.Balanced, "avg")}
		if rs.HasLatency {
			locations, ok := known[c]
			if !ok {
				locations = s.allowed(c)
			}
			all[i].locations, s.locations[c] = locations, locations
		}
		out[i] = &all[i]
	}
	return out
}

// match forms one match from the tickets of a partition, and returns the tickets that it
// has used. It returns nil if there is none, or if the steps of the partition are used up,
// but always tries at least one anchor.
func (s *Search) match(members []*member) (*search.Match, []*member) {
	batches := s.batches(members)
	s.budget.spend(len(members))
	first := s.budget.start
	for i := first; ; i++ {
		more := false
		for _, b := range batches {
			if i >= len(b.members) || b.players < s.rules.Least {
				continue
			}
			more = true
			if !s.budget.spend(len(b.members)) && i > first {
				s.budget.pause(i)
				return nil, nil
			}
			if m, used := s.around(b, b.members[i]); m != nil {
				return m, used
			}
		}
		if !more {
			s.budget.done()
			return nil, nil
		}
	}
}

// around tries a match around an anchor: first with all tickets, then without those below
// a rising level, whose youth would impose stricter rules on older ones.
func (s *Search) around(b batch, anchor *member) (*search.Match, []*member) {
	for floor := 0; floor <= anchor.level; floor++ {
		if set := s.gather(b, anchor, floor); set != nil {
			if m, used := s.seat(set); m != nil {
				return m, used
			}
		}
		if s.rules.Set.Algorithm.OldestAge {
			break // young tickets do not tighten rules
		}
	}
	return nil, nil
}
