package filter_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/session/filter"
)

// tree is the test's representation of an expression: its text and its meaning.
type tree struct {
	written string
	level   int // how tightly it binds: 0 OR, 1 AND, 2 NOT, 3 comparison or parentheses
	means   func(*subject) bool
}

// within returns the text of the tree where at least the given level is needed. Sometimes
// it adds unnecessary parentheses.
func (e tree) within(t *rapid.T, level int) string {
	if e.level < level || rapid.IntRange(0, 4).Draw(t, "parentheses") == 0 {
		return "(" + space(t) + e.written + space(t) + ")"
	}
	return e.written
}

func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", " ", "\t", " \n "}).Draw(t, "space")
}

func keyword(t *rapid.T, word string) string {
	return " " + rapid.SampledFrom([]string{word, strings.ToLower(word)}).Draw(t, "case") + " "
}

func drawTree(t *rapid.T, depth int) tree {
	shape := 0
	if depth > 0 {
		shape = rapid.IntRange(0, 3).Draw(t, "shape")
	}
	switch shape {
	case 1:
		part := drawTree(t, depth-1)
		return tree{"NOT " + part.within(t, 2), 2, func(s *subject) bool { return !part.means(s) }}
	case 2:
		a, b := drawTree(t, depth-1), drawTree(t, depth-1)
		return tree{a.within(t, 1) + keyword(t, "AND") + b.within(t, 1), 1,
			func(s *subject) bool { return a.means(s) && b.means(s) }}
	case 3:
		a, b := drawTree(t, depth-1), drawTree(t, depth-1)
		return tree{a.within(t, 0) + keyword(t, "OR") + b.within(t, 0), 0,
			func(s *subject) bool { return a.means(s) || b.means(s) }}
	}
	return drawComparison(t)
}

func drawComparison(t *rapid.T) tree {
	switch rapid.IntRange(0, 2).Draw(t, "type") {
	case 0:
		return drawTextComparison(t)
	case 1:
		return drawNumberComparison(t)
	}
	op := rapid.SampledFrom([]string{"=", "<>"}).Draw(t, "op")
	want := rapid.Bool().Draw(t, "want")
	return tree{fmt.Sprintf("hasAvailablePlayerSessions%s%s%s%v", space(t), op, space(t), want), 3,
		func(s *subject) bool { return ((s.players < s.maximum) == want) == (op == "=") }}
}

var words = []string{"", "a", "b", "Matt's", `back\slash`, `say "x"`, "é AND (1=1)"}

