package large

import (
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Pass returns every large match that the tickets allow at a time, in the order of
// forming.
func Pass(rs *ruleset.RuleSet, opts search.Options, tickets []*search.Ticket, now time.Time) []*search.Match {
	var pool []*search.Candidate
	for _, t := range tickets {
		if c, ok := search.Prepare(rs, t); ok {
			pool = append(pool, c)
		}
	}
	matches, _ := New(search.RulesOf(rs, opts)).Pass(pool, now, math.MaxInt, false)
	return matches
}

// Search forms large matches pass by pass. It remembers where the last pass stopped. A
// Search must not be used concurrently.
type Search struct {
	rules *search.Rules
	judge *search.Judge
	now   time.Time

	budget    budget
	locations map[*search.Candidate][]string // allowed at some age, best first
}

// New returns a search that has not passed over any tickets.
func New(rules *search.Rules) *Search {
	return &Search{
		rules: rules, judge: search.NewJudge(rules), locations: map[*search.Candidate][]string{},
		budget: budget{from: map[string]int{}, changed: map[string]bool{}},
	}
}

// Pass returns the matches that the candidates allow at a time. It stops after the given
// number of steps; more reports whether some partition is unfinished. changed must be true
// if tickets were added since the last pass, or other rules apply to some by now. Pass
// sorts the candidates.
func (s *Search) Pass(pool []*search.Candidate, now time.Time, steps int, changed bool) (matches []*search.Match, more bool) {
	s.now, s.judge.Now = now, now
	s.forget(pool)
	s.budget.begin(steps, changed)
	search.SortByPriority(s.rules.Set, pool)
	partitions := s.partitions(pool)
	for n, p := range partitions {
		s.budget.open(p.key, len(partitions)-n)
		for {
			m, used := s.match(p.candidates)
			if m == nil {
				break
			}
			matches = append(matches, m)
			gone := make(map[*search.Candidate]bool, len(used))
			for _, c := range used {
				gone[c] = true
			}
			p.candidates = slices.DeleteFunc(p.candidates, func(c *search.Candidate) bool { return gone[c] })
		}
		s.budget.close()
	}
	return matches, s.budget.more
}

// forget drops the locations of tickets that no longer wait.
func (s *Search) forget(pool []*search.Candidate) {
	if len(s.locations) == 0 {
		return
	}
	known := make(map[*search.Candidate][]string, len(pool))
	for _, c := range pool {
		if locations, ok := s.locations[c]; ok {
			known[c] = locations
		}
	}
	s.locations = known
}

// partition is the tickets with one value of each string that must be equal, by priority
// and age.
type partition struct {
	key        string
	candidates []*search.Candidate
}

// partitions divides the pool by the strings that must be equal, in the order of each
// partition's first ticket. A party with different values is in none.
func (s *Search) partitions(pool []*search.Candidate) []*partition {
	var out []*partition
	index := map[string]*partition{}
	for _, c := range pool {
		key, ok := s.rules.Partition(c)
		if !ok {
			continue
		}
		p := index[key]
		if p == nil {
			p = &partition{key: key}
			index[key] = p
			out = append(out, p)
		}
		p.candidates = append(p.candidates, c)
	}
	return out
}

// match forms one match from the tickets of a partition, and returns the tickets that it
// has used. It returns nil if there is none, or if the steps of the partition are used up,
// but always tries at least one anchor.
func (s *Search) match(candidates []*search.Candidate) (*search.Match, []*search.Candidate) {
	s.budget.spend(len(candidates))
	batches := s.batches(candidates)
	first := s.budget.start
	for i := first; ; i++ {
		more := false
		for _, b := range batches {
			if i >= len(b.candidates) || b.players < s.rules.Least {
				continue
			}
			more = true
			if !s.budget.spend(len(b.candidates)) && i > first {
				s.budget.pause(i)
				return nil, nil
			}
			if m, used := s.around(b, b.candidates[i]); m != nil {
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
func (s *Search) around(b batch, anchor *search.Candidate) (*search.Match, []*search.Candidate) {
	highest := anchor.LevelAt(s.rules.Set, s.now)
	for floor := 0; floor <= highest; floor++ {
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
