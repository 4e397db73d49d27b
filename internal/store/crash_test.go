package store_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/backup"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// crashDir, if set, turns the test program into the writer that is killed.
const crashDir = "MUSTER_STORE_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		writeUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// writeUntilKilled puts ships from several goroutines and prints each id once its
// command is acknowledged.
func writeUntilKilled(dir string) {
	h := newHarbour(store.Options{Driver: sqlite.New(dir)})
	if err := h.Open(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var out sync.Mutex
	for range 8 {
		go func() {
			for {
				id, err := h.put.Do(context.Background(), ship{Port: strings.Repeat("p", 300)})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Println(id)
				out.Unlock()
			}
		}()
	}
	select {}
}

// TestCrash repeatedly kills a writing process: everything that was acknowledged must
// be there, and every command must be there whole or not at all. MUSTER_STORE_CRASHES
// sets the number of kills (default 5).
func TestCrash(t *testing.T) {
	t.Parallel()
	crashes := 5
	if text := os.Getenv("MUSTER_STORE_CRASHES"); text != "" {
		crashes = must[int](t)(strconv.Atoi(text))
	}
	var dir string
	var acknowledged map[string]bool
	total := 0
	for i := range crashes {
		if i%25 == 0 { // start with an empty directory now and then, so that reading stays fast
			dir, acknowledged = t.TempDir(), map[string]bool{}
		}
		before := len(acknowledged)
		killWriter(t, dir, 50+i*37%400, acknowledged)
		checkAcknowledged(t, dir, acknowledged)
		total += len(acknowledged) - before
	}
	t.Logf("%d kills, %d acknowledged ships", crashes, total)
}

// startWriter starts a writer, and returns it and the lines that it prints.
func startWriter(t *testing.T, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	cmd.Stderr = os.Stderr
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// killWriter kills a writer after it has acknowledged some ships.
func killWriter(t *testing.T, dir string, after int, acknowledged map[string]bool) {
	t.Helper()
	cmd, lines := startWriter(t, dir)
	for n := 0; lines.Scan(); n++ {
		if n == after {
			cmd.Process.Kill()
		}
		if id := lines.Text(); len(id) == len("ship-")+36 { // the last line may be cut
			acknowledged[id] = true
		}
	}
	cmd.Wait()
}

func checkAcknowledged(t *testing.T, dir string, acknowledged map[string]bool) {
	t.Helper()
	h := newHarbour(store.Options{Driver: sqlite.New(dir)})
	if err := h.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	view := h.View()
	for id := range acknowledged {
		if h.ships.Get(view, id) == nil {
			t.Errorf("acknowledged ship %s is lost", id)
		}
	}
	if ships, notes := h.ships.Len(view), h.sightings.Last(view); uint64(ships) != notes || view.Seq() != notes {
		t.Errorf("%d ships, %d sightings, sequence %d: a command was kept in part", ships, notes, view.Seq())
	}
	report := must[store.Report](t)(h.Verify(t.Context()))
	if len(report.Problems) > 0 || report.Digest != view.Digest() {
		t.Errorf("after the crash: %q", report.Problems)
	}
}

// TestBackup_WhileAnotherProcessWrites backs up a database that another process
// writes.
func TestBackup_WhileAnotherProcessWrites(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), t.TempDir()+"/backup.db"
	cmd, lines := startWriter(t, dir)
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var before []string
	for len(before) < 200 && lines.Scan() {
		before = append(before, lines.Text())
	}
	go func() {
		for lines.Scan() { // so that it goes on writing
		}
	}()
	driver := sqlite.New(dir)
	if err := backup.Write(t.Context(), newHarbour(store.Options{Driver: driver}).Store, driver, file); err != nil {
		t.Fatal(err)
	}
	report := must[store.Report](t)(newHarbour(store.Options{Driver: sqlite.File(file)}).Verify(t.Context()))
	if len(report.Problems) > 0 || report.Tables[0].Live < len(before) || report.Tables[0].Live != report.Logs[0].Entries {
		t.Errorf("backup: %+v, want at least %d ships", report, len(before))
	}
}
