package nearest

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ word, names, want string }{
		{"tickts", "fleets tickets players", "tickets"},
		{"TeamNames", "name teamName rules", "teamName"},
		{"pl", "placements players", "placements"},
		{"a", "apply", ""}, // a letter says too little
		{"queue", "xxxxx zebra", ""},
		{"", "apply", ""},
		{"apply", "", ""},
		{strings.Repeat("a", 101), strings.Repeat("a", 200), strings.Repeat("a", 200)}, // as its beginning
		{strings.Repeat("a", 300), strings.Repeat("a", 200), ""},
	} {
		if got := Of(c.word, strings.Fields(c.names)); got != c.want {
			t.Errorf("the nearest to %q of %q is %q, want %q", c.word, c.names, got, c.want)
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word string
		most int
		want string
	}{{"explan", 1, "explain"}, {"EXPLIAN", 1, "explain"}, {"explian", 0, ""}, {"exp", 2, ""}, {"list", 0, "list"}, {"duel", 2, ""}} {
		if got := Within(c.word, []string{"list", "explain", "export"}, c.most); got != c.want {
			t.Errorf("the nearest to %q within %d is %q, want %q", c.word, c.most, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"abc", "acb", 1}, {"ca", "abc", 3}, {"ulr", "url", 1}, {"bacd", "abdc", 2}, {"abc", "abc", 0}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
