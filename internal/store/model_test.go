package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/storetest"
	"pgregory.net/rapid"
)

// model is what the harbour should contain, in plain maps.
type model struct {
	ships    map[string]ship
	archived map[string]ship
	notes    []string
}

func (m model) clone() model {
	return model{maps.Clone(m.ships), maps.Clone(m.archived), slices.Clone(m.notes)}
}

const chosenPanic = "chosen panic"

var errChosen = errors.New("chosen failure")

// TestModel runs random commands, failures, crashes, failed commits and takeovers by a
// standby against the store and against maps.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &modelRun{driver: &flaky{Memory: store.NewMemory()},
			model: model{ships: map[string]ship{}, archived: map[string]ship{}}}
		r.open(t)
		t.Repeat(map[string]func(*rapid.T){
			"command":      r.command,
			"failedCommit": r.failedCommit,
			"crash":        r.open,
			"standBy":      r.standBy,
			"takeOver":     r.takeOver,
			"":             r.check,
		})
		r.harbour.Close()
		if r.standby != nil {
			r.standby.Close()
		}
	})
}

type modelRun struct {
	driver  *flaky
	harbour *harbour
	standby *harbour // nil: none
	model   model
}

// open opens the store again without closing the previous one, as after a crash.
func (r *modelRun) open(t *rapid.T) { r.replace(t, r.closed(t)) }

// closed returns a store that is not open.
func (r *modelRun) closed(t *rapid.T) *harbour {
	return newHarbour(store.Options{Driver: r.driver, MaxBatch: rapid.IntRange(1, 3).Draw(t, "max batch")})
}

