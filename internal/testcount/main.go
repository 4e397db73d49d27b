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
// only, each process that uses the folder and each file in it counts as a failure:
// tests must leave nothing behind.
//
// With -sum FILE the counts are also appended to a file; -total FILE prints the sum
// of such a file and reads nothing else. So several runs make one number.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	sum := flag.String("sum", os.Getenv("MUSTER_TEST_SUM"), "append the counts to this file (MUSTER_TEST_SUM)")
	left := flag.String("left", "", "fail for processes and files that tests left which had this TMPDIR")
	total := flag.String("total", "", "print the sum of this file and read nothing")
	flag.Parse()
	counts, err := run(*sum, *total, *left, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(2)
	}
	fmt.Println(counts)
	if counts.failed > 0 || counts.passed == 0 {
		os.Exit(1)
	}
}

func run(sum, total, left string, files []string) (counts, error) {
	if total != "" {
		return readSum(total)
	}
	c, err := countAll(files, os.Stdout)
	if err == nil && left != "" {
		err = c.addLeft(left, ending, os.Stdout)
	}
	if err != nil || sum == "" {
		return c, err
	}
	return c, appendSum(sum, c)
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
