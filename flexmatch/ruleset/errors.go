package ruleset

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/fault"
)

// Error is one thing wrong with a rule set.
type Error struct {
	Code    Code
	Line    int    // from 1
	Column  int    // in characters, from 1
	Path    string // the member, such as rules[2].maxDistance; "" for the body itself
	Message string // the rule that is broken
}

// Error returns code, position, member and message in one line.
func (e Error) Error() string {
	return fmt.Sprintf("%s at %d:%d%s: %s", e.Code, e.Line, e.Column, after(" ", e.Path), e.Message)
}

// after returns s with sep before it, or "" if s is empty.
func after(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

// Errors lists everything wrong with a rule set, in the order of checking: body, version,
// teams, attributes, algorithm, rules, expansions.
type Errors []Error

// Error returns every error, one per line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Fault returns the InvalidRequestException for a caller. Its message begins with the
// code of the first error and contains all of them.
func (es Errors) Fault() error {
	return fault.Invalid("%s", strings.ReplaceAll(es.Error(), "\n", "; "))
}
