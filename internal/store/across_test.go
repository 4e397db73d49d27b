package store_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/internal/store"
)

// TestIndex_Across compares Across and Groups with a sort of all rows, in a snapshot and in
// a transaction whose loop writes.
func TestIndex_Across(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := store.New(store.Options{Driver: store.NewMemory()})
		rows := store.NewTable(st, store.TableSpec[placed]{Name: "placed", Key: func(p *placed) string { return p.ID }})
		index := store.NewIndex(rows, "place", func(p *placed, emit func(string)) { emit(store.Key(p.Fleet, p.Place) + p.Rest) })
		fill := store.NewAction(st, "fill", func(tx *store.Tx, all []placed) error {
			for _, p := range all {
				rows.Put(tx, &p)
			}
			return nil
		})
		var inTx []string
		var wanted query
		clearAll := store.NewAction(st, "clear", func(tx *store.Tx, _ struct{}) error {
			for p := range index.Across(tx, wanted.prefixes, wanted.rest, wanted.id) {
				inTx = append(inTx, p.ID)
				rows.Delete(tx, p.ID)
			}
			return nil
		})
		if err := st.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		word := rapid.SampledFrom([]string{"a", "b", "ab", "c"})
		all := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) placed {
			return placed{word.Draw(t, "fleet"), word.Draw(t, "place"), word.Draw(t, "rest"), rapid.StringMatching("[a-z]{1,3}").Draw(t, "id")}
		}), 0, 60, func(p placed) string { return p.ID }).Draw(t, "rows")
		if err := fill.Do(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		wanted = query{rest: word.Draw(t, "after"), id: rapid.StringMatching("[a-z]{0,3}").Draw(t, "id")}
		fleet := word.Draw(t, "of")
		var groups, want []string
		slices.SortFunc(all, func(a, b placed) int { return cmp.Or(strings.Compare(a.Rest, b.Rest), strings.Compare(a.ID, b.ID)) })
		for _, p := range all {
			if p.Fleet != fleet {
				continue
			}
			groups = append(groups, store.Key(p.Fleet, p.Place))
			if p.Rest > wanted.rest || p.Rest == wanted.rest && p.ID > wanted.id {
				want = append(want, p.ID)
			}
		}
		slices.Sort(groups)
		wanted.prefixes = index.Groups(st.View(), store.Key(fleet), 1)
		if !slices.Equal(wanted.prefixes, slices.Compact(groups)) {
			t.Fatalf("groups %q, want %q", wanted.prefixes, groups)
		}
		var got []string
		for p := range index.Across(st.View(), wanted.prefixes, wanted.rest, wanted.id) {
			got = append(got, p.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after %+v: %q, want %q", wanted, got, want)
		}
		if err := clearAll.Do(t.Context(), struct{}{}); err != nil || !slices.Equal(inTx, want) {
			t.Fatalf("in a transaction: %q, %v, want %q", inTx, err, want)
		}
	})
}

type placed struct{ Fleet, Place, Rest, ID string }

type query struct {
	prefixes []string
	rest, id string
}
