package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// slowest is how many packages are named with their seconds.
const slowest = 10

// appendSum appends what a run counted to a file: a line of counts, and one for each package.
func appendSum(file string, r *report) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "counts %d %d %d %d\n", r.counts.passed, r.counts.failed, r.counts.skipped, r.counts.flaky)
	for _, s := range r.times {
		_, failed := fmt.Fprintf(f, "seconds %s %.1f\n", s.pkg, s.elapsed)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, f.Close())
}

// addUp adds up what runs appended to a file, and shows the slowest packages.
func addUp(file string, out io.Writer) (counts, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return counts{}, err
	}
	var all counts
	var times []seconds
	for line := range strings.Lines(string(text)) {
		var c counts
		var s seconds
		if n, _ := fmt.Sscanf(line, "counts %d %d %d %d", &c.passed, &c.failed, &c.skipped, &c.flaky); n == 4 {
			all.add(c)
		} else if n, _ := fmt.Sscanf(line, "seconds %s %f", &s.pkg, &s.elapsed); n == 2 {
			times = append(times, s)
		} else {
			return counts{}, fmt.Errorf("%s: a line is neither counts nor seconds: %q", file, line)
		}
	}
	showSlowest(out, times)
	return all.judge(out), nil
}

// showSlowest names the packages whose tests took longest, and at least a second.
func showSlowest(out io.Writer, times []seconds) {
	times = slices.SortedStableFunc(slices.Values(times), func(a, b seconds) int { return cmp.Compare(b.elapsed, a.elapsed) })
	for i, s := range times[:min(slowest, len(times))] {
		if s.elapsed < 1 {
			return
		}
		if i == 0 {
			fmt.Fprintln(out, "\nthe slowest packages:")
		}
		fmt.Fprintf(out, "%7.1f s  %s\n", s.elapsed, s.pkg)
	}
}
