package auth

import (
	"regexp"
	"strings"
	"testing"
)

func TestScope_Holds(t *testing.T) {
	t.Parallel()
	const fleet, queue = "arn:aws:gamelift:us-east-1:000000000000:fleet/fleet-1", "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/duel"
	red := map[string]string{"team": "red", "stage": "live"}
	for _, c := range []struct {
		scope    Scope
		resource string
		tags     map[string]string
		want     bool
	}{
		{Scope{Resources: []string{"arn:aws:gamelift:*:*:fleet/*"}}, fleet, nil, true},
		{Scope{Resources: []string{"arn:aws:gamelift:*:*:fleet/*"}}, queue, nil, false},
		{Scope{Resources: []string{"arn:aws:gamelift:*:*:fleet/x", "arn:aws:gamelift:*:*:gamesessionqueue/du*"}}, queue, nil, true},
		{Scope{Tags: map[string]string{"team": "red"}}, fleet, red, true},
		{Scope{Tags: map[string]string{"team": "red", "stage": "test"}}, fleet, red, false},
		{Scope{Tags: map[string]string{"team": "red"}}, fleet, nil, false},
		{Scope{Tags: map[string]string{"team": ""}}, fleet, nil, false},
		{Scope{Resources: []string{"arn:aws:gamelift:*:*:fleet/*"}, Tags: map[string]string{"team": "blue"}}, fleet, red, false},
	} {
		caller := Caller{Role: Operator, Scope: c.scope, tags: func(string) map[string]string { return c.tags }}
		if got := caller.Reaches(c.resource); got != c.want {
			t.Errorf("%s of %v in scope %s: %t, want %t", c.resource, c.tags, c.scope, got, c.want)
		}
		if err := caller.May("DescribeFleetAttributes", c.resource); (err == nil) != c.want {
			t.Errorf("%s of %v in scope %s: %v", c.resource, c.tags, c.scope, err)
		}
		if caller.May("DescribeFleetAttributes") == nil {
			t.Errorf("scope %s lets the whole account be read", c.scope)
		}
	}
}

// FuzzMatch compares match with a regular expression.
func FuzzMatch(f *testing.F) {
	for _, c := range [][2]string{{"a*c", "abc"}, {"*", ""}, {"a*a", "a"}, {"*b*b*", "abab"}, {"", ""}, {"a**b", "ab"}, {"*ab*b", "abb"}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `(?s:.*)`)
		re, err := regexp.Compile(`\A` + quoted + `\z`)
		if err != nil {
			t.Skip()
		}
		if got, want := match(pattern, s), re.MatchString(s); got != want {
			t.Errorf("match(%q, %q) is %t, want %t", pattern, s, got, want)
		}
	})
}
