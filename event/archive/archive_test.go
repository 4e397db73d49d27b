package archive_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/event/archive"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// node owns a cell and archives its events.
type node struct {
	t       testing.TB
	st      *store.Store
	events  *event.Log
	metrics *prometheus.Registry
	stop    func()
}

// newNode returns a node that has appended events before it begins to archive.
func newNode(t testing.TB, driver store.Driver, kept time.Duration, o archive.Options, messages ...string) *node {
	t.Helper()
	n := &node{t: t, st: store.New(store.Options{Driver: driver}), metrics: prometheus.NewRegistry()}
	n.events = event.New(n.st, event.Options{Retention: kept})
	o.Region, o.Registerer, o.Logger = "us-east-1", n.metrics, slog.New(slog.NewTextHandler(t.Output(), nil))
	svc := archive.New(n.st, n.events, o)
	must(t, n.st.Open(t.Context()))
	n.say(messages...)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { svc.Run(ctx) })
	n.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		n.st.Close() // returns an error if it lost the cell
	})
	return n
}

// say appends events in one transaction.
func (n *node) say(messages ...string) {
	n.t.Helper()
	if len(messages) == 0 {
		return
	}
	must(n.t, n.st.Update(context.Background(), func(tx *store.Tx) error {
		for _, m := range messages {
			n.events.Append(tx, event.Event{Code: event.GenericEvent, Message: m})
		}
		return nil
	}))
}

// lines returns the events that are in the log, as streams write them.
func (n *node) lines() []string {
	n.t.Helper()
	entries, err := n.events.Read(context.Background(), event.Query{Limit: 1000})
	must(n.t, err)
	var all []string
	for _, e := range entries {
		line, err := json.Marshal(event.Line{Seq: e.Seq, Event: *e.Value})
		must(n.t, err)
		all = append(all, string(line))
	}
	return all
}

// metric returns the value of a metric without labels.
func (n *node) metric(name string) float64 {
	n.t.Helper()
	families, err := n.metrics.Gather()
	must(n.t, err)
	for _, f := range families {
		if f.GetName() == "muster_events_archive_"+name {
			return f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	n.t.Fatalf("there is no metric %s", name)
	return 0
}

// names returns the names of a folder's objects, in order.
func names(t testing.TB, dir string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(name))
		}
		return err
	}))
	slices.Sort(all)
	return all
}

// content returns the lines of an object, whose name has to say where they begin and end.
func content(t testing.TB, name string, data []byte) (all []string) {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	var first, last uint64
	scan := bufio.NewScanner(zip)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var l event.Line
		must(t, json.Unmarshal(scan.Bytes(), &l))
		if first == 0 {
			first = l.Seq
		} else if l.Seq != last+1 {
			t.Errorf("%s: %d follows %d", name, l.Seq, last)
		}
		last = l.Seq
		if want := "us-east-1/" + l.Time.UTC().Format("2006/01/02/15") + "/"; !strings.HasPrefix(name, want) {
			t.Errorf("%s has event %d of %s", name, l.Seq, l.Time)
		}
		all = append(all, scan.Text())
	}
	must(t, scan.Err())
	if want := fmt.Sprintf("/%016d-%016d.ndjson.gz", first, last); !strings.HasSuffix(name, want) {
		t.Errorf("%s has the events %d to %d", name, first, last)
	}
	return all
}

// archived returns all lines of an archive, in the order of its objects.
func archived(t testing.TB, dir string) (all []string) {
	t.Helper()
	for _, name := range names(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		all = append(all, content(t, name, data)...)
	}
	return all
}

// same checks that an archive has each of the events exactly once.
func same(t testing.TB, dir string, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, archived(t, dir)); diff != "" {
		t.Errorf("the archive has (-want +got):\n%s", diff)
	}
}

func numbered(from, to int) (all []string) {
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprintf("event %d", i))
	}
	return all
}

