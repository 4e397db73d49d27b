package release_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/release"
)

func TestUnsupported(t *testing.T) {
	for _, c := range []struct{ one, other, want string }{
		{"v0.1.0", "v0.1.9", ""},
		{"0.1.0", "v0.5.0", "0.1.0 and v0.5.0 are more than 2 minor releases apart, which is not supported"},
		{"v0.1.0", "v0.3.0", ""},
		{"v0.1.0", "v0.4.0", "v0.1.0 and v0.4.0 are more than 2 minor releases apart, which is not supported"},
		{"v0.4.1", "v0.1.0", "v0.4.1 and v0.1.0 are more than 2 minor releases apart, which is not supported"},
		{"v0.9.0", "v1.0.0", "v0.9.0 and v1.0.0 are of different major releases, which is not supported"},
		{"v0.1.1-0.20261124144000-257816903d49", "v0.4.0-rc.1", "v0.1.1-0.20261124144000-257816903d49 and v0.4.0-rc.1 are more than 2 minor releases apart, which is not supported"},
		{"v0.0.0-20261124144000-257816903d49", "v0.9.0", ""}, // a commit from before the first release
		{"(devel)", "v0.9.0", ""},
		{"1", "v0.9.0", ""},
		{"", "v0.9.0", ""},
		{"v0.9.0", "v99999999999999999999.1.0", ""},
	} {
		if got := release.Unsupported(c.one, c.other); got != c.want {
			t.Errorf("%q beside %q: %q, want %q", c.one, c.other, got, c.want)
		}
	}
}

func TestOf(t *testing.T) {
	text := release.This().Line("muster")
	if !strings.HasPrefix(text, "muster "+release.Number()+" ") || release.Of(text) != release.Number() {
		t.Errorf("the program says of itself %q, with the number %q in it", text, release.Of(text))
	}
	for text, want := range map[string]string{
		"muster v0.2.0 257816903d49 go1.26.0 linux/amd64": "v0.2.0",
		"muster 0.2.0 (commit 257816903d49) go1.26.0":     "0.2.0",
		"muster-kubernetes (devel) go1.26.0":              "(devel)",
		"1":                                               "1",
		"":                                                "",
		"my own v0.2":                                     "my own v0.2",
	} {
		if got := release.Of(text); got != want {
			t.Errorf("the number in %q is %q, want %q", text, got, want)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("muster v0.2.0 257816903d49 go1.26.0 linux/amd64", "v0.1.0")
	f.Fuzz(func(t *testing.T, text, other string) {
		one := release.Of(text)
		if (release.Unsupported(one, other) == "") != (release.Unsupported(other, one) == "") {
			t.Errorf("%q is supported beside %q, and not the other way round", one, other)
		}
	})
}
