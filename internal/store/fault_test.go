package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/storetest"
	"github.com/musterhq/muster/internal/wait"
)

// retry calls f until it no longer fails because of a reload.
func retry(t *testing.T, f func() error) {
	t.Helper()
	for {
		err := f()
		if err == nil {
			return
		}
		if !fault.Is(err, fault.InternalService) {
			t.Fatal(err)
		}
	}
}

// TestCommit_FailureVoidsWhatFollowed blocks a commit until later ones are based on it,
// then lets it fail: none of them may survive.
func TestCommit_FailureVoidsWhatFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver, h := openFlaky(t, store.Options{MaxBatch: 2})
		release := make(chan struct{})
		driver.nextCommit(func(func() error) error { <-release; return errDisk })
		errs := make(chan error, 8)
		for i := range cap(errs) {
			go func() {
				_, err := h.put.Do(context.Background(), ship{ID: fmt.Sprint("s", i)})
				errs <- err
			}()
		}
		synctest.Wait()
		close(release)
		for range cap(errs) {
			if err := <-errs; !fault.Is(err, fault.InternalService) {
				t.Errorf("a command behind the failed commit: %v", err)
			}
		}
		synctest.Wait()
		if n := h.ships.Len(h.View()); n != 0 {
			t.Errorf("%d ships survived", n)
		}
		must[string](t)(h.put.Do(t.Context(), ship{ID: "z"}))
		storetest.CheckReload(t, h.Store)
		h.Close()
	})
}

