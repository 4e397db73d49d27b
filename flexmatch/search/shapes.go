package search

import (
	"cmp"
	"slices"
)

// shapes caches for the reference search which sets of tickets can be distributed over
// the teams. Sets of equal shape are equal to every rule about teams.
type shapes struct {
	judge   *Judge
	of      map[*Candidate]int // equal numbers mean tickets that rules about teams do not distinguish; nil if most differ
	verdict map[string]bool    // by shape of the set
	bounded bool               // a search for placements reached its bound
	seating *Seating           // of the set that was seated last
}

// maxVerdicts bounds the cache of shapes.
const maxVerdicts = 1 << 18

func shapesOf(judge *Judge, pool []*Candidate) *shapes {
	out := &shapes{judge: judge, verdict: map[string]bool{}, seating: NewSeating(judge, new(Deadline))}
	numbers := judge.Rules.alike(pool, &judge.Rules.teamReads, judge.Now)
	if len(pool) > 0 && 2*(slices.Max(numbers)+1) <= len(pool) {
		out.of = map[*Candidate]int{}
		for i, c := range pool {
			out.of[c] = numbers[i]
		}
	}
	return out
}

// known returns whether sets of this shape can be distributed over the teams. The second
// result is false if that is not in the cache.
func (s *shapes) known(set []*Candidate) (seats, known bool) {
	if s.of == nil {
		return false, false
	}
	seats, known = s.verdict[s.key(set)]
	return seats, known
}

func (s *shapes) key(set []*Candidate) string {
	key := make([]rune, len(set))
	for i, c := range set {
		key[i] = rune(1 + s.of[c])
	}
	slices.Sort(key)
	return string(key)
}

// seats reports whether the set can be seated so that the rules about teams pass, or the
// search reached its bound. The placement found is in s.seating.
func (s *shapes) seats(set []*Candidate) bool {
	bounded := false
	if s.seating.Begin(set, s.judge.LevelOf(set), MaxPlacements) {
		bounded = s.seating.Run() && !s.seating.Found
	}
	s.bounded = s.bounded || bounded
	if s.of != nil && !bounded && len(s.verdict) < maxVerdicts {
		s.verdict[s.key(set)] = s.seating.Found
	}
	return s.seating.Found || bounded
}

// shapeSearch searches for sets of shapes that can be distributed over the teams,
// ignoring other rules. If tickets have few shapes, there are far fewer such sets.
type shapeSearch struct {
	shape      *shapes
	candidates []*Candidate // by shape
	counts     []uint64
	set        []*Candidate
}

// shapeSearch prepares the search by shapes. It returns nil if that would not be shorter.
func (a *attempt) shapeSearch() *shapeSearch {
	if a.pass.shape.of == nil || len(a.pass.rules.Teams) == 0 {
		return nil
	}
	s := &shapeSearch{shape: a.pass.shape, candidates: slices.Clone(a.candidates), set: slices.Clone(a.set)}
	slices.SortStableFunc(s.candidates, func(x, y *Candidate) int { return cmp.Compare(a.pass.shape.of[x], a.pass.shape.of[y]) })
	s.counts = countsOf(s.candidates)
	return s
}

// seats reports whether some candidates from the i-th on, with want players in total, can
// be seated with the set.
func (s *shapeSearch) seats(i, want int) bool {
	if want == 0 && s.seated() {
		return true
	}
	last := -1
	for ; i < len(s.candidates) && s.counts[i]>>want&1 == 1; i++ {
		c := s.candidates[i]
		shape := s.shape.of[c]
		if shape == last || c.Size > want || c.Ticket.Backfill && anyBackfill(s.set) {
			continue
		}
		s.set = append(s.set, c)
		ok := s.seats(i+1, want-c.Size)
		if s.set = s.set[:len(s.set)-1]; ok {
			return true
		}
		last = shape
	}
	return false
}

func (s *shapeSearch) seated() bool {
	if seats, known := s.shape.known(s.set); known {
		return seats
	}
	return s.shape.seats(s.set)
}
