// Package release says which release a program is, and which releases work together.
package release

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Apart is how many minor releases may lie between two programs that work together, such as
// an agent and its server. Nothing is refused beyond that, but it is not tested.
const Apart = 2

// Of returns the number in what a program says of itself, or all of it if there is none.
func Of(text string) string {
	words := strings.Fields(text)
	for _, word := range words[:min(len(words), 2)] {
		if word == "(devel)" || form.MatchString(word) {
			return word
		}
	}
	return text
}

// form is that of a version.
var form = regexp.MustCompile(`^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})`)

// numbered is the part of a release's number that decides.
type numbered struct{ major, minor int }

// parse reads a number. Builds of commits before the first release have none.
func parse(number string) (v numbered, ok bool) {
	parts := form.FindStringSubmatch(number)
	if parts == nil || strings.TrimPrefix(parts[0], "v") == "0.0.0" {
		return v, false
	}
	v.major, _ = strconv.Atoi(parts[1])
	v.minor, _ = strconv.Atoi(parts[2])
	return v, true
}

// Unsupported returns why a program of one release is not supported beside one of another,
// or "" if it is, or if it is not known of which release one of them is.
func Unsupported(one, other string) string {
	a, ok := parse(one)
	b, known := parse(other)
	switch {
	case !ok || !known:
		return ""
	case a.major != b.major:
		return fmt.Sprintf("%s and %s are of different major releases, which is not supported", one, other)
	case max(a.minor-b.minor, b.minor-a.minor) > Apart:
		return fmt.Sprintf("%s and %s are more than %d minor releases apart, which is not supported", one, other, Apart)
	}
	return ""
}
