package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/internal/wait"
)

// shelf is a sink in memory that a test controls.
type shelf struct {
	mu    sync.Mutex
	kept  bytes.Buffer
	sizes []int        // lines of each stored batch
	trip  func() error // called after a batch was stored, unless nil
	down  error        // if set, Keep fails with it
}

func (s *shelf) Keep(_ context.Context, lines []byte, _ uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	s.kept.Write(lines)
	s.sizes = append(s.sizes, bytes.Count(lines, []byte("\n")))
	if s.trip != nil {
		return s.trip()
	}
	return nil
}

func (s *shelf) set(down error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *shelf) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.String()
}

// exported returns the verdict of VerifyExport on texts.
func exported(t *testing.T, texts ...string) audit.Verdict {
	t.Helper()
	var files []io.Reader
	for _, text := range texts {
		files = append(files, strings.NewReader(text))
	}
	v, err := audit.VerifyExport(files...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestExport exports records while the sink fails and after it recovers: all in order,
// and each once as long as nothing is interrupted.
func TestExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &shelf{}
		s := newSite(t, store.NewMemory(), audit.Options{Sink: sink})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() { defer close(done); s.log.Export(ctx) }()
		for i := range 1200 {
			s.act(t, "CreateFleet", audit.OK, fmt.Sprint(i))
		}
		wait.Pass(time.Second)
		if v := exported(t, sink.text()); v.Problem != "" || v.Records != 1200 || v.From != 1 {
			t.Errorf("the sink keeps %+v", v)
		}
		if n := strings.Count(sink.text(), "\n"); n != 1200 {
			t.Errorf("the sink was given %d lines for 1200 records", n)
		}
		sink.set(errors.New("away"))
		for i := range 10 {
			s.act(t, "CreateFleet", audit.OK, fmt.Sprint("more", i))
		}
		wait.Pass(10 * time.Minute)
		if n := strings.Count(sink.text(), "\n"); n != 1200 {
			t.Errorf("a sink that is away keeps %d lines", n)
		}
		sink.set(nil)
		wait.Pass(2 * time.Minute) // the longest pause, and some more
		v := exported(t, sink.text())
		if own := s.whole(t); v.Problem != "" || v.Last != 1210 || v.Hash != own.Hash {
			t.Errorf("after it came back the sink keeps %+v, the log %+v", v, own)
		}
		cancel()
		<-done
		s.Close()
	})
}

// TestExport_TakenOver ends a server after the sink stored a batch and before the
// cursor moved: the server that takes over sends that batch again, and nothing is
// missing.
func TestExport_TakenOver(t *testing.T) {
	t.Parallel()
	dir, sink := t.TempDir(), &shelf{}
	for round := range 3 {
		s := newSite(t, sqlite.New(dir), audit.Options{Sink: sink})
		ctx, cancel := context.WithCancel(t.Context())
		sink.trip = func() error { cancel(); return nil } // ends the server before the cursor moves
		for i := range 4 {
			s.act(t, "CreateFleet", audit.OK, fmt.Sprint(round, i))
		}
		s.log.Export(ctx)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	v := exported(t, sink.text())
	if v.Problem != "" || v.From != 1 || v.Last != 12 {
		t.Errorf("what three servers handed over is %+v", v)
	}
	if len(sink.sizes) != 3 || sink.sizes[1] < 8 {
		t.Errorf("the batches have %v lines: the second server did not give again what the first had not noted", sink.sizes)
	}
}

// TestVerifyExport_Tampered changes an export as someone with access to it could.
func TestVerifyExport_Tampered(t *testing.T) {
	t.Parallel()
	sink := &shelf{}
	s := newSite(t, store.NewMemory(), audit.Options{Sink: sink})
	for i := range 5 {
		s.act(t, "CreateFleet", audit.OK, fmt.Sprint(i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	sink.trip = func() error { cancel(); return nil }
	s.log.Export(ctx)
	lines := strings.SplitAfter(strings.TrimSuffix(sink.text(), "\n"), "\n")
	edit := func(i int, old, new string) []string {
		all := append([]string(nil), lines...)
		all[i] = strings.Replace(all[i], old, new, 1)
		if all[i] == lines[i] {
			t.Fatalf("line %d has no %s: %s", i, old, lines[i])
		}
		return all
	}
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"nothing":                 {lines, ""},
		"in another order, twice": {append([]string{lines[4] + "\n", lines[2], lines[3]}, lines...), ""},
		"a part of it":            {lines[1:4], ""},
		"an edit":                 {edit(1, `"KEY"`, `"ME"`), "record 3 does not follow record 2"},
		"another number":          {edit(1, `"seq":2`, `"seq":9`), "record 2 is missing"},
		"a gap":                   {append(append([]string(nil), lines[:2]...), lines[3:]...), "record 3 is missing"},
		"two of the same number":  {append(edit(1, `"KEY"`, `"ME"`), "\n"+lines[1]), "record 2 is there twice"},
	} {
		if v := exported(t, strings.Join(c.lines, "")); (v.Problem == "") != (c.want == "") || !strings.Contains(v.Problem, c.want) {
			t.Errorf("%s: the verdict is %+v, want %q", name, v, c.want)
		}
	}
	if v := exported(t, strings.Join(lines[:2], ""), strings.Join(lines[2:], "")); v.Problem != "" || v.Records != 5 {
		t.Errorf("two files: %+v", v)
	}
	for name, text := range map[string]string{"nothing": "", "no JSON": "x\n", "no number": "{}\n", "a line cut off": lines[0][:30]} {
		if v, err := audit.VerifyExport(strings.NewReader(text)); err == nil {
			t.Errorf("%s is an export: %+v", name, v)
		}
	}
}

// TestFile stores records in a file whose last line is incomplete, and after it was
// moved away; another program's file is refused.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	keep := func(text string) error { return audit.File(path).Keep(t.Context(), []byte(text), 1) }
	is := func(what, want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: the file holds %q, %v; want %q", what, got, err, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const one, two = "{\"seq\":1}\n", "{\"seq\":2}\n"
	for _, text := range []string{one, two} {
		if err := keep(text); err != nil {
			t.Fatal(err)
		}
	}
	is("two batches", one+two)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	for _, torn := range []string{"{", `{"seq":2`, `{"seq":2,"time":"2026-`} {
		write(one + torn)
		if err := keep(two); err != nil {
			t.Error(err)
		}
		is("a line that was cut off after "+torn, one+two)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := keep(one); err != nil {
		t.Error(err)
	}
	is("after it was moved away", one)
	write("[server]\nport = 1")
	if err := keep(one); err == nil || !strings.Contains(err.Error(), "no file of audit records") {
		t.Errorf("another program's file: %v", err)
	}
	is("another program's file", "[server]\nport = 1")
	if err := audit.File(t.TempDir()).Keep(t.Context(), []byte(one), 1); err == nil {
		t.Error("a directory keeps records")
	}
}

func FuzzVerifyExport(f *testing.F) {
	f.Add("{\"seq\":1,\"outcome\":\"ok\",\"previous\":\"\"}\n{\"seq\":2}\n")
	f.Add("{\"seq\":18446744073709551615,\"time\":\"2026-01-01T00:00:00Z\"}\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := audit.VerifyExport(strings.NewReader(text))
		if err == nil && v.Problem == "" && (v.Records == 0 || v.Records != v.Last-v.From+1) {
			t.Errorf("%q is whole, with %+v", text, v)
		}
	})
}
