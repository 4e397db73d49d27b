package ruleset

import (
	"slices"
	"strconv"
)

// Team is a declaration of one or more teams.
type Team struct {
	Name     string
	Min, Max int // players, before expansions
	Quantity int
	At       Position
}

// Instance is one team of a match.
type Instance struct {
	Name string // the declared name, or name_1 … name_N with a quantity above 1
	Team int    // the declaration, an index into RuleSet.Teams
}

// Size is how many players a team may have.
type Size struct{ Min, Max int }

func (s *scope) teams(root object) {
	n := root.get("teams")
	if n == nil || n.kind == isList && len(n.items) == 0 {
		root.bad("teams", NoTeams, "at least one team is required")
		return
	}
	total, before := 0, len(s.errs)
	for i, item := range root.list("teams") {
		if o, ok := s.object(item, at("teams", i)); ok {
			t := s.team(o)
			total += t.Max * t.Quantity
		}
	}
	s.rs.Large = total > MaxSmall
	if total > MaxLarge {
		root.bad("teams", MatchTooLarge, "the teams hold up to %d players; at most %d are allowed", total, MaxLarge)
	}
	s.sized = len(s.errs) == before
}

// team reads one declaration. A quantity that is not valid counts as 1.
func (s *scope) team(o object) Team {
	o.only("name", "maxPlayers", "minPlayers", "quantity")
	t := Team{Name: trim(o.text("name", MissingProperty)), Quantity: 1, At: o.here()}
	if n := o.get("quantity"); n != nil {
		quantity, ok := n.asWhole(1, 1e6)
		if !ok {
			o.bad("quantity", BadTeamQuantity, "must be a whole number of at least 1")
			quantity = 1
		}
		t.Quantity = quantity
	}
	low, okLow := o.size("minPlayers", 0)
	high, okHigh := o.size("maxPlayers", 1)
	if okLow && okHigh && low > high {
		o.bad("minPlayers", BadTeamSize, "must not be above maxPlayers: %d is above %d", low, high)
	}
	t.Min, t.Max = low, high
	if t.Name != "" {
		s.declare(o, t)
	}
	return t
}

func (o object) size(name string, low int) (int, bool) {
	n := o.get(name)
	if n == nil {
		o.bad(name, MissingProperty, "is required")
		return 0, false
	}
	v, ok := n.asWhole(low, 1e6)
	if !ok {
		o.bad(name, BadTeamSize, "must be a whole number of at least %d", low)
	}
	return v, ok
}

// declare adds the team and its instances if their names are unused. It stops adding
// instances beyond the largest match, whose size has been reported as an error already.
func (s *scope) declare(o object, t Team) {
	if s.rs.team(t.Name) >= 0 || s.rs.Instance(t.Name) >= 0 { // in expressions the name would be ambiguous
		o.bad("name", DuplicateTeam, "there is another team %q", t.Name)
		return
	}
	for i := 1; i <= t.Quantity && len(s.rs.Instances) <= MaxLarge; i++ {
		name := t.Name
		if t.Quantity > 1 {
			name += "_" + strconv.Itoa(i)
		}
		if s.rs.Instance(name) >= 0 || s.rs.team(name) >= 0 {
			o.bad("name", DuplicateTeam, "there is another team %q", name)
			return
		}
		s.rs.Instances = append(s.rs.Instances, Instance{Name: name, Team: len(s.rs.Teams)})
	}
	s.rs.Teams = append(s.rs.Teams, t)
}

// Instance returns the index of the named team of the match, or -1.
func (rs *RuleSet) Instance(name string) int {
	return slices.IndexFunc(rs.Instances, func(x Instance) bool { return x.Name == name })
}

// team returns the index of the named declaration, or -1.
func (rs *RuleSet) team(name string) int {
	return slices.IndexFunc(rs.Teams, func(x Team) bool { return x.Name == name })
}
