package release

import "testing"

func TestLine(t *testing.T) {
	i := Info{Number: "v0.1.0", Commit: "2578169012345678", Date: "2026-11-24T10:00:00Z", Modified: true, Go: "go1.26.8", Platform: "linux/amd64"}
	if got, want := i.Line("muster"), "muster v0.1.0 (commit 257816901234, 2026-11-24, modified) go1.26.8 linux/amd64"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Info{Number: "(devel)", Go: "go1.26.8", Platform: "linux/amd64"}).Line("muster"), "muster (devel) go1.26.8 linux/amd64"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
