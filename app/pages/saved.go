package pages

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/store"
)

// saved is a row of the store with a part of what the recorder knows. There is a fixed number
// of rows, which are used again: those of each resolution, and one with the crashes.
type saved struct {
	ID     string `json:"id"`     // the resolution and a place, such as 5m/017; or savedCrashes
	Packed []byte `json:"packed"` // compressed JSON: savedSteps, or crashLog
}

// savedSteps are the steps of a row by what they are of: cell, queue/NAME,
// configuration/NAME, fleet/ID.
type savedSteps map[string][]savedStep

// savedStep is a step of a ring.
type savedStep struct {
	Number  int64                 `json:"n"` // since 1970
	Samples uint32                `json:"s,omitzero"`
	Values  map[string]uint32     `json:"v,omitzero"`
	Took    map[string]savedWaits `json:"t,omitzero"`
}

// savedWaits are waits of a step.
type savedWaits struct {
	Counts  waitCounts `json:"w"`
	Longest int64      `json:"l"` // nanoseconds
}

// savedCrashes is the id of the row with the newest crashes.
const savedCrashes = "crashes"

// crashLog is what is saved of crashes.
type crashLog struct {
	Since   time.Time `json:"since"` // when the recording began
	Crashes []Crash   `json:"crashes"`
}

const (
	// saveEvery is how much of the newest figures a node can lose that is killed.
	saveEvery = time.Minute
	// lateness is how much later than it happened something may be counted and still be saved.
	lateness = 10 * time.Second
	// unpackedMost bounds what is read of a row.
	unpackedMost = 64 << 20
)

// saves keeps what a recorder knows in the store.
type saves struct {
	recorder *recorder
	rows     *store.Table[saved]
	save     *store.Action[[]saved]
}

func newSaves(st *store.Store, r *recorder) *saves {
	s := &saves{recorder: r, rows: store.NewTable(st, store.TableSpec[saved]{Name: "console_history", Key: func(r *saved) string { return r.ID }})}
	s.save = store.NewAction(st, "history.save", s.runSave)
	return s
}

func (s *saves) runSave(tx *store.Tx, rows []saved) error {
	for _, r := range rows {
		s.rows.Put(tx, &r)
	}
	return nil
}

// keep saves what is recorded, every minute and once more when ctx ends. from is when
// the recording began.
func (s *saves) keep(ctx context.Context, from time.Time) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		ending := false
		select {
		case <-ctx.Done():
			ending = true
		case <-tick.C:
		}
		now := time.Now()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		rows, err := s.recorder.changed(from, now)
		if err == nil {
			err = s.save.Do(store.WithYield(within), rows)
		}
		cancel()
		switch {
		case err == nil:
			from = now.Add(-lateness)
		case !ending:
			s.recorder.of.Logger.Info("the console's figures were not saved; trying again in a minute", "error", err)
		}
		if ending {
			return
		}
	}
}

// changed returns the rows that may have changed between two times.
func (r *recorder) changed(from, to time.Time) (rows []saved, err error) {
	all := r.histories()
	pack := newPacker()
	for i := range resolutions {
		of := &resolutions[i]
		last := of.row(of.number(to))
		for row := max(of.row(of.number(from)), last-of.rows()+1); row <= last; row++ {
			steps := savedSteps{}
			for name, h := range all {
				if s := h.saved(i, row); len(s) > 0 {
					steps[name] = s
				}
			}
			packed, err := pack(steps)
			if err != nil {
				return nil, err
			}
			rows = append(rows, saved{ID: fmt.Sprintf("%s/%03d", of.name, row%of.rows()), Packed: packed})
		}
	}
	packed, err := pack(crashLog{Since: r.since(), Crashes: r.crashes.list()})
	return append(rows, saved{ID: savedCrashes, Packed: packed}), err
}

// saved returns the steps of a row of which something is known.
func (h *history) saved(in int, row int64) (out []savedStep) {
	of := &resolutions[in]
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.rings[in]
	for number := row * of.inRow; number < (row+1)*of.inRow; number++ {
		place, ok := r.find(of, number)
		if !ok {
			continue
		}
		s := savedStep{Number: number, Samples: r.samples[place], Values: map[string]uint32{}}
		for name, v := range r.values {
			if v[place] > 0 {
				s.Values[name] = v[place]
			}
		}
		for name, w := range r.took {
			if w[place] != nil {
				if s.Took == nil {
					s.Took = map[string]savedWaits{}
				}
				s.Took[name] = savedWaits{w[place].counts, int64(w[place].longest)}
			}
		}
		out = append(out, s)
	}
	return out
}

// restore adds what earlier nodes saved to what this one has recorded. It must be called
// before this one saves.
func (s *saves) restore(view store.Reader, now time.Time) {
	of := func(name string) *history { return s.recorder.historyOf(view, name) }
	unread, why := 0, error(nil)
	for row := range s.rows.All(view) {
		if err := restoreRow(row, now, of, s.recorder.restoreCrashes); err != nil {
			unread, why = unread+1, fmt.Errorf("row %s: %w", row.ID, err)
		}
	}
	if unread > 0 {
		s.recorder.of.Logger.Warn("some of the console's figures that were saved cannot be read", "rows", unread, "error", why)
	}
}

// restoreRow adds what is in a row to the histories that of returns by their names, nil for
// those that are not to be restored, or has crashes restored.
func restoreRow(row *saved, now time.Time, of func(name string) *history, crashes func(crashLog)) error {
	if row.ID == savedCrashes {
		var log crashLog
		if err := unpack(row.Packed, &log); err != nil {
			return err
		}
		crashes(log)
		return nil
	}
	name, _, _ := strings.Cut(row.ID, "/")
	for i := range resolutions {
		if resolutions[i].name != name {
			continue
		}
		var steps savedSteps
		if err := unpack(row.Packed, &steps); err != nil {
			return err
		}
		for what, all := range steps {
			if h := of(what); h != nil {
				h.restore(i, all, now)
			}
		}
	}
	return nil // of a resolution that there is no more: nothing
}

// restore adds saved steps; those of a clock that was ahead are left out.
func (h *history) restore(in int, steps []savedStep, now time.Time) {
	of := &resolutions[in]
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.rings[in]
	for _, s := range steps {
		if s.Number <= 0 || s.Number > of.number(now) {
			continue
		}
		place, ok := r.at(of, s.Number)
		if !ok {
			continue
		}
		r.samples[place] += s.Samples
		for name, n := range s.Values {
			r.add(place, name, n)
		}
		for name, w := range s.Took {
			r.waitsAt(place, name).merge(&waits{w.Counts, time.Duration(w.Longest)})
		}
	}
}

// newPacker returns a function that returns a value as compressed JSON.
func newPacker() func(v any) ([]byte, error) {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // fails for unknown levels only
	return func(v any) ([]byte, error) {
		var out bytes.Buffer
		w.Reset(&out)
		if err := json.MarshalWrite(w, v, json.Deterministic(true)); err != nil {
			return nil, err
		}
		err := w.Close()
		return out.Bytes(), err
	}
}

func unpack(packed []byte, v any) error {
	return json.UnmarshalRead(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), unpackedMost), v)
}
