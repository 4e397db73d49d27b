package store_test

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/storetest"
)

// ledger is a store whose database loses commits.
type ledger struct {
	*store.Store
	t       *testing.T
	entries *store.Table[entry]
	log     *store.Log[entry]
	lost    []store.LostCommits
	metrics *prometheus.Registry
}

type entry struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// openLedger opens a ledger that knows what was confirmed.
func openLedger(t *testing.T, driver store.Driver, confirmed uint64) *ledger {
	t.Helper()
	l := &ledger{t: t, metrics: prometheus.NewRegistry()}
	l.Store = store.New(store.Options{Driver: driver, Registerer: l.metrics, Confirmed: func() uint64 { return confirmed }})
	l.entries = store.NewTable(l.Store, store.TableSpec[entry]{Name: "entry", Key: func(e *entry) string { return e.ID }})
	l.log = store.NewLog(l.Store, store.LogSpec[entry]{Name: "note"})
	l.OnLostCommits(func(tx *store.Tx, lost store.LostCommits) {
		l.lost = append(l.lost, lost)
		l.entries.Put(tx, &entry{ID: "told"})
	})
	if err := l.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// write stores rows, one after the other; with text "", it removes them.
func (l *ledger) write(text string, ids ...string) {
	l.t.Helper()
	for _, id := range ids {
		err := l.Update(l.t.Context(), func(tx *store.Tx) error {
			l.log.Append(tx, &entry{id, text})
			if text == "" {
				l.entries.Delete(tx, id)
			} else {
				l.entries.Put(tx, &entry{id, text})
			}
			return nil
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

// appendMany appends many entries in one command.
func (l *ledger) appendMany() {
	l.t.Helper()
	err := l.Update(l.t.Context(), func(tx *store.Tx) error {
		for range 5000 {
			l.log.Append(tx, &entry{})
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *ledger) rows() (all string) {
	for e := range l.entries.All(l.View()) {
		all += e.ID + e.Text + " "
	}
	return all
}

// told checks what is known of lost commits.
func (l *ledger) told(want ...store.LostCommits) {
	l.t.Helper()
	lost := 0.
	for i, w := range want {
		if lost += float64(w.Confirmed - w.Found); i >= len(l.lost) || l.lost[i] != w {
			l.t.Fatalf("the owner heard of %+v, want %+v", l.lost, want)
		}
	}
	families, err := l.metrics.Gather()
	if err != nil || len(l.lost) != len(want) {
		l.t.Fatalf("the owner heard of %+v, want %+v; %v", l.lost, want, err)
	}
	for _, f := range families {
		if f.GetName() == "muster_store_lost_commits_total" && f.Metric[0].Counter.GetValue() != lost {
			l.t.Errorf("%v lost commits are counted, want %v", f.Metric[0].Counter.GetValue(), lost)
		}
	}
}

// An owner that goes on writes again what the database lost: rows that were written, changed
// and removed. It gives no number twice.
func TestLostCommits_OwnerRestores(t *testing.T) {
	t.Parallel()
	memory := store.NewMemory()
	l := openLedger(t, memory, 0)
	l.write("1", "a", "b", "c")
	lose := memory.Save()
	l.write("2", "b", "d")
	l.write("", "a")
	before := l.log.Last(l.View())
	lose()
	err := l.Update(t.Context(), func(tx *store.Tx) error { l.entries.Put(tx, &entry{"e", "3"}); return nil })
	if err == nil {
		t.Error("a commit on another state was confirmed")
	}
	for l.entries.Get(l.View(), "e") == nil { // until commands run again
		l.Update(t.Context(), func(tx *store.Tx) error { l.entries.Put(tx, &entry{"e", "3"}); return nil })
	}
	if got := l.rows(); got != "b2 c1 d2 e3 told " {
		t.Errorf("rows %s", got)
	}
	l.told(store.LostCommits{Found: 3, Confirmed: 6, Restored: true})
	l.write("4", "f")
	if last := l.log.Last(l.View()); last != before+1 {
		t.Errorf("the log is at %d; it was at %d before one more entry", last, before)
	}
	storetest.CheckReload(t, l.Store)
	l.Close()
	if again := openLedger(t, memory, 8); again.rows() != "b2 c1 d2 e3 f4 told " || len(again.lost) > 0 {
		t.Errorf("the next owner finds %s, and lost %v", again.rows(), again.lost)
	}
}

// A commit that turned out to be durable after its caller got an error is restored like those
// that were confirmed: it was visible.
func TestLostCommits_AfterUnknownOutcome(t *testing.T) {
	t.Parallel()
	driver := &flaky{Memory: store.NewMemory()}
	l := openLedger(t, driver, 0)
	l.write("1", "a")
	lose := driver.Save()
	reloaded := make(chan struct{}, 2)
	l.OnReload(func() { reloaded <- struct{}{} })
	put := func(id string) error {
		return l.Update(t.Context(), func(tx *store.Tx) error { l.entries.Put(tx, &entry{id, "2"}); return nil })
	}
	driver.nextCommit(func(do func() error) error { return errors.Join(do(), errDisk) })
	if err := put("b"); err == nil {
		t.Fatal("a command of unknown outcome succeeded")
	}
	<-reloaded
	if got := l.rows(); got != "a1 b2 " {
		t.Fatalf("rows %s", got)
	}
	lose()
	if err := put("c"); err == nil {
		t.Error("a commit on another state was confirmed")
	}
	<-reloaded
	if got := l.rows(); got != "a1 b2 told " {
		t.Errorf("rows %s", got)
	}
	l.told(store.LostCommits{Found: 1, Confirmed: 2, Restored: true})
	storetest.CheckReload(t, l.Store)
}

// A new owner that knows what was confirmed says so before any command runs, once, and leaves
// out the numbers that the lost commits may have had.
func TestLostCommits_NewOwner(t *testing.T) {
	t.Parallel()
	memory := store.NewMemory()
	l := openLedger(t, memory, 0)
	l.write("1", "a")
	lose := memory.Save()
	l.write("2", "b", "c")
	l.appendMany()
	before, confirmed := l.log.Last(l.View()), l.Confirmed()
	l.Close()
	lose()
	next := openLedger(t, memory, confirmed)
	if got := next.rows(); got != "a1 told " {
		t.Errorf("rows %s", got)
	}
	next.told(store.LostCommits{Found: 1, Confirmed: 4})
	if next.Confirmed() <= confirmed {
		t.Errorf("sequence %d is given again", next.Confirmed())
	}
	next.write("3", "d")
	if last := next.log.Last(next.View()); last <= before+1 {
		t.Errorf("the log is at %d; lost entries had numbers up to %d", last, before)
	}
	storetest.CheckReload(t, next.Store)
	next.Close()
	openLedger(t, memory, confirmed).told()
}
