package sim

import (
	"errors"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Side is a rule set that is compared with another.
type Side struct {
	Label   string
	RuleSet *ruleset.RuleSet
}

// MaxRuns is the most parts that the figures of a comparison are means of.
const MaxRuns = 100

// ErrEnough ends a comparison early: if Options.Step returns it, Versus returns what the
// complete runs have shown, unless there are none.
var ErrEnough = errors.New("stopped early")

// Versus plays two rule sets on the same tickets and compares them. Drawn tickets are drawn
// runs times, with seeds from o.Seed on; a trace is played once and divided into as many
// stretches. If both sides have the same rule set, it is played once. begin, if it is not nil,
// is called before each of all runs with the number of those done.
func Versus(o Options, a, b Side, runs int, begin func(done, all int)) (*Comparison, error) {
	seeds := max(1, min(runs, MaxRuns))
	if o.Trace != nil {
		o.Stretches, seeds = seeds, 1
	}
	sides := []Side{a, b}
	if a.RuleSet == b.RuleSet {
		sides = sides[1:]
	}
	var reports [2][]*Report
	for i := range seeds {
		var both [2]*Report
		for n, side := range sides {
			if begin != nil {
				begin(len(sides)*i+n, len(sides)*seeds)
			}
			o.RuleSet, o.Label = side.RuleSet, side.Label
			r, err := Run(o)
			switch {
			case errors.Is(err, ErrEnough) && i > 0:
				return Compare(reports[0], reports[1]), nil
			case err != nil:
				return nil, err
			}
			both[n] = r
		}
		reports[0], reports[1] = append(reports[0], both[0]), append(reports[1], both[len(sides)-1])
		o.Seed++
	}
	return Compare(reports[0], reports[1]), nil
}
