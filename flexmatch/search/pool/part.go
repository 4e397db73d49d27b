package pool

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// part is what a state says of the players of a team, of all teams together, or of the match: how
// many there are, and how many of them count for each rule about counts. Of these values only those
// are occupancies that players can have and that can still become complete.
type part struct {
	team   int     // -1 if it is not of one team
	room   int     // players for whom there is room
	least  int     // players of a complete occupancy
	empty  bool    // nobody at all is complete too
	sized  bool    // the first digit is the number of players
	digits []digit // the digits after the first are those of rules

	all         bool      // all values are occupancies
	occupancies [][]uint8 // values of the digits, in ascending order of the last digit, and so on
	number      map[string]int
	step        int // of a state for the next occupancy
}

// digit is one of the values of an occupancy.
type digit struct {
	of     *ruleset.Counts // the players who count; nil for all players, or for tickets
	text   int             // of: its index in columns.counted
	teams  []int           // whose players count; nil for all of the part
	once   int             // players of a ticket that count at most, because its team needs no more; 0 if all do
	larger int             // counts tickets of more than so many players, if it is not 0
	cap    int             // the highest value
	full   bool            // a higher value counts as cap; else it is not allowed
	needs  int             // of a complete occupancy
}

// adds returns how much a kind of ticket adds to a digit.
func (d *digit) adds(k *kind) int {
	switch {
	case d.larger > 0 && k.size > d.larger:
		return 1
	case d.larger > 0:
		return 0
	case d.of == nil:
		return k.size
	case d.once > 0:
		return min(d.once, k.counts[d.text])
	}
	return k.counts[d.text]
}

// sizedPart returns a part for which its players count.
func sizedPart(team, least, room int) *part {
	return &part{team: team, room: room, least: least, empty: least == 0, sized: true, digits: []digit{{cap: room}}}
}

// limit adds the digit of a rule that limits how many players may and must count, if it can
// matter. Rules that count the same players share a digit.
func (p *part) limit(d digit) {
	if d.cap = max(0, d.cap); d.cap >= p.room {
		d.cap, d.full = d.needs, true
	} else {
		d.once = 0
	}
	if d.full && d.needs <= 0 {
		return
	}
	for i := range p.digits {
		if o := &p.digits[i]; o.of != nil && o.text == d.text && o.once == d.once && slices.Equal(o.teams, d.teams) {
			o.merge(&d)
			return
		}
	}
	p.digits = append(p.digits, d)
}

// merge makes a digit that of two rules which count the same players.
func (d *digit) merge(o *digit) {
	switch {
	case d.full && o.full:
		d.cap = max(d.cap, o.cap)
	case d.full:
		d.cap, d.full = o.cap, false
	case !o.full:
		d.cap = min(d.cap, o.cap)
	}
	d.needs = max(d.needs, o.needs)
}

// exact returns the part with no more players who count for a rule than it needs, if it needs some.
func (p *part) exact() *part {
	out := *p
	out.digits = slices.Clone(p.digits)
	for i := range out.digits {
		if d := &out.digits[i]; d.of != nil && d.needs > 0 {
			d.cap, d.full = d.needs, false
		}
	}
	return &out
}

// of reports whether it counts players of a team.
func (p *part) of(team int) bool { return p.team < 0 || p.team == team }

// enumerate finds the occupancies: all values, or those that are viable. It returns false if there
// are more than most.
func (p *part) enumerate(all bool, most int) bool {
	p.all, p.occupancies, p.number = all, nil, map[string]int{}
	return p.enumerateFrom(len(p.digits)-1, make([]uint8, len(p.digits)), most)
}

