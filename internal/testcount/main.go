// Command testcount reads the output of `go test -json`, from files or from standard
// input, shows each failure with its output, then the ten slowest packages, and ends with one
// line:
//
//	12 passed, 0 failed, 1 skipped
//
// Tests are counted at the leaves: a test with subtests counts as its subtests,
// unless it fails by itself. A package that does not build, or ends without naming a
// failed test, counts as one failure. The exit code is 1 if anything failed or no
// test ran.
//
// With -again COMMAND, the command line of `go test` that wrote the output, each failed test is
// run again alone, up to two more times, once all others have ended. If it passes both times,
// it counts as passed, and a block FLAKY lists it with the output of its failure. If it fails
// again, it has failed; so it has if the race detector has found something. More than three flaky tests fail the run, as do more than ten failures,
// none of which is run again.
//
// With -left DIR, where DIR is the folder for temporary files (TMPDIR) of this run
// only, each process whose environment, program, first argument or working directory lies
// in the folder and each file in it counts as a failure: tests must leave nothing behind.
//
// With -sum FILE the counts are also appended to a file, and the seconds of each package, so
// that several runs can be added up: -total FILE adds them up, shows the slowest packages and
// ends as above.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// counts are numbers of tests. Flaky tests are among those that passed.
type counts struct{ passed, failed, skipped, flaky int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

func (c *counts) add(o counts) {
	c.passed += o.passed
	c.failed += o.failed
	c.skipped += o.skipped
	c.flaky += o.flaky
}

// judge returns the counts in which flaky tests have failed if they are too many.
func (c counts) judge(out io.Writer) counts {
	if c.flaky > mostFlaky {
		fmt.Fprintf(out, "%d tests are flaky; more than %d fail the run\n", c.flaky, mostFlaky)
		c.passed -= c.flaky
		c.failed += c.flaky
	}
	return c
}

// options are what the flags say.
type options struct {
	again, sum, left string
	files            []string
}

func main() {
	var o options
	flag.StringVar(&o.again, "again", "", "run failed tests again with this command line of go test")
	flag.StringVar(&o.sum, "sum", os.Getenv("MUSTER_TEST_SUM"), "append the counts to this file (MUSTER_TEST_SUM)")
	flag.StringVar(&o.left, "left", "", "fail for processes and files that tests left which had this TMPDIR")
	total := flag.String("total", "", "add up what runs appended to this file, and nothing else")
	flag.Parse()
	o.files = flag.Args()
	var c counts
	var err error
	if *total != "" {
		c, err = addUp(*total, os.Stdout)
	} else {
		c, err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(2)
	}
	fmt.Println(c)
	if c.failed > 0 || c.passed+c.skipped == 0 {
		os.Exit(1)
	}
}

func run(o options) (counts, error) {
	r, err := readAll(o.files, os.Stdout)
	if err == nil && o.again != "" {
		err = r.repeat(commandRunner(o.again))
	}
	if err == nil && o.left != "" {
		err = r.counts.addLeft(o.left, ending, os.Stdout)
	}
	if err == nil && o.sum != "" {
		err = appendSum(o.sum, r)
	} else if err == nil {
		showSlowest(os.Stdout, r.times)
	}
	return r.counts.judge(os.Stdout), err
}

// readAll reads the files, or standard input if there are none.
func readAll(files []string, out io.Writer) (*report, error) {
	r := newReport(out)
	if len(files) == 0 {
		return r, r.read(os.Stdin)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return r, err
		}
		err = errors.Join(r.read(f), f.Close())
		if err != nil {
			return r, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return r, nil
}
