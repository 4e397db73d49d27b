package filter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session/filter"
)

// subjects are game sessions that differ in each attribute.
var subjects = []*subject{
	{maximum: 1},
	{id: "a", name: "b", maximum: 2, players: 2, created: time.UnixMilli(1), properties: map[string]string{"a": "x"}},
	{id: "b", name: "Matt's Game", maximum: 9, players: 3, created: time.UnixMilli(2), properties: map[string]string{"a": "y"}},
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"playerSessionCount>=2", `gameSessionName = 'Matt\'s Game' AND NOT (maximumSessions<1 OR maximumSessions>9)`,
		`gameSessionProperties.a.b <> "x"`, "hasAvailablePlayerSessions = TRUE", "((", "'", "a != 1", "maximumSessions = -0.50",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		parsed, err := filter.Parse(expression)
		if err != nil {
			if !fault.Is(err, fault.InvalidRequest) {
				t.Fatalf("%q: error %v is not a fault", expression, err)
			}
			return
		}
		negated, err := filter.Parse("NOT (" + expression + ")")
		if err != nil {
			if text := err.Error(); !strings.Contains(text, "nest at most") && !strings.Contains(text, "holds at most") {
				t.Fatalf("%q is an expression, and NOT (…) of it is none: %v", expression, err)
			}
			return
		}
		for _, s := range subjects {
			if parsed.Match(s) == negated.Match(s) {
				t.Fatalf("%q and NOT (…) of it agree on %+v", expression, s)
			}
		}
	})
}

func FuzzParseSort(f *testing.F) {
	for _, seed := range []string{"creationTimeMillis DESC", "gameSessionProperties.a.b asc", "maximumSessions", "x", "'a' ASC"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		parsed, err := filter.ParseSort(expression)
		if err != nil {
			if !fault.Is(err, fault.InvalidRequest) {
				t.Fatalf("%q: error %v is not a fault", expression, err)
			}
			return
		}
		for _, a := range subjects {
			for _, b := range subjects {
				if parsed.Compare(a, b) != -parsed.Compare(b, a) {
					t.Fatalf("%q: %+v and %+v are each before the other", expression, a, b)
				}
			}
		}
	})
}
