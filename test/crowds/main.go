// Program crowds plays matchmaking in virtual time with rule sets of the kinds that games publish
// (rulesets), three populations of players (players) and several rates of arrival. It prints what
// share of the players is matched, after what wait, and what that costs; how that compares with what
// an offline solver matches at most (offline.go), and for how long tickets waited that could have
// been matched (held.go). It checks relations that must hold whatever the rule sets are
// (relations.go). docs/benchmarks.md has results.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	var s suite
	only := flag.String("only", "", "the rule sets whose names contain one of these words, separated by commas; all if empty")
	rates := flag.String("rates", "600,1800,6000", "tickets a minute where many players come, separated by commas")
	populations := flag.String("players", "one-region,three-regions,night", "files of players, separated by commas")
	flag.StringVar(&s.dir, "dir", "test/crowds", "the folder with rulesets and players")
	flag.DurationVar(&s.lasts, "for", 90*time.Second, "how long to play, in virtual time")
	flag.DurationVar(&s.most, "most", time.Minute, "the processor time after which a run is ended")
	flag.Uint64Var(&s.seed, "seed", 1, "of all chance")
	flag.Parse()
	if *only != "" {
		s.only = strings.Split(*only, ",")
	}
	if err := s.run(strings.Split(*populations, ","), strings.Split(*rates, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "crowds:", err)
		os.Exit(1)
	}
}

// run plays all runs and checks the relations between them.
func (s *suite) run(populations, rates []string) error {
	names, err := s.names()
	if err != nil {
		return err
	}
	fmt.Printf("%s, %v of play, seed %d\n", runtime.Version(), s.lasts, s.seed)
	results := results{}
	for _, population := range populations {
		for _, text := range rates {
			rate, err := strconv.Atoi(text)
			if err != nil || rate < 1 {
				return fmt.Errorf("-rates: %q is not a number of tickets", text)
			}
			fmt.Printf("\n%s, %d tickets a minute\n%-26s %6s %7s %7s %9s %6s %8s %5s %5s\n", population, rate,
				"rule set", "share", "p50 s", "p90 s", "µs/ticket", "cut", "offline", "p99", "most held")
			for _, name := range names {
				r, err := s.play(name, population, rate)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				results[key{name, population, rate}] = r
				fmt.Println(r.line(name))
			}
		}
	}
	broken := results.broken()
	fmt.Printf("\n%d relations checked, %d broken\n", results.relations(), len(broken))
	slices.SortStableFunc(broken, func(a, b violation) int { return cmp.Compare(b.by, a.by) })
	for _, v := range broken {
		fmt.Println(v.text)
	}
	if len(broken) > 0 {
		return errors.New("relations are broken")
	}
	return nil
}
