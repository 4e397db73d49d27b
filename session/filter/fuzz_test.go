package filter_test

import (
	"testing"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session/filter"
)

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
		parsed.Match(&subject{maximum: 1})
		again, err := filter.Parse(parsed.String())
		if err != nil {
			t.Fatalf("%q printed as %q: %v", expression, parsed, err)
		}
		if again.String() != parsed.String() {
			t.Fatalf("%q printed as %q, then as %q", expression, parsed, again)
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
		again, err := filter.ParseSort(parsed.String())
		if err != nil || again.String() != parsed.String() {
			t.Fatalf("%q printed as %q, then as %q (%v)", expression, parsed, again, err)
		}
	})
}
