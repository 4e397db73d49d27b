// Command testcount reads the output of `go test -json`, from files or from standard
// input, shows each failure with its output and ends with one line:
//
//	12 passed, 0 failed, 1 skipped
//
// Tests are counted at the leaves: a test with subtests counts as its subtests,
// unless it fails by itself. A package that does not build, or ends without naming a
// failed test, counts as one failure. The exit code is 1 if anything failed or no
// test ran.
//
// With -left DIR, where DIR is the folder for temporary files (TMPDIR) of this run
// only, each process whose environment, program, first argument or working directory lies
// in the folder and each file in it counts as a failure: tests must leave nothing behind.
//
// With -sum FILE the counts are also appended to a file, so that several runs can be added
// up.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// counts are numbers of tests.
type counts struct{ passed, failed, skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

func (c *counts) add(o counts) {
	c.passed += o.passed
	c.failed += o.failed
	c.skipped += o.skipped
}

func main() {
	sum := flag.String("sum", os.Getenv("MUSTER_TEST_SUM"), "append the counts to this file (MUSTER_TEST_SUM)")
	left := flag.String("left", "", "fail for processes and files that tests left which had this TMPDIR")
	flag.Parse()
	counts, err := run(*sum, *left, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(2)
	}
	fmt.Println(counts)
	if counts.failed > 0 || counts.passed == 0 {
		os.Exit(1)
	}
}

func run(sum, left string, files []string) (counts, error) {
	c, err := countAll(files, os.Stdout)
	if err == nil && left != "" {
		err = c.addLeft(left, ending, os.Stdout)
	}
	if err == nil && sum != "" {
		err = appendLine(sum, c.String())
	}
	return c, err
}

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// countAll reads the files, or standard input if there are none.
func countAll(files []string, out io.Writer) (counts, error) {
	r := newReport(out)
	if len(files) == 0 {
		err := r.read(os.Stdin)
		return r.counts, err
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return r.counts, err
		}
		err = r.read(f)
		f.Close()
		if err != nil {
			return r.counts, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return r.counts, nil
}
