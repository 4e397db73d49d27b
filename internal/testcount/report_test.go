package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         counts
		shown        string
	}{
		{"leaves only", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"run","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"skip","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, counts{passed: 1, skipped: 1}, "1 passed, 0 failed, 1 skipped"},
		{"a skipped test and its reason", `
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: no such program\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, counts{skipped: 1}, "p TestA: a_test.go:1: no such program"},
		{"a subtest whose name holds a slash", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA/json/x"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, counts{passed: 1}, "1 passed, 0 failed"},
		{"a failed subtest is one failure", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA/x","Output":"it broke\n"}
{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`, counts{failed: 1}, "it broke"},
		{"a parent that fails by itself", `
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`, counts{passed: 1, failed: 1}, "--- FAIL: p TestA"},
		{"a build that fails", `
{"ImportPath":"p [p.test]","Action":"build-output","Output":"p/a.go:1: syntax\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`, counts{failed: 1}, "p/a.go:1: syntax"},
		{"a panic outside of a test", `
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"panic: late\n"}
{"Action":"fail","Package":"p"}
`, counts{passed: 1, failed: 1}, "panic: late"},
		{"a test that did not end", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: timed out\n"}
{"Action":"fail","Package":"p"}
`, counts{failed: 1}, "panic: timed out"},
		{"a stream that was cut", `{"Action":"run","Package":"p","Test":"TestA"}`, counts{failed: 1}, "did not end"},
		{"no tests", `{"Action":"skip","Package":"p"}`, counts{}, ""},
		{"no JSON", "go: cannot find main module\n", counts{}, "cannot find main module"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(strings.TrimPrefix(c.stream, "\n"))); err != nil {
				t.Fatal(err)
			}
			if r.counts != c.want {
				t.Errorf("got %v, want %v", r.counts, c.want)
			}
			if !strings.Contains(out.String(), c.shown) {
				t.Errorf("output lacks %q:\n%s", c.shown, out.String())
			}
		})
	}
}
