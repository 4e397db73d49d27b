package filter_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session/filter"
)

// subject is a game session with explicit facts.
type subject struct {
	label, id, name  string
	maximum, players int
	created          time.Time
	properties       map[string]string
}

func (s *subject) GameSessionID() string   { return s.id }
func (s *subject) GameSessionName() string { return s.name }
func (s *subject) Property(key string) (string, bool) {
	value, ok := s.properties[key]
	return value, ok
}
func (s *subject) MaximumSessions() int    { return s.maximum }
func (s *subject) CreationTime() time.Time { return s.created }
func (s *subject) PlayerSessionCount() int { return s.players }

// TestScripts runs testdata/*.txt, in the format described at the top of reference.txt.
func TestScripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts found: %v", err)
	}
	for _, path := range paths {
		runScript(t, path)
	}
}

// step is one line of a script at the margin and the indented lines below it.
type step struct {
	line      int
	verb, arg string
	body      []string
}

func readScript(t *testing.T, path string) []step {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var steps []step
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			last := &steps[len(steps)-1]
			last.body = append(last.body, strings.TrimSpace(line))
		default:
			verb, arg, _ := strings.Cut(line, " ")
			steps = append(steps, step{line: n, verb: verb, arg: arg})
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

func runScript(t *testing.T, path string) {
	var sessions []*subject
	for _, step := range readScript(t, path) {
		if step.verb == "session" {
			sessions = append(sessions, newSubject(t, step))
			continue
		}
		t.Run(fmt.Sprintf("%s:%d", filepath.Base(path), step.line), func(t *testing.T) {
			runStep(t, step, sessions)
		})
	}
}

func newSubject(t *testing.T, step step) *subject {
	t.Helper()
	s := &subject{label: step.arg, properties: map[string]string{}}
	for _, line := range step.body {
		fact, value, _ := strings.Cut(line, " ")
		switch fact {
		case "id":
			s.id = value
		case "name":
			s.name = value
		case "maximum":
			s.maximum = integer(t, value)
		case "players":
			s.players = integer(t, value)
		case "created":
			s.created = time.UnixMilli(int64(integer(t, value)))
		case "property":
			key, value, _ := strings.Cut(value, " ")
			s.properties[key] = value
		default:
			t.Fatalf("line %d: unknown fact %q", step.line, fact)
		}
	}
	return s
}

func integer(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func runStep(t *testing.T, step step, sessions []*subject) {
	want := strings.Fields(strings.Join(step.body, " "))
	switch step.verb {
	case "search":
		f, err := filter.Parse(step.arg)
		if err != nil {
			t.Fatal(err)
		}
		found := slices.DeleteFunc(slices.Clone(sessions), func(s *subject) bool { return !f.Match(s) })
		compareLabels(t, step, want, found)
	case "sort":
		order, err := filter.ParseSort(step.arg)
		if err != nil {
			t.Fatal(err)
		}
		sorted := slices.Clone(sessions)
		slices.SortStableFunc(sorted, func(a, b *subject) int { return order.Compare(a, b) })
		compareLabels(t, step, want, sorted)
	case "refuse":
		_, err := filter.Parse(step.arg)
		compareRefusal(t, step, "FilterExpression: ", err)
	case "refuse-sort":
		_, err := filter.ParseSort(step.arg)
		compareRefusal(t, step, "SortExpression: ", err)
	default:
		t.Fatalf("unknown verb %q", step.verb)
	}
}

func compareLabels(t *testing.T, step step, want []string, got []*subject) {
	t.Helper()
	labels := []string{}
	for _, s := range got {
		labels = append(labels, s.label)
	}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("%s %s (-want +got):\n%s", step.verb, step.arg, diff)
	}
}

func compareRefusal(t *testing.T, step step, prefix string, err error) {
	t.Helper()
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.InvalidRequest {
		t.Fatalf("%q: got error %v, want an InvalidRequestException", step.arg, err)
	}
	rest, ok := strings.CutPrefix(f.Message, prefix)
	if !ok {
		t.Errorf("%q: message %q does not begin with %q", step.arg, f.Message, prefix)
	}
	got := strings.Split(rest, "; column ")
	if len(got) != len(step.body) {
		t.Fatalf("%q: got mistakes %q, want %q", step.arg, got, step.body)
	}
	for i, want := range step.body {
		if !strings.HasPrefix(got[i], strings.TrimPrefix(want, pick(i > 0, "column "))) {
			t.Errorf("%q: mistake %d is %q, want %q", step.arg, i+1, got[i], want)
		}
	}
}

func pick(use bool, s string) string {
	if use {
		return s
	}
	return ""
}
