package protocol

import "testing"

func TestIsBasePath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"": true, "/": true, "/regions/eu-central-1": true, "/regions/eu-central-1/": true,
		"/regions": false, "/regions/": false, "/regions/eu-central-1/agent": false, "/muster": false,
	} {
		if got := IsBasePath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}
