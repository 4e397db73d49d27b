package main

import (
	"fmt"
	"time"
)

// key names a run.
type key struct {
	rules, players string
	rate           int
}

type results map[key]result

// same are rule sets that mean the same: the second and those after it as the first.
var same = [][]string{
	{"near", "near-always", "near-far-step", "near-far-step-oldest", "near-newest", "near-oldest", "near-quantity", "near-twice"},
	{"team-roles", "team-roles-always"},
	{"three-classes", "three-classes-twice"},
	{"match-roles", "match-roles-quantity"},
}

// weaker are rule sets of which each match that the first allows is allowed by the second.
var weaker = [][2]string{
	{"near", "near-200"}, {"near-200", "near-wide"}, {"near-wide", "near-400"}, {"near-400", "any"},
	{"near-200", "around"},
	{"near-steps", "near-steps-oldest"},
	{"latency-steps", "latency-steps-oldest"},
	{"ranked", "ranked-oldest"},
	{"many-steps", "many-steps-oldest"},
	{"ten-trios-healers", "ten-trios"},
	{"duel-ladder", "duel-ladder-oldest"},
	{"match-roles-ranked", "match-roles-ranked-oldest"},
	{"team-roles-exact", "team-roles"}, {"team-roles", "match-roles"},
	{"team-roles-exact", "match-roles-exact"}, {"match-roles-exact", "match-roles"},
	{"match-roles-skill", "match-roles"}, {"match-roles", "any"},
	{"fair-tight", "near-400"},
}

// violation is a relation that does not hold.
type violation struct {
	by   float64
	text string
}

// Tolerances of relations: a share, a ratio of waits and one of costs. Few players say little: the
// tolerance of a share grows to that of three players.
const (
	point = 0.01
	wait  = 1.1
	cost  = 1.5
	many  = 2000 // players whose cost can be compared: with fewer, one run of the garbage collector counts
)

// starved is for how long a ticket may wait that could be matched.
const starved = 20 * time.Second

func tolerance(r result) float64 { return max(point, 3/float64(max(1, r.players))) }

// each calls f for each pair of runs between which a relation must hold.
func (all results) each(f func(a, b key, relation string)) {
	for k := range all {
		pair := func(rules, relation string) {
			if other := (key{rules, k.players, k.rate}); all[other] != (result{}) {
				f(k, other, relation)
			}
		}
		for _, group := range same {
			for _, name := range group[1:] {
				if group[0] == k.rules {
					pair(name, "same")
				}
			}
		}
		for _, w := range weaker {
			if w[0] == k.rules {
				pair(w[1], "weaker")
			}
		}
		if more := (key{k.rules, k.players, 3 * k.rate}); all[more] != (result{}) {
			f(k, more, "more")
		}
	}
}

func (all results) relations() (n int) {
	all.each(func(_, _ key, _ string) { n++ })
	return n
}

// broken returns the relations that do not hold, and the runs that did not end.
func (all results) broken() (out []violation) {
	add := func(by float64, format string, args ...any) {
		out = append(out, violation{by, fmt.Sprintf(format, args...)})
	}
	for k, r := range all {
		if r.ended {
			add(1, "%s, %s, %d: did not end", k.rules, k.players, k.rate)
		}
		if less := nearly*float64(r.bound) - r.matched(); !r.ended && less > float64(r.match) {
			add(less/float64(r.players), "%s, %s, %d: %.0f players are matched, where an offline solver matches up to %d", k.rules, k.players, k.rate, r.matched(), r.bound)
		}
		if r.held.longest >= starved {
			add(0, "%s, %s, %d: a ticket waited %v although it could have been matched", k.rules, k.players, k.rate, r.held.longest)
		}
	}
	all.each(func(x, y key, relation string) {
		a, b := all[x], all[y]
		if a.ended || b.ended {
			return
		}
		where := fmt.Sprintf("%s, %d", x.players, x.rate)
		less, t := a.share-b.share, max(tolerance(a), tolerance(b))
		switch relation {
		case "same":
			if less > t || -less > t {
				add(max(less, -less), "%s: %s means the same as %s, and matches %.3f, not %.3f", where, y.rules, x.rules, b.share, a.share)
			}
			if b.p50 > a.p50*wait+0.1 || a.p50 > b.p50*wait+0.1 {
				add(max(less, -less), "%s: %s means the same as %s, and the median wait is %.1f s, not %.1f s", where, y.rules, x.rules, b.p50, a.p50)
			}
			if a.players >= many && (b.cost > a.cost*cost+10 || a.cost > b.cost*cost+10) {
				add(0, "%s: %s means the same as %s, and costs %.0f µs a ticket, not %.0f", where, y.rules, x.rules, b.cost, a.cost)
			}
		case "weaker":
			if less > t {
				add(less, "%s: %s allows all that %s allows, and matches %.3f, not %.3f", where, y.rules, x.rules, b.share, a.share)
			}
		case "more":
			had, has := a.share, b.share
			if a.bound > 0 && b.bound > 0 { // others came: of those who can be matched
				had, has = a.matched()/float64(a.bound), b.matched()/float64(b.bound)
				t = max(t, float64(a.match)/float64(a.bound))
			}
			if had-has > t {
				add(had-has, "%s, %s: of %d tickets a minute %.3f are matched, and of %d %.3f", x.rules, x.players, x.rate, had, y.rate, has)
			}
			scarce := min(a.share, b.share) < nearly // who is missing decides how long the others wait
			if b.p50 > a.p50*wait+0.1 && !scarce {
				add(0, "%s, %s: with %d tickets a minute the median wait is %.1f s, and with %d %.1f s", x.rules, x.players, x.rate, a.p50, y.rate, b.p50)
			}
		}
	})
	return out
}