// enumerateFrom finds the occupancies with the values of the digits after the n-th.
func (p *part) enumerateFrom(n int, values []uint8, most int) bool {
	if n < 0 {
		if p.all || p.viable(values) {
			p.number[string(values)] = len(p.occupancies)
			p.occupancies = append(p.occupancies, slices.Clone(values))
		}
		return len(p.occupancies) <= most
	}
	from, to := 0, p.digits[n].cap
	if n == 0 && p.sized && !p.all {
		from, to = p.bounds(values)
		if from == 0 {
			to = max(to, 0)
		}
	}
	for v := from; v <= to; v++ {
		values[n] = uint8(v)
		if low, _ := p.bounds(values); low > p.room && !p.all {
			break
		}
		if !p.enumerateFrom(n-1, values, most) {
			return false
		}
	}
	values[n] = 0
	return true
}

// bounds returns how many players an occupancy with these values of the rules has at least, and at
// most if it can become complete.
func (p *part) bounds(values []uint8) (low, high int) {
	missing := 0
	for i := range p.digits {
		if larger := p.digits[i].larger; larger > 0 {
			low = max(low, int(values[i])*(larger+1))
		}
		if p.digits[i].of == nil {
			continue
		}
		attribute, single := p.digits[i].of.Attribute()
		has, lacks := 0, 0
		for n := range p.digits {
			if p.digits[n].of == nil {
				continue
			}
			if of, _ := p.digits[n].of.Attribute(); of != attribute || !single && n != i {
				continue
			}
			has, lacks = has+int(values[n]), lacks+max(0, p.digits[n].needs-int(values[n]))
		}
		low, missing = max(low, has), max(missing, lacks)
	}
	return low, p.room - missing
}

// viable reports whether players can have values, which can still become complete.
func (p *part) viable(values []uint8) bool {
	low, high := p.bounds(values)
	if !p.sized {
		return low <= p.room
	}
	n := int(values[0])
	return n >= low && n <= high || n == 0 && low == 0 // the first occupancy is that of nobody
}

// complete reports whether values are those of a complete occupancy.
func (p *part) complete(values []uint8) bool {
	if p.sized && values[0] == 0 && p.empty {
		return true
	}
	for i := range p.digits {
		if int(values[i]) < p.digits[i].needs {
			return false
		}
	}
	return !p.sized || int(values[0]) >= p.least
}

// lacks returns how many players values lack to be complete, each rule for itself.
func (p *part) lacks(values []uint8) (n int) {
	for i := range p.digits {
		n += max(0, p.digits[i].needs-int(values[i]))
	}
	return n
}

// same reports whether two parts have the same limits.
func (p *part) same(o *part) bool {
	return p.room == o.room && p.least == o.least && slices.EqualFunc(p.digits, o.digits, func(a, b digit) bool {
		return a.text == b.text && a.cap == b.cap && a.full == b.full && a.needs == b.needs
	})
}

// join adds players of a kind, who join a team, to values. It returns false if a limit does not
// allow that.
func (p *part) join(values []uint8, k *kind, team int) bool {
	for i := range p.digits {
		d := &p.digits[i]
		n := d.adds(k)
		if n == 0 || d.teams != nil && team >= 0 && !slices.Contains(d.teams, team) {
			continue
		}
		is := int(values[i]) + n
		if is > d.cap {
			if !d.full {
				return false
			}
			is = d.cap
		}
		values[i] = uint8(is)
	}
	return true
}

// shift is how players of a kind change some occupancies.
type shift struct {
	by   int // is added to the number
	from []int
}

// shifts returns how players of a kind who join a team change the occupancies that allow it.
func (p *part) shifts(k *kind, team int) (out []shift) {
	values, index := make([]uint8, len(p.digits)), map[int]int{}
	for n, of := range p.occupancies {
		if copy(values, of); !p.join(values, k, team) {
			continue
		}
		to, ok := p.number[string(values)]
		if !ok {
			continue // it is not viable
		}
		by := to - n
		at, known := index[by]
		if !known {
			at, index[by] = len(out), len(out)
			out = append(out, shift{by: by})
		}
		out[at].from = append(out[at].from, n)
	}
	return out
}
