package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// parcel is a row with a unique place, some of them archived.
type parcel struct {
	ID    string    `json:"id"`
	Shelf string    `json:"shelf"`
	Place string    `json:"place"`
	Since time.Time `json:"since"`
}

// depot is a store with one table and one log.
type depot struct {
	*store.Store
	parcels *store.Table[parcel]
	byShelf *store.Index[parcel]
	moves   *store.Log[parcel]
}

func newDepot(driver store.Driver, cell string) *depot {
	d := &depot{Store: store.New(store.Options{Driver: driver, Cell: cell, MaxBatch: 16})}
	d.parcels = store.NewTable(d.Store, store.TableSpec[parcel]{Name: "parcel", Key: func(p *parcel) string { return p.ID },
		Columns: []store.Column[parcel]{
			{Name: "shelf", Value: func(p *parcel) string { return p.Shelf }},
			{Name: "place", Value: func(p *parcel) string { return p.Place }, Unique: true},
		}, Retention: time.Hour})
	d.byShelf = store.NewIndex(d.parcels, "shelf", func(p *parcel, emit func(string)) { emit(store.Key(p.Shelf)) })
	d.moves = store.NewLog(d.Store, store.LogSpec[parcel]{Name: "move", Columns: []store.Column[parcel]{
		{Name: "shelf", Value: func(p *parcel) string { return p.Shelf }}}})
	return d
}

// TestStore runs a store on a driver: many callers whose rows exchange unique places,
// archive and delete; then it reads back, verifies and reopens.
func TestStore(t *testing.T, open Opened) {
	driver, cell := open(t)
	d := newDepot(driver, cell)
	if err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() { d.work(t, rand.New(rand.NewPCG(uint64(caller), 1)), 60) })
	}
	wg.Go(func() {
		d.work(t, rand.New(rand.NewPCG(9, 1)), 30)
		if err := d.Raise(context.Background(), newer); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	CheckReload(t, d.Store)
	report, err := d.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) > 0 || report.Digest != d.View().Digest() {
		t.Errorf("verification: %+v", report)
	}
	d.checkHistory(t)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again := newDepot(driver, cell)
	if err := again.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, want := again.View(), d.View(); got.Digest() != want.Digest() || got.Seq() != want.Seq() || again.moves.Last(got) != d.moves.Last(want) {
		t.Errorf("reopened at sequence %d, left at %d", got.Seq(), want.Seq())
	}
}

// work runs commands of every kind.
func (d *depot) work(t *testing.T, rnd *rand.Rand, commands int) {
	for range commands {
		a, b := fmt.Sprintf("p%02d", rnd.IntN(20)), fmt.Sprintf("p%02d", rnd.IntN(20))
		kind := rnd.IntN(8)
		err := d.Update(context.Background(), func(tx *store.Tx) error {
			switch kind {
			case 0:
				d.parcels.Archive(tx, a)
			case 1:
				d.parcels.Delete(tx, a)
			case 2:
				d.exchange(tx, a, b)
			default:
				p := &parcel{ID: a, Shelf: "s" + b, Place: "at " + a, Since: tx.Now()}
				if holder := d.holder(tx, p.Place); holder != nil && holder.ID != a {
					p.Place = ""
				}
				d.parcels.Put(tx, p)
				d.moves.Append(tx, p)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func (d *depot) holder(r store.Reader, place string) *parcel {
	for p := range d.parcels.All(r) {
		if p.Place == place {
			return p
		}
	}
	return nil
}

// exchange swaps the unique places of two parcels.
func (d *depot) exchange(tx *store.Tx, a, b string) {
	p, q := d.parcels.Get(tx, a), d.parcels.Get(tx, b)
	if p == nil || q == nil || a == b {
		return
	}
	first, second := *p, *q
	first.Place, second.Place = q.Place, p.Place
	d.parcels.Put(tx, &first)
	d.parcels.Put(tx, &second)
}

// checkHistory reads the whole log in pages.
func (d *depot) checkHistory(t *testing.T) {
	t.Helper()
	var last uint64
	for {
		page, err := d.moves.Read(t.Context(), store.LogQuery{AfterSeq: last, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if e.Seq != last+1 || !e.Time.Equal(e.Value.Since) {
				t.Fatalf("entry %d of %v follows %d: %+v", e.Seq, e.Time, last, e.Value)
			}
			last = e.Seq
		}
		if len(page) == 0 {
			break
		}
	}
	if want := d.moves.Last(d.View()); last != want {
		t.Errorf("the log ends at %d, want %d", last, want)
	}
}
