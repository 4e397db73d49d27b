package ruleset

import (
	"math"
	"slices"
)

// Values are the values of an attribute that rules allow each player to have.
type Values struct {
	By int // the rule that limits them last, -1 if none does

	numbers Range
	party   string   // how parties are aggregated
	only    []string // nil for any string
	except  []string
}

// AnyValue are all values.
var AnyValue = Values{By: -1, numbers: anything}

// Values returns the values of an attribute that each player of a team must have, and false if the
// rule does not limit them one by one.
func (r *Rule) Values(attribute, team int) (Values, bool) { return r.values(attribute, team) }

// And returns the values that a rule allows of v. Numbers of parties that count otherwise are not
// compared: they leave v as it is.
func (v Values) And(o Values, rule int) Values {
	if v.By >= 0 && v.party != o.party {
		return v
	}
	out := Values{By: rule, party: o.party, except: slices.Concat(v.except, o.except)}
	out.numbers = Range{max(v.numbers.Low, o.numbers.Low), min(v.numbers.High, o.numbers.High)}
	switch {
	case v.only == nil:
		out.only = o.only
	case o.only == nil:
		out.only = v.only
	default:
		out.only = intersect([][]string{v.only, o.only})
	}
	return out
}

// Empty reports whether there is no such value.
func (v Values) Empty() bool {
	return v.numbers.Low > v.numbers.High || v.only != nil && !slices.ContainsFunc(v.only, v.allows)
}

func (v Values) allows(text string) bool { return !slices.Contains(v.except, text) }

// Parts reports whether a rule keeps players with values of a from all with values of b: it requires
// equal strings, or numbers near each other.
func (r *Rule) Parts(attribute int, a, b Values) bool {
	switch column := r.Traits.Column.(type) {
	case Partition:
		return column.Attribute == attribute && a.only != nil && b.only != nil &&
			!slices.ContainsFunc(a.only, func(text string) bool { return a.allows(text) && b.allows(text) && slices.Contains(b.only, text) })
	case Window:
		return column.Attribute == attribute && column.Party == a.party && column.Party == b.party &&
			max(a.numbers.Low-b.numbers.High, b.numbers.Low-a.numbers.High) > column.Limit
	}
	return false
}

// each reports whether a measurement lists an attribute of each player of a team, one value for
// each.
func (m *measures) each(attribute, team int) bool {
	return slices.ContainsFunc(m.measurements, func(e *Expr) bool {
		path := e.leaf()
		return e.ofPlayers() && path.part == partAttribute && path.attribute == attribute && !path.hasKey && !e.setList() && slices.Contains(path.instances, team)
	})
}

// below returns the greatest number below v.
func below(v float64) float64 { return math.Nextafter(v, math.Inf(-1)) }

// above returns the least number above v.
func above(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }
