package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/storetest"
	"github.com/musterhq/muster/internal/wait"
	"pgregory.net/rapid"
)

// TestOutage_Poison: a batch to which the database never responds, although it responds
// to everything else, fails eventually; later ones succeed.
func TestOutage_Poison(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver, h := openFlaky(t, store.Options{})
		driver.set(func(func() error) error { return errCut })
		if _, err := h.put.Do(t.Context(), ship{ID: "a"}); !fault.Is(err, fault.InternalService) {
			t.Errorf("a batch that cuts every connection: %v", err)
		}
		driver.back()
		must[string](t)(h.put.Do(t.Context(), ship{ID: "b"}))
		if n := h.ships.Len(h.View()); n != 1 {
			t.Errorf("%d ships, want one", n)
		}
		h.Close()
	})
}

// TestOutage_Model loses the database at random points while clients write: each
// command is acknowledged, and executed once, whatever happened to its batch.
func TestOutage_Model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		faults := rapid.SliceOfN(rapid.SampledFrom([]string{"", "refused", "cut", "unanswered", "late", "away", "committed, away"}), 1, 9).Draw(r, "faults")
		clients, writes := rapid.IntRange(1, 5).Draw(r, "clients"), rapid.IntRange(1, 6).Draw(r, "writes")
		batch := rapid.IntRange(1, 4).Draw(r, "max batch")
		synctest.Test(t, func(t *testing.T) {
			driver, h := openFlaky(t, store.Options{MaxBatch: batch, Patience: time.Hour})
			h.OnReload(func() { t.Error("the state was read again") })
			driver.set(playFaults(driver, faults))
			var clientsDone sync.WaitGroup
			for c := range clients {
				clientsDone.Go(func() {
					for i := range writes {
						must[string](t)(h.put.Do(context.Background(), ship{ID: fmt.Sprintf("%d-%d", c, i)}))
					}
				})
			}
			clientsDone.Wait()
			if n := h.ships.Len(h.View()); n != clients*writes {
				t.Errorf("%d ships of %d acknowledged", n, clients*writes)
			}
			if _, err := h.Stalled(); err != nil {
				t.Errorf("stalled after the outage: %v", err)
			}
			driver.back()
			entries := must[[]store.Entry[sighting]](t)(h.sightings.Read(context.Background(), store.LogQuery{Limit: 1000}))
			if last := h.sightings.Last(h.View()); len(entries) != clients*writes || last != uint64(len(entries)) {
				t.Errorf("%d sightings of %d ships, the last is %d", len(entries), clients*writes, last)
			}
			storetest.CheckReload(t, h.Store)
			h.Close()
		})
	})
}

// playFaults applies the next of the faults to each commit; it repeats them, with a
// commit that succeeds in between.
func playFaults(driver *flaky, faults []string) func(do func() error) error {
	var late []func() error
	all := faults
	return func(do func() error) error {
		for _, f := range late {
			f() // has no effect: the fence moved
		}
		late = nil
		if len(faults) == 0 {
			faults = all
			return do()
		}
		var now string
		now, faults = faults[0], faults[1:]
		switch now {
		case "refused":
			return errRefused
		case "cut":
			return errCut
		case "unanswered":
			return errors.Join(do(), errCut)
		case "late":
			late = append(late, do)
			return errCut
		case "away", "committed, away":
			driver.fail(errRefused)
			time.AfterFunc(3*time.Second, func() { driver.fail(nil) })
			if now == "away" {
				return errCut
			}
			return errors.Join(do(), errCut)
		}
		return do()
	}
}

// TestOutage_Patience: a caller that has waited for Patience is told that the change
// may still be made; and it is, as soon as the database is back.
func TestOutage_Patience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver, h := openFlaky(t, store.Options{Patience: 10 * time.Second})
		driver.unreachable()
		begun := time.Now()
		if _, err := h.put.Do(t.Context(), ship{ID: "a"}); !fault.Is(err, fault.InternalService) || time.Since(begun) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		if since, err := h.Stalled(); since < 9*time.Second || !errors.Is(err, errRefused) {
			t.Errorf("stalled for %s: %v", since, err)
		}
		begun = time.Now()
		driver.back()
		must[string](t)(h.put.Do(t.Context(), ship{ID: "b"}))
		if waited := time.Since(begun); h.ships.Get(h.View(), "a") == nil || waited > 250*time.Millisecond {
			t.Errorf("the batch was not kept, or committed only %s after the database was back", waited)
		}
		h.Close()
	})
}

// TestOutage_WhileReading: commands also wait while the state must be reloaded and the
// database is unavailable; they are refused immediately if it responds but cannot be
// read.
func TestOutage_WhileReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver, h := openFlaky(t, store.Options{})
		driver.nextCommit(func(func() error) error { driver.fail(errRefused); return errDisk })
		if _, err := h.put.Do(t.Context(), ship{ID: "a"}); !fault.Is(err, fault.InternalService) {
			t.Errorf("a command that was not made durable: %v", err)
		}
		time.AfterFunc(4*time.Second, driver.back)
		must[string](t)(h.put.Do(t.Context(), ship{ID: "b"}))

		driver.nextCommit(func(func() error) error { driver.fail(errDisk); return errDisk })
		for range 2 {
			begun := time.Now()
			if _, err := h.put.Do(t.Context(), ship{ID: "c"}); !fault.Is(err, fault.InternalService) || time.Since(begun) != 0 {
				t.Errorf("with a disk on fire, after %s: %v", time.Since(begun), err)
			}
			synctest.Wait()
		}
		if _, err := h.Stalled(); !errors.Is(err, errDisk) {
			t.Errorf("stalled for want of %v", err)
		}
		driver.back()
		wait.Pass(6 * time.Second)
		must[string](t)(h.put.Do(t.Context(), ship{ID: "d"}))
		storetest.CheckReload(t, h.Store)
		h.Close()
	})
}

// TestOutage_Reads: reads from SQL wait for the database too.
func TestOutage_Reads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver, h := openFlaky(t, store.Options{})
		must[string](t)(h.put.Do(t.Context(), ship{ID: "a"}))
		driver.fail(errRefused)
		time.AfterFunc(4*time.Second, driver.back)
		if entries := must[[]store.Entry[sighting]](t)(h.sightings.Read(t.Context(), store.LogQuery{Limit: 10})); len(entries) != 1 {
			t.Errorf("%d sightings, want one", len(entries))
		}
		driver.fail(errRefused)
		begun := time.Now()
		if _, err := h.sightings.Read(t.Context(), store.LogQuery{Limit: 10}); !errors.Is(err, errRefused) || time.Since(begun) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		h.Close()
	})
}

// TestOutage_Overtaken: an owner that finds another owner after the outage has
// acknowledged nothing and makes no more changes.
func TestOutage_Overtaken(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]error{"refused": errRefused, "in doubt": errCut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				driver, h := openFlaky(t, store.Options{})
				driver.unreachable()
				driver.nextCommit(func(func() error) error { driver.unreachable(); return lost })
				go func() {
					wait.Pass(4 * time.Second)
					other := openHarbour(t, store.Options{Driver: driver.Memory})
					if n := other.ships.Len(other.View()); n != 0 {
						t.Errorf("the next owner finds %d ships", n)
					}
					driver.back()
					other.Close()
				}()
				if _, err := h.put.Do(t.Context(), ship{ID: "a"}); !fault.Is(err, fault.InternalService) {
					t.Errorf("a command of the replaced owner: %v", err)
				}
				<-h.Lost()
				h.Close()
			})
		})
	}
}

// TestOutage_Close: a store that is closed while the database is unavailable ends, and
// waiting callers get an error.
func TestOutage_Close(t *testing.T) {
	t.Parallel()
	for name, commit := range map[string]error{"writing": errRefused, "in doubt": errCut, "reading": errDisk} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				driver, h := openFlaky(t, store.Options{})
				driver.unreachable()
				driver.set(func(func() error) error { return commit })
				answers := make(chan error, 2)
				for i := range cap(answers) {
					go func() {
						_, err := h.put.Do(context.Background(), ship{ID: fmt.Sprint(i)})
						answers <- err
					}()
					synctest.Wait()
				}
				if err := h.Close(); err != nil {
					t.Error(err)
				}
				for range cap(answers) {
					if err := <-answers; !fault.Is(err, fault.InternalService) {
						t.Errorf("a command that waited: %v", err)
					}
				}
			})
		})
	}
}
