package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json` (go doc test2json, go doc buildjson).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// report counts tests and shows failures.
type report struct {
	counts   counts
	out      io.Writer
	packages map[string]*results
	builds   map[string]string // output of builds, by import path
	failures []failure         // in the order of the stream; counted in counts.failed
	times    []seconds         // of the packages that had tests
}

// failure is a failed test without its subtests, or a package that failed as a whole.
type failure struct {
	pkg    string
	test   string // the name before the first slash; "" for a whole package
	counts counts // what of report.counts the failure stands for
	output string
	final  bool // it did not build, or has a data race: passing another time changes nothing
}

// seconds is how long the tests of a package took.
type seconds struct {
	pkg     string
	elapsed float64
}

// results is what is known about one package's tests until it ends.
type results struct {
	order []string
	tests map[string]*result
	loose result // the package itself, with the output outside any test
}

type result struct {
	outcome string // "" while it runs
	output  strings.Builder
}

func newReport(out io.Writer) *report {
	return &report{out: out, packages: map[string]*results{}, builds: map[string]string{}}
}

// read reads a whole stream. Lines that are not JSON, such as an error of the go
// command, are shown unchanged.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		text, err := lines.ReadString('\n')
		if text != "" {
			r.line(text)
		}
		if err == io.EOF {
			r.unfinished()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) line(text string) {
	var e event
	if json.Unmarshal([]byte(text), &e) != nil || e.Action == "" {
		io.WriteString(r.out, text)
		return
	}
	switch {
	case e.Action == "build-output":
		r.builds[e.ImportPath] += e.Output
	case e.Action == "build-fail":
		// the package that needed it reports the failure
	default:
		r.event(e)
	}
}

// event records what happened to a test, or to a package if e.Test is "".
func (r *report) event(e event) {
	p := r.packages[e.Package]
	if p == nil {
		p = &results{tests: map[string]*result{}}
		r.packages[e.Package] = p
	}
	t := p.test(e.Test)
	switch e.Action {
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		t.outcome = e.Action
		if e.Test == "" {
			r.finish(e, p)
			delete(r.packages, e.Package)
		}
	}
}

func (p *results) test(name string) *result {
	if name == "" {
		return &p.loose
	}
	t := p.tests[name]
	if t == nil {
		t = new(result)
		p.tests[name] = t
		p.order = append(p.order, name)
	}
	return t
}

// finish counts a package whose tests have ended and shows the failures.
func (r *report) finish(e event, p *results) {
	var c counts
	var all []failure
	for _, name := range p.order {
		if output, failed := r.tally(&c, e.Package, name, p); failed {
			all = addFailure(all, e.Package, name, output)
		}
	}
	if e.Action == "fail" && c.failed == 0 {
		c.failed++
		output := r.builds[e.FailedBuild] + p.loose.output.String()
		all = append(all, failure{pkg: e.Package, output: output, final: e.FailedBuild != "" || hasRace(output)})
		fmt.Fprintf(r.out, "--- FAIL: %s\n%s", e.Package, output)
	}
	if len(all) > 0 && p.isCut() { // tests that come later have not run
		all = []failure{wholePackage(e.Package, all)}
	}
	if len(all) == 1 && all[0].test == "" {
		all[0].counts = c
	}
	r.failures = append(r.failures, all...)
	r.counts.add(c)
	if len(p.order) > 0 || e.Action == "fail" {
		fmt.Fprintf(r.out, "%-4s %s  %s  %.1fs\n", e.Action, e.Package, c, e.Elapsed)
		r.times = append(r.times, seconds{e.Package, e.Elapsed})
	}
}

// addFailure adds a failed test to the failures of a package, where subtests of one test are
// one failure.
func addFailure(all []failure, pkg, name, output string) []failure {
	test, _, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(all, func(f failure) bool { return f.test == test })
	if i < 0 {
		i = len(all)
		all = append(all, failure{pkg: pkg, test: test})
	}
	all[i].counts.failed++
	all[i].output += output
	all[i].final = all[i].final || hasRace(output)
	return all
}

// hasRace reports whether the race detector has found something, which is a fault however seldom
// it is seen.
func hasRace(output string) bool {
	return strings.Contains(output, "WARNING: DATA RACE") || strings.Contains(output, "race detected during execution of test")
}

// wholePackage returns the failures of a package as one.
func wholePackage(pkg string, all []failure) failure {
	whole := failure{pkg: pkg}
	for _, f := range all {
		whole.output += f.output
		whole.final = whole.final || f.final
	}
	return whole
}

// isCut reports whether the program of tests that failed ended before its last test, as it does
// when a test panics: one that comes to its end says FAIL on a line of its own.
func (p *results) isCut() bool {
	return !slices.Contains(strings.Split(p.loose.output.String(), "\n"), "FAIL")
}

// tally counts one test if it is a leaf, or if it failed though its subtests did not. It
// returns the output of one that failed.
func (r *report) tally(c *counts, pkg, name string, p *results) (output string, failed bool) {
	t, leaf := p.tests[name], !p.below(name, func(*result) bool { return true })
	switch {
	case t.outcome == "pass" && leaf:
		c.passed++
	case t.outcome == "skip" && leaf:
		c.skipped++
		fmt.Fprintf(r.out, "--- SKIP: %s %s: %s\n", pkg, name, reason(t.output.String()))
	case t.outcome == "pass", t.outcome == "skip":
	case !p.below(name, (*result).failed):
		c.failed++
		output = t.output.String()
		if t.outcome == "" {
			output += "    it did not end\n" + p.loose.output.String()
		}
		fmt.Fprintf(r.out, "--- FAIL: %s %s\n%s", pkg, name, output)
		return output, true
	}
	return "", false
}

// reason returns what a test logged before it was skipped.
func reason(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			return line
		}
	}
	return "no reason given"
}

// below reports whether a test has a subtest of some kind. Names may contain slashes,
// so the part before a slash need not be a test.
func (p *results) below(name string, kind func(*result) bool) bool {
	return slices.ContainsFunc(p.order, func(other string) bool {
		return strings.HasPrefix(other, name+"/") && kind(p.tests[other])
	})
}

// failed reports whether a test failed or did not end, which counts as a failure.
func (t *result) failed() bool { return t.outcome == "fail" || t.outcome == "" }

// unfinished counts packages whose end is missing from the stream.
func (r *report) unfinished() {
	for name, p := range r.packages {
		r.finish(event{Action: "fail", Package: name}, p)
	}
	clear(r.packages)
}