// standBy has the standby follow, and checks that it has the state.
func (r *modelRun) standBy(t *rapid.T) {
	if r.standby == nil {
		r.standby = r.closed(t)
	}
	if err := r.standby.FollowOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.standby.CheckFollowed(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// takeOver replaces the owner by the standby, which may have been left behind, and does not
// read the whole state.
func (r *modelRun) takeOver(t *rapid.T) {
	if r.standby == nil {
		t.Skip("nobody stands by")
	}
	next := r.standby
	r.standby = nil
	before := r.driver.loaded()
	r.replace(t, next)
	if n := r.driver.loaded() - before; n != 0 {
		t.Fatalf("the whole state was read %d times", n)
	}
}

// replace makes a store the owner.
func (r *modelRun) replace(t *rapid.T, next *harbour) {
	old := r.harbour
	r.harbour = next
	if err := r.harbour.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if old != nil {
		if err := old.Update(t.Context(), func(tx *store.Tx) error { old.ships.Put(tx, &ship{ID: "ghost"}); return nil }); err == nil {
			t.Fatal("the owner before the crash could write")
		}
		<-old.Lost()
		old.Close()
	}
}

// command runs a closure of random operations, which may fail at its end.
func (r *modelRun) command(t *rapid.T) {
	next := r.model.clone()
	before := r.harbour.View()
	digest := before.Digest()
	fails := rapid.SampledFrom([]string{"", "", "", "error", "panic"}).Draw(t, "fails")
	err := r.run(t, &next, fails)
	_, panicked := errors.AsType[*store.PanicError](err)
	if errors.Is(err, errChosen) != (fails == "error") || panicked != (fails == "panic") || (err == nil) != (fails == "") {
		t.Fatalf("a command that is to fail by %q ended with %v", fails, err)
	}
	if before.Digest() != digest {
		t.Fatal("a snapshot changed")
	}
	if fails == "" {
		r.model = next
	}
}

// failedCommit makes the database refuse a command.
func (r *modelRun) failedCommit(t *rapid.T) {
	reloaded := make(chan struct{}, 1)
	r.harbour.OnReload(func() {
		select {
		case reloaded <- struct{}{}:
		default:
		}
	})
	watch, end := r.harbour.sightings.Watch()
	defer end()
	happened := rapid.Bool().Draw(t, "happened all the same")
	r.driver.nextCommit(func(do func() error) error {
		if happened {
			return errors.Join(do(), errDisk)
		}
		return errDisk
	})
	next := r.model.clone()
	next.notes = append(next.notes, "forced")
	err := r.update(t, func(tx *store.Tx) error {
		r.harbour.sightings.Append(tx, &sighting{What: "forced"})
		return r.operations(t, tx, &next, "")
	})
	if !fault.Is(err, fault.InternalService) {
		t.Fatalf("a commit of unknown outcome: %v", err)
	}
	<-reloaded
	if happened {
		<-watch
		r.model = next
	}
	for r.harbour.Update(t.Context(), func(*store.Tx) error { return nil }) != nil {
	}
}

func (r *modelRun) run(t *rapid.T, next *model, fails string) error {
	return r.update(t, func(tx *store.Tx) error { return r.operations(t, tx, next, fails) })
}

// update passes on the panics with which rapid ends a run; the store would take them
// for the command's own.
func (r *modelRun) update(t *rapid.T, f func(*store.Tx) error) error {
	err := r.harbour.Update(t.Context(), f)
	if p, ok := errors.AsType[*store.PanicError](err); ok && p.Value != chosenPanic {
		panic(p.Value)
	}
	return err
}

func (r *modelRun) operations(t *rapid.T, tx *store.Tx, next *model, fails string) error {
	h := r.harbour
	for range rapid.IntRange(0, 6).Draw(t, "operations") {
		id := rapid.StringMatching(`[a-e]`).Draw(t, "id")
		switch rapid.SampledFrom([]string{"put", "put", "put", "delete", "archive", "append", "sweep"}).Draw(t, "operation") {
		case "put":
			s := ship{ID: id, Port: rapid.StringMatching(`[xyz]`).Draw(t, "port"), Trip: time.Duration(len(next.notes)),
				Crew: rapid.SliceOfN(rapid.StringMatching(`[a-c]`), 0, 3).Draw(t, "crew")}
			next.ships[id] = s
			h.ships.Put(tx, &s)
		case "delete":
			if _, there := next.ships[id]; h.ships.Delete(tx, id) != there {
				t.Fatalf("Delete(%s), there: %v", id, there)
			}
			delete(next.ships, id)
		case "archive":
			s, there := next.ships[id]
			if h.ships.Archive(tx, id) != there {
				t.Fatalf("Archive(%s), there: %v", id, there)
			}
			if there {
				next.archived[id] = s
				delete(next.ships, id)
			}
		case "append":
			h.sightings.Append(tx, &sighting{What: id})
			next.notes = append(next.notes, id)
		case "sweep":
			for s := range h.byPort.Equal(tx, store.Key("x")) {
				moved := *s
				moved.Port = "y"
				h.ships.Put(tx, &moved)
				next.ships[s.ID] = moved
			}
		}
		compareShips(t, h, tx, next.ships)
	}
	switch fails {
	case "error":
		return errChosen
	case "panic":
		panic(chosenPanic)
	}
	return nil
}

// check compares everything that can be read.
func (r *modelRun) check(t *rapid.T) {
	h := r.harbour
	compareShips(t, h, h.View(), r.model.ships)
	storetest.CheckReload(t, h.Store)
	rows, err := h.ships.Archived(t.Context(), store.Query{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	archived := map[string]ship{}
	for _, row := range rows {
		archived[row.ID] = *row
	}
	if diff := cmp.Diff(r.model.archived, archived); diff != "" {
		t.Fatalf("archive (-want +got):\n%s", diff)
	}
	for _, id := range []string{"a", "b", "c", "d", "e", "never"} {
		rows, err := h.ships.Archived(t.Context(), store.Query{Where: []store.Eq{{Column: "key", Value: id}}, Limit: 1})
		if _, want := r.model.archived[id]; err != nil || (len(rows) == 1) != want {
			t.Fatalf("%s in the archive: %d rows, %v, want %v", id, len(rows), err, want)
		}
	}
	entries, err := h.sightings.Read(t.Context(), store.LogQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for i, e := range entries {
		notes = append(notes, e.Value.What)
		if e.Seq != uint64(i+1) {
			t.Fatalf("entry %d has number %d", i+1, e.Seq)
		}
	}
	if diff := cmp.Diff(r.model.notes, notes); diff != "" {
		t.Fatalf("log (-want +got):\n%s", diff)
	}
}

func compareShips(t *rapid.T, h *harbour, r store.Reader, want map[string]ship) {
	got := map[string]ship{}
	for s := range h.ships.All(r) {
		got[s.ID] = *s
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("ships (-want +got):\n%s", diff)
	}
	wantMarks, gotMarks := []string{}, []string{}
	for _, s := range want {
		for _, name := range s.Crew {
			if mark := store.Key(name) + s.ID; !slices.Contains(wantMarks, mark) {
				wantMarks = append(wantMarks, mark)
			}
		}
	}
	for key, s := range h.byCrew.Prefix(r, "") {
		gotMarks = append(gotMarks, key+s.ID)
		if n := len(wantMarks) / 2; len(gotMarks) == n { // a page ends here
			for key, s := range h.byCrew.PrefixAfter(r, "", key, s.ID) {
				gotMarks = append(gotMarks, key+s.ID)
			}
			break
		}
	}
	slices.Sort(wantMarks)
	if diff := cmp.Diff(wantMarks, gotMarks); diff != "" {
		t.Fatalf("crew index, in two pages (-want +got):\n%s", diff)
	}
	crews, inPort := map[string]int{"": 0, "x": 0, "y": 0}, map[string][]string{"x": nil, "y": nil}
	for _, s := range want {
		inPort[s.Port] = append(inPort[s.Port], s.ID)
		crews[s.Port] += len(s.Crew)
		crews[""] += len(s.Crew)
	}
	for port, n := range crews {
		if got := h.crews.Of(r, port); got != n {
			t.Fatalf("the crews of %q are summed up to %d, want %d", port, got, n)
		}
	}
	for port, ids := range inPort {
		first, n := h.byPort.First(r, store.Key(port)), h.byPort.Count(r, store.Key(port))
		if n != len(ids) || (first == nil) != (n == 0) || first != nil && first.ID != slices.Min(ids) {
			t.Fatalf("in port %q are %d ships, %+v first; want %q", port, n, first, ids)
		}
	}
}

// TestScan_LongLoopSeesItsBeginning writes to the table it loops over, beyond what a
// loop reads ahead.
func TestScan_LongLoopSeesItsBeginning(t *testing.T) {
	t.Parallel()
	h := openHarbour(t, store.Options{})
	const count = 100
	err := h.Update(t.Context(), func(tx *store.Tx) error {
		for i := range count {
			h.ships.Put(tx, &ship{ID: fmt.Sprintf("s%03d", i), Port: "x", Crew: []string{"ann"}})
		}
		n := 0
		for s := range h.byPort.Equal(tx, store.Key("x")) {
			moved := *s
			moved.Port = "xx" // sorts later: a loop over the head would see it again
			h.ships.Put(tx, &moved)
			h.ships.Delete(tx, fmt.Sprintf("s%03d", count-1-n))
			n++
		}
		if n != count {
			t.Errorf("the loop over the index saw %d rows, want %d", n, count)
		}
		n = 0
		for s := range h.ships.All(tx) {
			h.ships.Put(tx, &ship{ID: s.ID + "'"})
			n++
		}
		if want := count / 2; n != want {
			t.Errorf("the loop over the table saw %d rows, want %d", n, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckReload(t, h.Store)
}
