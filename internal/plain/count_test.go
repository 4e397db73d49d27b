package plain_test

import (
	"testing"

	"github.com/musterhq/muster/internal/plain"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"1 queue":                 plain.Count(1, "queue"),
		"0 queues":                plain.Count(0, "queue"),
		"2 game server processes": plain.Count(2, "game server process"),
		"3 matches":               plain.Count(3, "match"),
		"4 policies":              plain.Count(4, "policy"),
		"5 keys":                  plain.Count(5, "key"),
		"1 alias":                 plain.Count(1, "alias"),
		"6 aliases":               plain.Count(6, "alias"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
