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
	for _, name := range p.order {
		r.tally(&c, e.Package, name, p)
	}
	if e.Action == "fail" && c.failed == 0 {
		c.failed++
		fmt.Fprintf(r.out, "--- FAIL: %s\n%s%s", e.Package, r.builds[e.FailedBuild], p.loose.output.String())
	}
	r.counts.add(c)
	if len(p.order) > 0 || e.Action == "fail" {
		fmt.Fprintf(r.out, "%-4s %s  %s  %.1fs\n", e.Action, e.Package, c, e.Elapsed)
	}
}

// tally counts one test if it is a leaf, or if it failed though its subtests did not.
func (r *report) tally(c *counts, pkg, name string, p *results) {
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
		fmt.Fprintf(r.out, "--- FAIL: %s %s\n%s", pkg, name, t.output.String())
		if t.outcome == "" {
			fmt.Fprintf(r.out, "    it did not end\n%s", p.loose.output.String())
		}
	}
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
