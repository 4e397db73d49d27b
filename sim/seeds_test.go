package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// anyTwo returns options of a simulation in which any two of so many tickets a minute are matched.
func anyTwo(t *testing.T, perMinute int) Options {
	t.Helper()
	rs, err := ruleset.Parse(`{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":2,"maxPlayers":2}]}`)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ReadSpec(fmt.Appendf(nil, "populations: [{tickets_per_minute: %d}]", perMinute))
	if err != nil {
		t.Fatal(err)
	}
	return Options{RuleSet: rs, Spec: spec}
}

// The figures of several seeds are the means of the runs with each, and the report is that of
// the first.
func TestRepeat(t *testing.T) {
	t.Parallel()
	o := anyTwo(t, 20)
	o.Label, o.For, o.Seed = "two", 10*time.Minute, 3
	var calls []int
	all, err := Repeat(o, 3, func(done, all int) { calls = append(calls, done, all) })
	if err != nil {
		t.Fatal(err)
	}
	var sum, least, most float64
	for i := range 3 {
		one := o
		one.Seed += uint64(i)
		r, err := Run(one)
		if err != nil {
			t.Fatal(err)
		}
		formed := float64(r.Matches.Formed)
		if sum += formed; i == 0 || formed < least {
			least = formed
		}
		most = max(most, formed)
		if i == 0 && (r.Matches.Formed != all.Matches.Formed || all.Seed != 3) {
			t.Errorf("the report is not that of the first seed: %+v", all.Matches)
		}
	}
	n := 0
	for _, f := range all.Seeds.Figures {
		if f.Name != "matches" {
			continue
		}
		n++
		if f.Mean != round(sum/3) || f.Least != least || f.Most != most || f.Interval == nil || f.Interval.Low > f.Mean || f.Interval.High < f.Mean {
			t.Errorf("figure %+v, want the mean %g, from %g to %g", f, sum/3, least, most)
		}
	}
	if n != 1 || all.Seeds.Runs != 3 || len(calls) != 6 {
		t.Errorf("%d figures of matches, %+v, calls %v", n, all.Seeds, calls)
	}
	var text strings.Builder
	if err := all.WriteText(&text); err != nil || !strings.Contains(text.String(), "Over 3 seeds") || !strings.Contains(text.String(), "95 % INTERVAL") {
		t.Errorf("the report is %v %s", err, text.String())
	}
}