// TestDo_Yields: commands that yield are refused while there is still room for others,
// whether or not the database is available, and accepted again as soon as there is room
// for them.
func TestDo_Yields(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		driver, h := openFlaky(t, store.Options{MaxPending: 8, Registerer: registry})
		yielding := store.WithYield(context.Background())
		write := func(ctx context.Context, from, to int) {
			for i := range to - from {
				go h.put.Do(ctx, ship{ID: fmt.Sprint("s", from+i)})
			}
			synctest.Wait()
		}
		release := make(chan struct{})
		driver.nextCommit(func(do func() error) error { <-release; return do() })
		write(yielding, 0, 6)
		if _, err := h.put.Do(yielding, ship{ID: "x"}); !fault.Is(err, fault.Throttling) {
			t.Errorf("the seventh that yields: %v", err)
		}
		write(t.Context(), 6, 8)
		if _, err := h.put.Do(t.Context(), ship{ID: "x"}); !fault.Is(err, fault.Throttling) {
			t.Errorf("the ninth of all: %v", err)
		}
		close(release)
		synctest.Wait()
		must[string](t)(h.put.Do(yielding, ship{ID: "y"}))

		driver.unreachable()
		write(t.Context(), 8, 14)
		if _, err := h.put.Do(yielding, ship{ID: "x"}); !fault.Is(err, fault.InternalService) {
			t.Errorf("one that yields, with the database away: %v", err)
		}
		write(t.Context(), 14, 16)
		if _, err := h.put.Do(t.Context(), ship{ID: "x"}); !fault.Is(err, fault.InternalService) {
			t.Errorf("the ninth of all, with the database away: %v", err)
		}
		driver.back()
		wait.Pass(time.Second)
		if n := h.ships.Len(h.View()); n != 17 {
			t.Errorf("%d ships, want the 16 and the one between", n)
		}
		const want = `# HELP muster_store_refused_total Commands refused because too many waited: those that leave room for game servers (yields true), and others.
# TYPE muster_store_refused_total counter
muster_store_refused_total{yields="false"} 2
muster_store_refused_total{yields="true"} 2
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "muster_store_refused_total"); err != nil {
			t.Error(err)
		}
		h.Close()
	})
}

// TestDo_FailureWaitsForWhatItRead: an error that is based on an uncommitted row is
// returned only once that row is durable.
func TestDo_FailureWaitsForWhatItRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver, h := openFlaky(t, store.Options{})
		release := make(chan struct{})
		driver.nextCommit(func(do func() error) error { <-release; return do() })
		go h.put.Do(context.Background(), ship{ID: "a"})
		synctest.Wait()
		refused := make(chan error, 1)
		go func() {
			refused <- h.Update(context.Background(), func(tx *store.Tx) error {
				if h.ships.Get(tx, "a") != nil {
					return errNoShip
				}
				return nil
			})
		}()
		synctest.Wait()
		select {
		case err := <-refused:
			t.Errorf("answered before what it read was durable: %v", err)
		default:
		}
		close(release)
		if err := <-refused; !errors.Is(err, errNoShip) {
			t.Errorf("refusal = %v", err)
		}
		h.Close()
	})
}

func TestDo_ContextEndsTheWaitingOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver, h := openFlaky(t, store.Options{})
		release := make(chan struct{})
		driver.nextCommit(func(do func() error) error { <-release; return do() })
		ctx, cancel := context.WithCancel(t.Context())
		go func() { synctest.Wait(); cancel() }()
		if _, err := h.put.Do(ctx, ship{ID: "a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("Do with an ended context: %v", err)
		}
		close(release)
		synctest.Wait()
		if h.ships.Get(h.View(), "a") == nil {
			t.Error("the command did not take its course")
		}
		h.Close()
	})
}

func TestOnCommit_OrderAndVisibility(t *testing.T) {
	t.Parallel()
	h := openHarbour(t, store.Options{})
	var seen []uint64
	for range 20 {
		var number uint64
		err := h.Update(t.Context(), func(tx *store.Tx) error {
			h.ships.Put(tx, &ship{ID: tx.ID("s-")})
			number = h.sightings.Append(tx, &sighting{What: "hook"})
			tx.OnCommit(func() {
				if h.sightings.Last(h.View()) < number {
					t.Error("a hook ran before its state was published")
				}
				seen = append(seen, number)
			})
			tx.OnCommit(func() { panic("hooks may not stop the journal") })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != int(number) {
			t.Fatalf("answered before hook %d ran", number)
		}
	}
}

func TestClose_MakesAcceptedCommandsDurable(t *testing.T) {
	t.Parallel()
	driver := store.NewMemory()
	h := openHarbour(t, store.Options{Driver: driver})
	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	for i := range 50 {
		wg.Go(func() {
			id, err := h.put.Do(context.Background(), ship{ID: fmt.Sprint("s", i)})
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				acknowledged[id] = true
			}
		})
	}
	h.Close()
	wg.Wait()
	again := openHarbour(t, store.Options{Driver: driver})
	if n := again.ships.Len(again.View()); n != len(acknowledged) {
		t.Errorf("%d ships stored, %d acknowledged", n, len(acknowledged))
	}
	if _, err := h.put.Do(t.Context(), ship{ID: "late"}); !fault.Is(err, fault.InternalService) {
		t.Errorf("Do after Close: %v", err)
	}
}

// TestPanic_InATablesFunctions: a panic in an index or column function has no effect on
// the state and does not stop the store.
func TestPanic_InATablesFunctions(t *testing.T) {
	t.Parallel()
	s := store.New(store.Options{Driver: store.NewMemory()})
	panicAt := func(bad string) func(*ship) string {
		return func(s *ship) string {
			if s.Port == bad {
				panic(bad)
			}
			return s.Port
		}
	}
	column := panicAt("bad column")
	ships := store.NewTable(s, store.TableSpec[ship]{Name: "ship", Key: func(s *ship) string { return s.ID },
		Columns: []store.Column[ship]{{Name: "port", Value: column}}})
	store.NewIndex(ships, "by_id", func(s *ship, emit func(string)) { emit(s.ID) })
	indexed := panicAt("bad index")
	store.NewIndex(ships, "by_port", func(s *ship, emit func(string)) { emit(indexed(s)) })
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(port string) error {
		return s.Update(t.Context(), func(tx *store.Tx) error { ships.Put(tx, &ship{ID: "a", Port: port}); return nil })
	}
	if err := put("good"); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*store.PanicError](put("bad index")); !ok {
		t.Error("a panicking index function was accepted")
	}
	if err := put("bad column"); !fault.Is(err, fault.InternalService) {
		t.Errorf("a panicking column function: %v", err)
	}
	retry(t, func() error { return put("better") })
	storetest.CheckReload(t, s)
}