// An object ends when its first event has waited for long enough, and with the hour. Until
// then the lag grows.
func TestRun_Every(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { // begins at midnight
		n := newNode(t, store.NewMemory(), 0, archive.Options{Target: archive.Folder(dir)})
		defer n.stop()
		wait.Pass(time.Minute)
		n.say(numbered(1, 3)...)
		wait.Pass(2 * time.Minute)
		n.say(numbered(4, 4)...)
		wait.Pass(2*time.Minute + 50*time.Second)
		if got := names(t, dir); got != nil {
			t.Errorf("after 4:50 there are %v", got)
		}
		if lag := n.metric("lag_seconds"); lag != 290 {
			t.Errorf("the lag is %v s, want 290", lag)
		}
		wait.Pass(53*time.Minute + 20*time.Second) // to 59:10
		n.say(numbered(5, 5)...)
		wait.Pass(2 * time.Minute)
		n.say(numbered(6, 6)...)
		wait.Settle(10 * time.Minute)
		want := []string{
			"us-east-1/2000/01/01/00/0000000000000001-0000000000000004.ndjson.gz",
			"us-east-1/2000/01/01/00/0000000000000005-0000000000000005.ndjson.gz",
			"us-east-1/2000/01/01/01/0000000000000006-0000000000000006.ndjson.gz",
		}
		if diff := cmp.Diff(want, names(t, dir)); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
		same(t, dir, n.lines())
		if lag, objects := n.metric("lag_seconds"), n.metric("objects_total"); lag != 0 || objects != 3 {
			t.Errorf("lag %v s, %v objects", lag, objects)
		}
	})
}

// A long log is archived at once, in objects of the size.
func TestRun_Size(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		before := newNode(t, driver, 0, archive.Options{})
		for i := range 3 {
			before.say(numbered(300*i+1, 300*i+300)...)
		}
		before.stop()
		n := newNode(t, driver, 0, archive.Options{Target: archive.Folder(dir), Size: 20_000})
		defer n.stop()
		wait.Settle(6 * time.Minute)
		same(t, dir, n.lines())
		if got := len(names(t, dir)); got < 5 || got > 10 {
			t.Errorf("900 events of 130 bytes are in %d objects", got)
		}
	})
}

// step is a Target which calls before and after while it stores objects in another one.
type step struct {
	archive.Target
	before, after func(name string) error // nil: nothing
}

func (s *step) Put(ctx context.Context, name string, data []byte) error {
	for _, f := range []func() error{
		func() error { return call(s.before, name) },
		func() error { return s.Target.Put(ctx, name, data) },
		func() error { return call(s.after, name) },
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func call(f func(string) error, name string) error {
	if f == nil {
		return nil
	}
	return f(name)
}

// Another node takes the cell at each step of the first object, while more events happen: each
// event is in exactly one object. The first node goes on with what it was doing.
func TestTakeover(t *testing.T) {
	gone := errors.New("the node is gone")
	for _, c := range []struct {
		name   string
		target func(archive.Target, func()) *step
		early  bool // the cell is taken before the object is cut
		want   int  // objects
	}{
		{"before the cut", func(to archive.Target, _ func()) *step { return &step{Target: to} }, true, 1},
		{"before the write", func(to archive.Target, take func()) *step {
			return &step{to, func(string) error { take(); return gone }, nil}
		}, false, 2},
		{"in the write", func(to archive.Target, take func()) *step {
			return &step{to, func(string) error { take(); wait.Pass(10 * time.Minute); return nil }, nil}
		}, false, 2},
		{"before the move", func(to archive.Target, take func()) *step {
			return &step{to, nil, func(string) error { take(); return nil }}
		}, false, 2},
		{"after the move", func(to archive.Target, take func()) *step {
			return &step{to, nil, func(string) error {
				go func() {
					wait.Pass(time.Second)
					take()
				}()
				return nil
			}}
		}, false, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				driver := store.NewMemory()
				var second *node
				take := sync.OnceFunc(func() {
					second = newNode(t, driver, 0, archive.Options{Target: archive.Folder(dir)}, numbered(8, 12)...)
				})
				first := newNode(t, driver, 0, archive.Options{Target: c.target(archive.Folder(dir), take)})
				defer first.stop()
				first.say(numbered(1, 7)...)
				if c.early {
					wait.Pass(time.Minute)
					take()
				}
				wait.Settle(20 * time.Minute)
				if second == nil {
					t.Fatal("nobody took the cell")
				}
				defer second.stop()
				same(t, dir, second.lines())
				if got := names(t, dir); len(got) != c.want || len(second.lines()) != 12 {
					t.Errorf("%d events are in the objects %v", len(second.lines()), got)
				}
			})
		})
	}
}

