package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/sim"
)

// suite is what the runs have in common.
type suite struct {
	dir   string
	only  []string // words in names of rule sets; all if empty
	lasts time.Duration
	most  time.Duration // processor time of a run
	seed  uint64
}

// result is what a run showed.
type result struct {
	ended    bool    // before its time, because it took too long
	at       float64 // virtual seconds at which it ended
	share    float64 // of the players who came: those who are matched
	players  int     // who came
	p50, p90 float64 // waits of tickets, in seconds
	cost     float64 // processor time a ticket, in microseconds
	cut      int     // searches that a bound ended
	match    int     // players of the largest match
	bound    int     // players whom an offline solver matches at most; 0 if that is not known

	// held are times for which a ticket waited although it could have been matched: that which
	// 99 % of the tickets do not exceed, and the longest.
	held struct{ p99, longest time.Duration }
}

// matched returns how many players are matched.
func (r result) matched() float64 { return r.share * float64(r.players) }

func (r result) line(name string) string {
	if r.ended {
		return fmt.Sprintf("%-26s ended after %.0f s of play: it took too long", name, r.at)
	}
	offline := "–"
	if r.bound > 0 {
		offline = fmt.Sprintf("%.3f", r.matched()/float64(r.bound))
	}
	return fmt.Sprintf("%-26s %6.3f %7.1f %7.1f %9.0f %6d %8s %5.0f %5.0f", name, r.share, r.p50, r.p90, r.cost, r.cut, offline, r.held.p99.Seconds(), r.held.longest.Seconds())
}

// names returns the names of the rule sets to play, in alphabetical order.
func (s *suite) names() (out []string, err error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "rulesets", "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if s.only == nil || slices.ContainsFunc(s.only, func(word string) bool { return strings.Contains(name, word) }) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no rule set in %s is to be played", s.dir)
	}
	return out, nil
}

var errTooLong = errors.New("the run takes too long")

// play plays a rule set with players who come at a rate.
func (s *suite) play(name, population string, rate int) (result, error) {
	body, err := os.ReadFile(filepath.Join(s.dir, "rulesets", name+".json"))
	if err != nil {
		return result{}, err
	}
	rs, err := ruleset.Parse(string(body))
	if err != nil {
		return result{}, err
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "players", population+".yaml"))
	if err != nil {
		return result{}, err
	}
	spec, err := sim.ReadSpec(data)
	if err != nil {
		return result{}, err
	}
	fit(spec, rs, rate)
	r := result{match: rs.Level(0).Capacity()}
	if slices.Contains(offline, name) {
		d, err := read(rs)
		if err != nil {
			return r, err
		}
		r.bound = d.bound(spec, s.seed, s.lasts)
	}
	begin := used()
	report, err := sim.Run(sim.Options{RuleSet: rs, Spec: spec, For: s.lasts, Seed: s.seed, Reached: func(at time.Duration) error {
		if r.at = at.Seconds(); used()-begin > s.most {
			return errTooLong
		}
		return nil
	}})
	cost := used() - begin
	if errors.Is(err, errTooLong) {
		r.ended = true
		return r, nil
	}
	if err != nil {
		return result{}, err
	}
	if report.Effort.Rejected > 0 {
		return result{}, fmt.Errorf("%d matches were refused by the definition", report.Effort.Rejected)
	}
	r.players, r.cut = report.Players.Arrived, report.Effort.Cut
	r.share = float64(report.Players.Matched+report.Players.Pending) / float64(max(1, r.players))
	r.p50, r.p90 = report.Wait.P50, report.Wait.P90
	r.cost = float64(cost.Microseconds()) / float64(max(1, report.Tickets.Arrived))
	if times := held(rs, spec, s.seed, s.lasts); len(times) > 0 {
		r.held.p99, r.held.longest = times[len(times)*99/100], times[len(times)-1]
	}
	return r, nil
}

// usual is the rate at which the files have players come where many do.
const usual = 600

// fit makes players come at a rate, with the attributes that the rule set declares, in parties that
// fit its teams.
func fit(spec *sim.Spec, rs *ruleset.RuleSet, rate int) {
	largest := 0
	for _, size := range rs.Level(0).Sizes {
		largest = max(largest, size.Max)
	}
	for i := range spec.Populations {
		p := &spec.Populations[i]
		p.PerMinute = sim.Rates{p.PerMinute[0] * float64(rate) / usual}
		for name := range p.Attributes {
			if !slices.ContainsFunc(rs.Attributes, func(a ruleset.Attribute) bool { return a.Name == name }) {
				delete(p.Attributes, name)
			}
		}
		for size := range p.Parties {
			if n, _ := strconv.Atoi(size); n > largest {
				delete(p.Parties, size)
			}
		}
	}
}

// used returns the processor time that the program has used.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
