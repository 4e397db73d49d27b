package blob_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/blob"
)

func add(t *testing.T, s *blob.Store, content string) (blob.Ref, func()) {
	t.Helper()
	w, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	ref, release, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return ref, release
}

func read(t *testing.T, s *blob.Store, sha string) string {
	t.Helper()
	f, err := s.Open(sha)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func nobody() bool { return false }

func files(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStore_SameContentOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := blob.New(dir)
	w, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "half")
	w.Abort() // it leaves nothing
	w.Abort()
	a, _ := add(t, s, "hello")
	b, _ := add(t, s, "hello")
	const want = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if a != b || a.SHA256 != want || a.Size != 5 {
		t.Errorf("got %+v and %+v", a, b)
	}
	if n := files(t, dir); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
	if got := read(t, s, want); got != "hello" {
		t.Errorf("read %q", got)
	}
}

func TestRemove_PinnedAndUsed(t *testing.T) {
	t.Parallel()
	s := blob.New(t.TempDir())
	ref, release := add(t, s, "x")
	_, again := add(t, s, "x")
	remove := func(used bool) bool {
		t.Helper()
		gone, err := s.Remove(ref.SHA256, func() bool { return used })
		if err != nil {
			t.Fatal(err)
		}
		return gone
	}
	release()
	release() // a second call has no effect
	if remove(false) {
		t.Error("removed what a second writer had pinned")
	}
	again()
	if remove(true) {
		t.Error("removed what is used")
	}
	if !remove(false) || remove(false) {
		t.Error("want it removed once")
	}
	if _, err := s.Open(ref.SHA256); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("open: %v, want ErrMissing", err)
	}
}

// A removal that a pin prevented is reported once, when the last pin is released.
func TestRemove_SparedIsTold(t *testing.T) {
	t.Parallel()
	s := blob.New(t.TempDir())
	var told []string
	s.OnSpared(func(sha string) { told = append(told, sha) })
	ref, release := add(t, s, "x")
	reading := s.Pin(ref.SHA256)
	if gone, err := s.Remove(ref.SHA256, nobody); gone || err != nil {
		t.Fatalf("removed a pinned content: %v, %v", gone, err)
	}
	release()
	if len(told) != 0 {
		t.Error("told while a pin is left")
	}
	reading()
	if len(told) != 1 || told[0] != ref.SHA256 {
		t.Fatalf("told of %v, want of the content, once", told)
	}
	s.Pin(ref.SHA256)()
	if len(told) != 1 {
		t.Error("told again though nobody wanted it removed since")
	}
	if gone, err := s.Remove(ref.SHA256, nobody); !gone || err != nil {
		t.Errorf("removed %v, %v", gone, err)
	}
}

func TestOpen_NamesThatAreNone(t *testing.T) {
	t.Parallel()
	s := blob.New(t.TempDir())
	for _, name := range []string{"", "..", "../../etc/passwd", "ABCD", string(make([]byte, 64))} {
		if _, err := s.Open(name); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("%q: %v, want ErrMissing", name, err)
		}
		if gone, err := s.Remove(name, nobody); gone || err != nil {
			t.Errorf("remove %q: %v, %v", name, gone, err)
		}
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made later")
	s := blob.New(dir)
	if _, _, err := s.Sweep(time.Now(), nil); err != nil {
		t.Errorf("before anything was added: %v", err)
	}
	kept, release := add(t, s, "kept")
	release()
	pinned, _ := add(t, s, "pinned")
	stray, release := add(t, s, "stray")
	release()
	half, err := s.Create() // as a crash leaves it
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(half, "half")
	foreign := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(foreign, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	used := func(sha string) bool { return sha == kept.SHA256 }
	if n, _, err := s.Sweep(time.Now().Add(-time.Hour), used); n != 0 || err != nil {
		t.Errorf("swept %d young files, %v", n, err)
	}
	n, bytes, err := s.Sweep(time.Now().Add(time.Hour), used)
	if n != 2 || bytes != 9 || err != nil {
		t.Errorf("swept %d files of %d bytes, %v; want the stray and the half", n, bytes, err)
	}
	if read(t, s, kept.SHA256) != "kept" || read(t, s, pinned.SHA256) != "pinned" {
		t.Error("what is used or pinned must stay")
	}
	if _, err := s.Open(stray.SHA256); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("stray: %v", err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file that is no content was touched: %v", err)
	}
}

// Concurrent writers and removers of the same content: content that a writer was told
// is there stays there until the writer releases it.
func TestStore_AddAgainstRemove(t *testing.T) {
	t.Parallel()
	s := blob.New(t.TempDir())
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.Remove("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", nobody)
			}
		}
	})
	for range 50 {
		ref, release := add(t, s, "x")
		if got := read(t, s, ref.SHA256); got != "x" {
			t.Errorf("read %q", got)
		}
		release()
	}
	close(stop)
	wg.Wait()
}
