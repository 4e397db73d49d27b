package terminal

import (
	"testing"

	"github.com/musterhq/muster/cli/client"
)

func TestAdded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, now client.LogStream
		want        string
	}{
		"the first look":         {client.LogStream{}, client.LogStream{Text: "a\nb\n", End: 100}, "a\nb\n"},
		"nothing":                {client.LogStream{Text: "a\n", End: 2}, client.LogStream{Text: "a\n", End: 2}, ""},
		"more":                   {client.LogStream{Text: "a\n", End: 2}, client.LogStream{Text: "a\na\n", End: 4}, "a\n"},
		"more than is kept":      {client.LogStream{Text: "a\n", End: 2}, client.LogStream{Text: "y\nz\n", End: 99}, "y\nz\n"},
		"another file":           {client.LogStream{Text: "a\nb\n", End: 90}, client.LogStream{Text: "a\nb\nc\n", End: 2}, "c\n"},
		"without a count":        {client.LogStream{Text: "a\nb\nc\n"}, client.LogStream{Text: "b\nc\nd\n"}, "d\n"},
		"nothing, not counted":   {client.LogStream{Text: "a\nb\n"}, client.LogStream{Text: "a\nb\n"}, ""},
		"an unfinished line":     {client.LogStream{Text: "a\nb"}, client.LogStream{Text: "a\nbc\n"}, "c\n"},
		"all else, not counted":  {client.LogStream{Text: "a\n"}, client.LogStream{Text: "x\n"}, "x\n"},
		"empty, then not":        {client.LogStream{}, client.LogStream{Text: "x"}, "x"},
		"counted from now on":    {client.LogStream{Text: "a\nb\n"}, client.LogStream{Text: "a\nb\nc\n", End: 6}, "c\n"},
		"shorter than it counts": {client.LogStream{Text: "a", End: 1}, client.LogStream{Text: "", End: 5}, ""},
	} {
		if got := added(c.before, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