func drawTextComparison(t *rapid.T) tree {
	facts := map[string]func(*subject) (string, bool){
		"gameSessionId":                 func(s *subject) (string, bool) { return s.id, true },
		"gameSessionName":               func(s *subject) (string, bool) { return s.name, true },
		"gameSessionProperties.a":       func(s *subject) (string, bool) { v, ok := s.properties["a"]; return v, ok },
		"gameSessionProperties.(it's)é": func(s *subject) (string, bool) { v, ok := s.properties["(it's)é"]; return v, ok },
		"gameSessionProperties.a.b":     func(s *subject) (string, bool) { return "", false },
	}
	name := rapid.SampledFrom([]string{"gameSessionId", "gameSessionName", "gameSessionProperties.a",
		"gameSessionProperties.(it's)é", "gameSessionProperties.a.b"}).Draw(t, "attribute")
	op := rapid.SampledFrom([]string{"=", "<>"}).Draw(t, "op")
	want := rapid.SampledFrom(words).Draw(t, "want")
	quote := rapid.SampledFrom([]string{"'", `"`}).Draw(t, "quote")
	written := strings.ReplaceAll(strings.ReplaceAll(want, `\`, `\\`), quote, `\`+quote)
	return tree{name + space(t) + op + space(t) + quote + written + quote, 3,
		func(s *subject) bool {
			got, ok := facts[name](s)
			if !ok {
				return false
			}
			if op == "=" {
				return got == want
			}
			return got != want
		}}
}

func drawNumberComparison(t *rapid.T) tree {
	name := rapid.SampledFrom([]string{"maximumSessions", "playerSessionCount", "creationTimeMillis"}).Draw(t, "attribute")
	op := rapid.SampledFrom([]string{"=", "<>", "<", ">", "<=", ">="}).Draw(t, "op")
	want := rapid.SampledFrom([]string{"0", "1", "2", "-1", "+1", "1.0", "1.5", "1462233600000"}).Draw(t, "want")
	return tree{name + space(t) + op + space(t) + want, 3,
		func(s *subject) bool {
			got := map[string]int64{
				"maximumSessions": int64(s.maximum), "playerSessionCount": int64(s.players),
				"creationTimeMillis": s.created.UnixMilli(),
			}[name]
			limit, _ := new(big.Rat).SetString(want)
			order := new(big.Rat).SetInt64(got).Cmp(limit)
			return order < 0 && strings.Contains(op, "<") ||
				order > 0 && strings.Contains(op, ">") ||
				order == 0 && strings.Contains(op, "=")
		}}
}

func drawSubject(t *rapid.T) *subject {
	s := &subject{
		id: rapid.SampledFrom(words).Draw(t, "id"), name: rapid.SampledFrom(words).Draw(t, "name"),
		maximum: rapid.IntRange(0, 2).Draw(t, "maximum"), players: rapid.IntRange(0, 2).Draw(t, "players"),
		created:    time.UnixMilli(rapid.SampledFrom([]int64{0, 1, 1462233599999, 1462233600000}).Draw(t, "created")),
		properties: map[string]string{},
	}
	for _, key := range []string{"a", "(it's)é", "a.b"} {
		if rapid.Bool().Draw(t, "has "+key) {
			s.properties[key] = rapid.SampledFrom(words).Draw(t, key)
		}
	}
	return s
}

// TestParse_MeansWhatIsWritten compares random expressions, and their negations, with a
// plain evaluator.
func TestParse_MeansWhatIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := drawTree(t, 4)
		f, err := filter.Parse(e.written)
		if err != nil {
			t.Fatalf("%q: %v", e.written, err)
		}
		negated, err := filter.Parse("NOT (" + e.written + ")")
		if err != nil {
			t.Fatalf("NOT (%q): %v", e.written, err)
		}
		for range 8 {
			s := drawSubject(t)
			want := e.means(s)
			if got := f.Match(s); got != want {
				t.Fatalf("%q matches %+v: got %v, want %v", e.written, s, got, want)
			}
			if got := negated.Match(s); got == want {
				t.Fatalf("NOT (%q) matches %+v: got %v, want %v", e.written, s, got, !want)
			}
		}
	})
}

// TestCompare_IsAnOrder checks that Compare is antisymmetric and transitive, and that a
// missing property is last in both directions.
func TestCompare_IsAnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"gameSessionName", "gameSessionProperties.a", "maximumSessions",
			"creationTimeMillis", "hasAvailablePlayerSessions"}).Draw(t, "attribute")
		o, err := filter.ParseSort(name + rapid.SampledFrom([]string{"", " ASC", " DESC"}).Draw(t, "direction"))
		if err != nil {
			t.Fatal(err)
		}
		a, b, c := drawSubject(t), drawSubject(t), drawSubject(t)
		if o.Compare(a, b) != -o.Compare(b, a) {
			t.Fatalf("%s: %+v and %+v are each before the other", name, a, b)
		}
		if o.Compare(a, b) <= 0 && o.Compare(b, c) <= 0 && o.Compare(a, c) > 0 {
			t.Fatalf("%s: no order of %+v, %+v, %+v", name, a, b, c)
		}
		_, hasA := a.Property("a")
		_, hasB := b.Property("a")
		if name == "gameSessionProperties.a" && hasA && !hasB && o.Compare(a, b) >= 0 {
			t.Fatalf("%s: %+v lacks the property and is not last", name, b)
		}
	})
}
