package setup

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/ziptest"
	"github.com/musterhq/muster/setup"
	"github.com/musterhq/muster/setup/live"
	"github.com/musterhq/muster/test/node"
)

// server starts a server and returns it as 'muster apply' sees it.
func server(t *testing.T) *live.Server {
	t.Helper()
	a := node.InProcess(t, nil)
	return &live.Server{API: node.Client(a.URL()), Endpoint: a.URL(), Region: "us-east-1", Patience: time.Minute, Every: 10 * time.Millisecond}
}

// apply makes a server what a set-up describes, and nothing else.
func apply(t *testing.T, s *live.Server, want *setup.Setup) {
	t.Helper()
	if err := live.Digests(want, nil); err != nil {
		t.Fatal(err)
	}
	state, err := live.Read(t.Context(), s.API)
	if err != nil {
		t.Fatal(err)
	}
	plan := setup.Compare(want, state.Setup, true)
	if err := s.Apply(t.Context(), want, state, plan); err != nil {
		t.Fatalf("%v\nthe plan was %+v", err, plan)
	}
	state, err = live.Read(t.Context(), s.API)
	if err != nil {
		t.Fatal(err)
	}
	if rest := setup.Compare(want, state.Setup, true); len(rest) > 0 {
		text, _ := want.Text()
		t.Fatalf("after the plan %+v there is still %+v to do\n%s", plan, rest, text)
	}
}

// export returns the file of a server's set-up, as it is read again.
func export(t *testing.T, s *live.Server) *setup.Setup {
	t.Helper()
	state, err := live.Read(t.Context(), s.API)
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Notes) > 0 {
		t.Errorf("notes: %q", state.Notes)
	}
	text, err := state.Setup.Text()
	if err != nil {
		t.Fatal(err)
	}
	read, err := setup.Parse("exported", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return read
}

// archived writes an archive for builds.
func archived(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "build.zip")
	if err := os.WriteFile(name, ziptest.Make(t, map[string]string{"game": "#!/bin/sh\nexec sleep 600\n"}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A server becomes one random set-up after another; what it exports makes an empty server the
// same. So each resource is created, changed, replaced and deleted, and nothing gets lost in
// the file.
func TestExport_IsTheSetup(t *testing.T) {
	t.Parallel()
	first, second := server(t), server(t)
	for _, s := range []*live.Server{first, second} {
		machine(t, s.Endpoint, "")
	}
	archive := archived(t)
	seed := rand.IntN(1 << 30)
	t.Logf("the seed is %d", seed)
	for i := range 12 {
		apply(t, first, setups(archive, i%4 > 1).Example(seed+i)) // two with managed fleets, one after the other
		out := export(t, first)
		for _, b := range out.Builds {
			b.Archive = archive
		}
		apply(t, second, &setup.Setup{}) // a file says nothing of members that have no value
		apply(t, second, out)
		for _, b := range out.Builds {
			b.Archive = ""
		}
		if diff := cmp.Diff(out, export(t, second), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Fatalf("set-up %d: the second server exports another set-up (-first +second):\n%s", i, diff)
		}
	}
}
