package filter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/session/filter"
)

func TestParse_Bounds(t *testing.T) {
	t.Parallel()
	const leaf = "maximumSessions=1"
	cases := []struct {
		name, expression, mistake string
	}{
		{"64 parentheses", strings.Repeat("(", 64) + leaf + strings.Repeat(")", 64), ""},
		{"65 parentheses", strings.Repeat("(", 65) + leaf + strings.Repeat(")", 65), "column 65: parentheses and NOT nest at most 64 deep"},
		{"64 NOT", strings.Repeat("NOT ", 64) + leaf, ""},
		{"65 NOT", strings.Repeat("NOT ", 65) + leaf, "column 257: parentheses and NOT nest at most 64 deep"},
		{"511 tokens", leaf + strings.Repeat(" OR "+leaf, 127), ""},
		{"515 tokens", leaf + strings.Repeat(" OR "+leaf, 128), "an expression holds at most 512 words, values and signs"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := filter.Parse(c.expression)
			switch {
			case c.mistake == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case c.mistake != "" && (err == nil || !strings.Contains(err.Error(), c.mistake)):
				t.Errorf("got %v, want %q", err, c.mistake)
			}
		})
	}
	_, err := filter.Parse("x=1" + strings.Repeat(" AND x=1", 20))
	if got := strings.Count(err.Error(), "unknown attribute"); got != 8 {
		t.Errorf("got %d mistakes, want 8: %v", got, err)
	}
}

// counting is a subject that counts calls for its player sessions.
type counting struct {
	subject
	counts int
}

func (c *counting) PlayerSessionCount() int {
	c.counts++
	return c.players
}

func TestMatch_CountsPlayersOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	cases := []struct {
		expression string
		counts     int
	}{
		{"maximumSessions = 4", 0},
		{"maximumSessions = 5 AND playerSessionCount = 1", 0},
		{"maximumSessions = 4 OR hasAvailablePlayerSessions = true", 0},
		{"maximumSessions = 4 AND playerSessionCount = 1", 1},
	}
	for _, c := range cases {
		f, err := filter.Parse(c.expression)
		if err != nil {
			t.Fatal(err)
		}
		s := &counting{subject: subject{maximum: 4, players: 1}}
		f.Match(s)
		if s.counts != c.counts {
			t.Errorf("%q counted %d times, want %d", c.expression, s.counts, c.counts)
		}
	}
}

func TestNil_MatchesAllAndLeavesOrder(t *testing.T) {
	t.Parallel()
	var f *filter.Filter
	var o *filter.Sort
	if !f.Match(&subject{}) || o.Compare(&subject{maximum: 1}, &subject{}) != 0 {
		t.Error("a nil filter must match and a nil sort must leave the order")
	}
}

// A search as a lobby sends it, of a session for which all of it is evaluated.
func TestMatch_AllocatesNothing(t *testing.T) {
	f, err := filter.Parse(`gameSessionProperties.map = 'winter' AND maximumSessions >= 4 AND ` +
		`creationTimeMillis > 1462233600000 AND (hasAvailablePlayerSessions = true OR NOT gameSessionName = 'x')`)
	if err != nil {
		t.Fatal(err)
	}
	o, err := filter.ParseSort("creationTimeMillis DESC")
	if err != nil {
		t.Fatal(err)
	}
	s := &subject{maximum: 4, players: 4, created: time.UnixMilli(1462233600001), properties: map[string]string{"map": "winter"}}
	if !f.Match(s) {
		t.Error("the session must match")
	}
	if got := testing.AllocsPerRun(100, func() { f.Match(s); o.Compare(s, s) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}
