package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

const (
	// repeats is how many times in a row a test that failed must pass to count as passed.
	repeats = 2
	// mostRepeated is how many failures are run again. More of them are not chance.
	mostRepeated = 10
	// mostFlaky is how many tests may fail first and pass then, in a whole run.
	mostFlaky = 3
)

// runner runs a test of a package, or all of them if test is "", and returns the output of
// `go test -json`.
type runner func(pkg, test string) (io.Reader, error)

// commandRunner returns a runner that adds its arguments to a command line of `go test`.
func commandRunner(command string) runner {
	return func(pkg, test string) (io.Reader, error) {
		args := append(strings.Fields(command), "-count=1")
		if test != "" {
			args = append(args, "-run", "^"+regexp.QuoteMeta(test)+"$")
		}
		cmd := exec.Command(args[0], append(args[1:], pkg)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if _, failed := err.(*exec.ExitError); failed { // the output says why
			err = nil
		}
		return strings.NewReader(string(out)), err
	}
}

// repeat runs each failure again, one at a time. Those that pass twice count as passed, and
// as flaky.
func (r *report) repeat(again runner) error {
	if len(r.failures) > mostRepeated {
		fmt.Fprintf(r.out, "%d failures are too many for chance: none is run again\n", len(r.failures))
		return nil
	}
	var flaky []failure
	for _, f := range r.failures {
		if f.final {
			continue
		}
		passed, err := r.passes(again, f)
		if err != nil {
			return err
		}
		if passed.passed == 0 {
			continue
		}
		r.counts.failed -= f.counts.failed
		r.counts.flaky++
		if f.test == "" { // the whole package ran anew
			r.counts.passed += passed.passed - f.counts.passed
			r.counts.skipped += passed.skipped - f.counts.skipped
		} else {
			r.counts.passed += f.counts.failed
		}
		flaky = append(flaky, f)
	}
	for i, f := range flaky {
		if i == 0 {
			fmt.Fprintln(r.out, "\nFLAKY: failed once, then passed twice alone. Each has found a fault until the opposite is shown.")
		}
		fmt.Fprintf(r.out, "--- FLAKY: %s %s\n%s", f.pkg, f.test, f.output)
	}
	return nil
}

// passes runs a failure again and returns the counts of its last run, or zero counts once it
// fails.
func (r *report) passes(again runner, f failure) (counts, error) {
	var last counts
	for i := range repeats {
		fmt.Fprintf(r.out, "\nagain (%d of %d): %s %s\n", i+1, repeats, f.pkg, f.test)
		in, err := again(f.pkg, f.test)
		if err != nil {
			return counts{}, fmt.Errorf("run %s %s again: %w", f.pkg, f.test, err)
		}
		repeated := newReport(r.out)
		if err := repeated.read(in); err != nil {
			return counts{}, err
		}
		if last = repeated.counts; last.failed > 0 || last.passed == 0 {
			return counts{}, nil
		}
	}
	return last, nil
}
