package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
)

// smallDisk mounts a disk of a few MiB, or skips the test if that is not allowed.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("muster-test", dir, "tmpfs", 0, "size=12m"); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill uses up the remaining space on the disk of a directory; the returned function
// frees it again.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	f := must(os.Create(filepath.Join(dir, "filler")))(t)
	for size := 1 << 20; size > 0; size /= 2 {
		var err error
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	f.Close()
	return func() {
		check(t, os.Remove(f.Name()))
	}
}

// TestFullDisk checks that a server whose disk is full reports it to writers and, after a
// while, in /readyz; that it recovers by itself, and does not start without space.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t)
	o := options(t, func(o *app.Options) { o.Store, o.DataDir, o.LeaseTTL = "sqlite", dir, time.Second })
	a := begin(t, o)
	c := &client.Client{Endpoint: a.URL()}
	write := func(n int) error {
		name := "custom-" + strings.Repeat("a", 1+n%40) + strings.Repeat("b", n/40)
		return c.Call(t.Context(), "CreateLocation", map[string]any{"LocationName": name}, nil)
	}
	free := fill(t, dir)
	var err error
	n := 0
	for ; err == nil && n < 2000; n++ {
		err = write(n)
	}
	if err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("write %d on a full disk: %v", n, err)
	}
	wait.For(t, "/readyz says that the disk is full", func() error {
		write(n) // like other callers
		status, body := get(t, a.URL()+"/readyz")
		if status != 503 || !strings.Contains(body, "disk of the database is full") {
			return fmt.Errorf("it is %d %s", status, body)
		}
		return nil
	})
	free()
	wait.For(t, "a write succeeds with room again", func() error {
		n++
		return write(n)
	})
	if status, body := get(t, a.URL()+"/readyz"); status != 200 {
		t.Errorf("/readyz with room again is %d %s", status, body)
	}
	stop(t, a)

	fill(t, dir)
	again, err := app.New(o)
	if err == nil {
		if err = again.Start(t.Context()); err == nil {
			again.Stop(t.Context())
		}
	}
	if err == nil || !strings.Contains(err.Error(), "full") || !strings.Contains(err.Error(), dir) {
		t.Errorf("a start on a full disk: %v", err)
	}
}
