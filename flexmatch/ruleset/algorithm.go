package ruleset

// Algorithm describes how matches are formed (developer guide, rule set components).
type Algorithm struct {
	Strategy         string // exhaustiveSearch or balanced
	Batching         string // random or sorted; largestPopulation or fastestRegion
	SortBy           []int  // attributes, most important first
	Balanced         int    // the balanced attribute, or -1
	OldestAge        bool   // a match is as old as its oldest ticket, not its newest
	BackfillPriority string // normal, low or high
	At               Position
}

// Values of Algorithm.
const (
	Exhaustive        = "exhaustiveSearch"
	Balanced          = "balanced"
	LargestPopulation = "largestPopulation"
	FastestRegion     = "fastestRegion"
	PriorityNormal    = "normal"
	PriorityLow       = "low"
	PriorityHigh      = "high"
)

func (s *scope) algorithm(root object) {
	a := &s.rs.Algorithm
	*a = Algorithm{Strategy: Exhaustive, Batching: "random", Balanced: -1, BackfillPriority: PriorityNormal}
	if s.rs.Large {
		a.BackfillPriority = PriorityHigh
	}
	n := root.get("algorithm")
	if n == nil {
		if s.rs.Large {
			root.bad("algorithm", LargeStrategy, "is required for more than %d players, with the strategy balanced", MaxSmall)
		}
		return
	}
	o, ok := s.object(n, "algorithm")
	if !ok {
		return
	}
	a.At = o.here()
	o.only("strategy", "batchingPreference", "balancedAttribute", "sortByAttributes", "expansionAgeSelection", "backfillPriority")
	s.strategy(o)
	s.sortBy(o)
	s.balanced(o)
	a.OldestAge = o.word("expansionAgeSelection", BadExpansionAge, "newest", "oldest") == "oldest"
	if o.get("backfillPriority") != nil {
		a.BackfillPriority = o.word("backfillPriority", BadBackfillPriority, PriorityNormal, PriorityLow, PriorityHigh)
	}
}

// strategy reads the strategy and the batching preference, whose values depend on it.
func (s *scope) strategy(o object) {
	s.rs.Algorithm.Strategy = o.word("strategy", BadStrategy, Exhaustive, Balanced)
	if s.rs.Large && s.rs.Algorithm.Strategy == Exhaustive {
		o.bad("strategy", LargeStrategy, "must be balanced for more than %d players", MaxSmall)
	}
	words := []string{"random", "sorted", LargestPopulation, FastestRegion}
	switch s.rs.Algorithm.Strategy {
	case Exhaustive:
		words = words[:2]
	case Balanced:
		words = words[2:]
	}
	s.rs.Algorithm.Batching = o.word("batchingPreference", BadBatching, words...)
}

func (s *scope) sortBy(o object) {
	n := o.get("sortByAttributes")
	if n == nil || n.kind == isList && len(n.items) == 0 {
		if s.rs.Algorithm.Batching == "sorted" {
			o.bad("sortByAttributes", BadSortAttributes, "is required with batchingPreference sorted")
		}
		return
	}
	names, ok := n.asStrings()
	if !ok {
		o.bad("sortByAttributes", BadSortAttributes, "must be a list of attribute names")
		return
	}
	for i, name := range names {
		index := s.rs.attribute(trim(name))
		if index < 0 {
			s.fail(n.items[i].at, at(o.place("sortByAttributes"), i), BadSortAttributes, "no attribute %q is declared%s", name, like(name, s.rs.attributeNames()))
			continue
		}
		s.rs.Algorithm.SortBy = append(s.rs.Algorithm.SortBy, index)
	}
}

func (s *scope) balanced(o object) {
	n := o.get("balancedAttribute")
	if n == nil {
		if s.rs.Algorithm.Strategy == Balanced {
			o.bad("balancedAttribute", BadBalanced, "is required with strategy balanced")
		}
		return
	}
	index := -1
	if n.kind == isText {
		index = s.rs.attribute(trim(n.text))
	}
	switch {
	case index < 0:
		o.bad("balancedAttribute", BadBalanced, "must be the name of a declared attribute")
	case s.rs.Attributes[index].Type != Number && s.rs.Attributes[index].Type != "":
		o.bad("balancedAttribute", BadBalanced, "must be a number attribute; %q is a %s", n.text, s.rs.Attributes[index].Type)
	default:
		s.rs.Algorithm.Balanced = index
	}
}
