package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/ziptest"
)

func packed(t *testing.T, files map[string]string) ([]byte, Build) {
	t.Helper()
	content := ziptest.Make(t, files)
	sum := sha256.Sum256(content)
	return content, Build{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)), Format: "zip"}
}

func cache(t *testing.T, o Options) *Cache {
	t.Helper()
	o.Dir, o.RetryAfter = t.TempDir(), time.Millisecond
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// whole serves an archive. The first cut responses end after a few bytes.
func whole(content []byte, cut int, asked *[]int64) Source {
	var mu sync.Mutex
	return func(_ context.Context, _ string, offset int64) (io.ReadCloser, int64, error) {
		mu.Lock()
		defer mu.Unlock()
		*asked = append(*asked, offset)
		rest := content[offset:]
		if len(*asked) <= cut {
			return io.NopCloser(io.MultiReader(bytes.NewReader(rest[:10]), broken{})), offset, nil
		}
		return io.NopCloser(bytes.NewReader(rest)), offset, nil
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the wire broke") }

func TestInstall_ResumesAndRunsTheScriptOnce(t *testing.T) {
	t.Parallel()
	content, b := packed(t, map[string]string{
		"install.sh": "echo once >> runs\necho said something\n", "bin/game": "#!/bin/sh\n",
	})
	var asked []int64
	c := cache(t, Options{Source: whole(content, 2, &asked)})
	dir, err := c.Install(t.Context(), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 3 || asked[1] != 10 || asked[2] != 20 {
		t.Errorf("asked for offsets %v, want 0, 10, 20", asked)
	}
	if _, err := c.Install(t.Context(), b, nil); err != nil || len(asked) != 3 {
		t.Errorf("installed again: %v, %d downloads", err, len(asked))
	}
	if runs, err := os.ReadFile(filepath.Join(dir, "runs")); err != nil || string(runs) != "once\n" {
		t.Errorf("the script ran %q, %v", runs, err)
	}
	if said, err := os.ReadFile(dir + ".log"); err != nil || string(said) != "said something\n" {
		t.Errorf("the script's log holds %q, %v", said, err)
	}
	for _, name := range []string{"one", "two"} {
		tree := filepath.Join(t.TempDir(), name)
		if err := Tree(dir, tree); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(tree); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the tree is %v, %v; want mode 0700", info.Mode(), err)
		}
		if err := os.WriteFile(filepath.Join(tree, "bin", "new.log"), nil, 0o600); err != nil {
			t.Errorf("nothing can be written beside the program: %v", err)
		}
		if info, err := os.Stat(filepath.Join(tree, "bin", "game")); err != nil || info.Mode().Perm() != 0o555 {
			t.Errorf("the program is %v, %v; want mode 0555", info.Mode(), err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", "new.log")); err == nil {
		t.Error("what one instance wrote is in the shared build")
	}
}

// A script is run by the interpreter that it names.
func TestInstall_Interpreter(t *testing.T) {
	t.Parallel()
	content, b := packed(t, map[string]string{"install.sh": "#!/bin/cat -n\nwords\n"})
	c := cache(t, Options{Source: whole(content, 0, new([]int64))})
	dir, err := c.Install(t.Context(), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := os.ReadFile(dir + ".log"); err != nil || !strings.Contains(string(said), "2\twords") {
		t.Errorf("the script's log holds %q, %v; want what cat -n says", said, err)
	}
}

func TestInstall_OnceForAll(t *testing.T) {
	t.Parallel()
	content, b := packed(t, map[string]string{"game": "x"})
	var downloads atomic.Int32
	c := cache(t, Options{Source: func(context.Context, string, int64) (io.ReadCloser, int64, error) {
		downloads.Add(1)
		return io.NopCloser(bytes.NewReader(content)), 0, nil
	}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := c.Install(t.Context(), b, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if downloads.Load() != 1 {
		t.Errorf("%d downloads, want 1", downloads.Load())
	}
}

func TestInstall_Failures(t *testing.T) {
	t.Parallel()
	good, b := packed(t, map[string]string{"game": "x"})
	failing, bf := packed(t, map[string]string{"install.sh": "echo no compiler here >&2\nexit 7\n"})
	foreign, bc := packed(t, map[string]string{"install.sh": "#!/bin/sh\r\nset -e\r\nmkdir logs\r\n"})
	slow, bs := packed(t, map[string]string{"install.sh": "sleep 60\n"})
	hostile, bh := packed(t, map[string]string{"../evil": "x"})
	wrong := bytes.Clone(good)
	wrong[len(wrong)-1] ^= 1
	serve := func(content []byte) Source {
		return func(context.Context, string, int64) (io.ReadCloser, int64, error) {
			return io.NopCloser(bytes.NewReader(content)), 0, nil
		}
	}
	for name, tt := range map[string]struct {
		opts  Options
		build Build
		stage Stage
		text  string
	}{
		"checksum": {Options{Source: serve(wrong)}, b, Download, "does not have the build's checksum"},
		"too long": {Options{Source: serve(append(bytes.Clone(good), 'x'))}, b, Download, "in 5 tries"},
		"no server": {Options{Source: func(context.Context, string, int64) (io.ReadCloser, int64, error) {
			return nil, 0, errors.New("503")
		}}, b, Download, "503"},
		"script":    {Options{Source: serve(failing)}, bf, Script, "no compiler here"},
		"line ends": {Options{Source: serve(foreign)}, bc, Script, "install.sh has Windows line ends (CRLF), which a shell takes for part of each line: save it with Unix ones (LF)"},
		"too slow":  {Options{Source: serve(slow), ScriptTime: 50 * time.Millisecond}, bs, Script, "still running"},
		"hostile":   {Options{Source: serve(hostile)}, bh, Unpack, "climbs out"},
		"full":      {Options{Source: serve(good), Free: func() (uint64, uint64) { return 100 << 20, 5 << 20 }}, b, Download, "too full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cache(t, tt.opts)
			dir, err := c.Install(t.Context(), tt.build, nil)
			var f *Failure
			if !errors.As(err, &f) || f.Stage != tt.stage || !strings.Contains(f.Text, tt.text) {
				t.Errorf("got %v, want a failure to %s with %q", err, tt.stage, tt.text)
			}
			if _, err := os.Stat(dir); err == nil && dir != "" {
				t.Error("the build counts as installed")
			}
		})
	}
}

func TestCollect_KeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	free := uint64(100)
	c := cache(t, Options{Free: func() (uint64, uint64) { return 100, free }})
	var shas []string
	for i := range 3 {
		content, b := packed(t, map[string]string{"game": strings.Repeat("x", i)})
		c.opts.Source = func(context.Context, string, int64) (io.ReadCloser, int64, error) {
			return io.NopCloser(bytes.NewReader(content)), 0, nil
		}
		b.Size = 0
		if _, err := c.Install(t.Context(), b, nil); err != nil {
			t.Fatal(err)
		}
		shas = append(shas, b.SHA256)
	}
	there := func() (n int) {
		for _, sha := range shas {
			if _, err := os.Stat(filepath.Join(c.opts.Dir, "builds", sha)); err == nil {
				n++
			}
		}
		return n
	}
	if err := c.Collect(nil); err != nil || there() != 3 {
		t.Fatalf("with room, %d builds are left, %v", there(), err)
	}
	free = 10
	if err := c.Collect(map[string]bool{shas[1]: true}); err != nil || there() != 1 {
		t.Fatalf("on a full disk, %d builds are left, %v; want the used one", there(), err)
	}
}

// Builds are unpacked where other games of the machine could look: only its owner can
// access a build, even before its script runs.
func TestInstall_UnpacksForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	content, b := packed(t, map[string]string{"game": "x", "install.sh": "true\n"})
	var mode os.FileMode
	c := cache(t, Options{Source: whole(content, 0, new([]int64)), Staging: t.TempDir(), Guest: func(cmd *exec.Cmd, dir string) (func() error, error) {
		info, err := os.Stat(dir)
		if err == nil {
			mode = info.Mode().Perm()
			err = cmd.Start()
		}
		return func() error { return nil }, err
	}})
	dir, err := c.Install(t.Context(), b, nil)
	if err != nil || mode != 0o700 {
		t.Errorf("the unpacked build has mode %v, %v, want 0700", mode, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the installed build: %v, %v, want mode 0700", info, err)
	}
}

// An archive with one flipped bit anywhere, or that is truncated or extended, is not
// unpacked.
func TestInstall_AnyFlippedBitIsRefused(t *testing.T) {
	t.Parallel()
	good, b := packed(t, map[string]string{"game": "x"})
	var content []byte
	c := cache(t, Options{Tries: 1, Source: func(context.Context, string, int64) (io.ReadCloser, int64, error) {
		return io.NopCloser(bytes.NewReader(content)), 0, nil
	}})
	refused := func(what string, at int) {
		t.Helper()
		dir, err := c.Install(t.Context(), b, nil)
		var f *Failure
		if !errors.As(err, &f) || f.Stage != Download {
			t.Fatalf("%s %d: %v", what, at, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Fatalf("%s %d: it is unpacked", what, at)
		}
		if err := os.RemoveAll(filepath.Join(c.opts.Dir, "archives", b.SHA256+".part")); err != nil { // as after another attempt
			t.Fatal(err)
		}
	}
	for bit := range len(good) * 8 {
		content = bytes.Clone(good)
		content[bit/8] ^= 1 << (bit % 8)
		refused("bit", bit)
	}
	for n := range len(good) {
		content = good[:n]
		refused("cut off at", n)
	}
	content = append(bytes.Clone(good), 0)
	refused("too long by", 1)
	content = good
	if _, err := c.Install(t.Context(), b, nil); err != nil {
		t.Errorf("the archive itself: %v", err)
	}
}