// The process dies repeatedly, at every step, while events happen.
func TestTakeover_Often(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		for i := range 60 {
			died := make(chan struct{})
			die := func(string) error {
				close(died)
				<-t.Context().Done()
				return t.Context().Err()
			}
			to := &step{Target: archive.Folder(dir)}
			switch i % 3 {
			case 0:
				to.before = die
			case 1:
				to.after = die
			}
			n := newNode(t, driver, 0, archive.Options{Target: to, Every: time.Minute}, numbered(10*i, 10*i+i%7)...)
			if i%3 == 2 {
				wait.Pass(time.Duration(i) * 3 * time.Second)
			} else {
				<-died
			}
			go n.stop() // what hangs does so until the end of the test
		}
		last := newNode(t, driver, 0, archive.Options{Target: archive.Folder(dir), Every: time.Minute})
		wait.Settle(10 * time.Minute)
		same(t, dir, last.lines())
		last.stop()
	})
}

// Events wait past their retention for an archive that cannot be written, and go after twice
// the retention. How many is told, and the archive continues with those that are left.
func TestHold(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		to := &step{Target: archive.Folder(dir), before: func(string) error {
			if !mended.Load() {
				return errors.New("no bucket")
			}
			return nil
		}}
		n := newNode(t, store.NewMemory(), 2*time.Hour, archive.Options{Target: to})
		defer n.stop()
		n.say(numbered(1, 5)...)
		wait.Pass(time.Hour)
		n.say(numbered(6, 9)...)
		wait.Settle(2*time.Hour + 50*time.Minute) // 3:50
		if got := len(n.lines()); got != 9 {
			t.Errorf("%d events are left after nearly twice their retention, want all 9", got)
		}
		if tries := n.metric("failures_total"); tries < 200 || tries > 500 {
			t.Errorf("%v attempts in 3:45 hours", tries)
		}
		if lag := n.metric("lag_seconds"); lag != (3*time.Hour + 50*time.Minute).Seconds() {
			t.Errorf("the lag is %v s", lag)
		}
		wait.Settle(15 * time.Minute) // 4:05: 1 to 5 go, with what an event says of them
		if lost := n.metric("lost_total"); lost != 0 {
			t.Errorf("%v events are lost, though their object may still be written", lost)
		}
		left := n.lines()
		if len(left) != 4 || !strings.Contains(left[0], "event 6") {
			t.Errorf("after twice the retention, there is\n%s", strings.Join(left, "\n"))
		}
		mended.Store(true)
		wait.Settle(10 * time.Minute)
		// The object was cut before, and is still in memory: nothing is lost.
		if got := archived(t, dir); len(got) != 9 || n.metric("lost_total") != 0 {
			t.Errorf("archived:\n%s", strings.Join(got, "\n"))
		}
		wait.Settle(3 * time.Hour)
		if got := n.lines(); len(got) != 0 {
			t.Errorf("archived events stay past their retention:\n%s", strings.Join(got, "\n"))
		}
	})
}

// Events that went while there was no archive, or no owner with its object in memory, are lost.
func TestLost(t *testing.T) {
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("cut=%t", cut), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				driver, never := store.NewMemory(), &step{Target: archive.Folder(dir), before: func(string) error { return errors.New("no bucket") }}
				n := newNode(t, driver, time.Hour, archive.Options{Target: archive.Folder(dir)})
				n.say(numbered(1, 3)...)
				wait.Pass(10 * time.Minute)
				n.stop()
				archivedBefore := archived(t, dir)

				var o archive.Options
				if cut {
					o.Target = never // cuts 4 to 6
				}
				n = newNode(t, driver, time.Hour, o)
				n.say(numbered(4, 6)...)
				wait.Pass(90 * time.Minute)
				n.say(numbered(7, 8)...)
				wait.Pass(32 * time.Minute) // 4 to 6 are two hours old
				n.stop()

				n = newNode(t, driver, time.Hour, archive.Options{Target: archive.Folder(dir)})
				defer n.stop()
				wait.Settle(10 * time.Minute)
				if lost := n.metric("lost_total"); lost != 3 {
					t.Errorf("%v events are lost, want 3", lost)
				}
				left := n.lines()
				if len(left) != 3 || !strings.Contains(left[2], `"EVENTS_NOT_ARCHIVED"`) || !strings.Contains(left[2], "3 events, with the numbers 4 to 6,") {
					t.Errorf("the log has\n%s", strings.Join(left, "\n"))
				}
				same(t, dir, append(archivedBefore, left...))
			})
		})
	}
}
