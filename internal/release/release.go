// Package release says of which release this program is, and which releases work together.
package release

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Apart is how many minor releases may lie between two programs that work together, such as
// an agent and its server. Nothing is refused beyond that, but it is not tested.
const Apart = 2

// linked is the number of a program that tests use as another release; the linker sets it.
var linked string

// Number returns the version of this program as the Go toolchain recorded it: v0.1.0, a
// version between releases such as v0.1.1-0.20261124144000-257816903d49, or (devel).
func Number() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Text returns what a program says of itself: its name, the number, the commit it was built
// from if that is known, the version of Go and the platform.
func Text(program string) string {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return fmt.Sprintf("%s %s%s %s %s/%s", program, Number(), revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

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
var form = regexp.MustCompile(`^v(\d{1,6})\.(\d{1,6})\.(\d{1,6})`)

// version is the part of a version that decides.
type version struct{ major, minor int }

// parse reads a version. Builds of commits before the first release have none.
func parse(number string) (v version, ok bool) {
	parts := form.FindStringSubmatch(number)
	if parts == nil || parts[0] == "v0.0.0" {
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
