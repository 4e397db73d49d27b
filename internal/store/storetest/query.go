package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
)

func testArchiveQueries(t *testing.T, b *bench) {
	var ended []store.StoredRow
	for i := range 10 {
		ended = append(ended, row(fmt.Sprintf("k%d", i), fmt.Sprintf("g%d", i%3), ""))
	}
	b.commit(t, []store.TableBatch{{Table: order, Puts: []store.StoredRow{row("k3", "g0", "p")}}})
	b.commit(t, []store.TableBatch{{Table: order, Deletes: []string{"k3"}, Archives: ended}})
	for _, c := range []struct {
		query store.Query
		want  string
	}{
		{store.Query{OrderBy: "key", Limit: 3}, "k0 k1 k2"},
		{store.Query{OrderBy: "key", Limit: 3, AfterKey: "k2"}, "k3 k4 k5"},
		{store.Query{OrderBy: "key", Limit: 3, Desc: true, AfterKey: "k2"}, "k1 k0"},
		{store.Query{OrderBy: "key", Limit: 9, From: "k2", To: "k5"}, "k2 k3 k4"},
		{store.Query{OrderBy: "key", Limit: 9, Where: []store.Eq{{Column: "group", Value: "g1"}}}, "k1 k4 k7"},
		{store.Query{OrderBy: "key", Limit: 9, Where: []store.Eq{{Column: "key", Value: "k4"}}}, "k4"},
		{store.Query{OrderBy: "key", Limit: 9, Keys: []string{"k4", "k7", "none", "k1", "k2"}}, "k1 k2 k4 k7"},
		{store.Query{OrderBy: "key", Limit: 2, Keys: []string{"k4", "k7", "k1"}, AfterKey: "k1"}, "k4 k7"},
		{store.Query{OrderBy: "group", Limit: 9, Desc: true, Keys: []string{"k4"}, Where: []store.Eq{{Column: "group", Value: "g1"}}}, "k4"},
		{store.Query{OrderBy: "key", Limit: 9, Keys: []string{}}, ""},
		{store.Query{OrderBy: "group", Limit: 5}, "k0 k3 k6 k9 k1"},
		{store.Query{OrderBy: "group", Limit: 3, AfterOrder: "g0", AfterKey: "k9"}, "k1 k4 k7"},
		{store.Query{OrderBy: "group", Limit: 4, Desc: true, AfterOrder: "g2", AfterKey: "k5"}, "k2 k7 k4 k1"},
		{store.Query{OrderBy: "group", Limit: 9, From: "g2"}, "k2 k5 k8"},
		{store.Query{OrderBy: "group", Limit: 9, Where: []store.Eq{{Column: "group", Value: "none"}}}, ""},
	} {
		docs, err := b.db.Archived(t.Context(), order, c.query)
		var got []string
		for _, doc := range docs {
			got = append(got, strings.Trim(string(doc[5:]), `:"}`))
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%+v = %q, %v, want %q", c.query, got, err, c.want)
		}
	}
}

// testArchivedAgain archives a key twice: the later row replaces the earlier one, in
// whichever form that is stored.
func testArchivedAgain(t *testing.T, b *bench) {
	for i := range 3 {
		again := row("k", fmt.Sprint("g", i), "")
		again.Time = noon.Add(time.Duration(i) * 20 * time.Minute)
		other := row(fmt.Sprint("other", i), "g", "")
		other.New = true
		b.commit(t, []store.TableBatch{{Table: order, Archives: []store.StoredRow{again, other}}})
	}
	docs, err := b.db.Archived(t.Context(), order, store.Query{OrderBy: "key", Limit: 9, Where: []store.Eq{{Column: "key", Value: "k"}}})
	last, also := b.db.Archived(t.Context(), order, store.Query{OrderBy: "key", Limit: 9, Where: []store.Eq{{Column: "group", Value: "g2"}}})
	if err != nil || also != nil || len(docs) != 1 || len(last) != 1 {
		t.Errorf("%d rows with the key, %d of them the last, %v, %v", len(docs), len(last), err, also)
	}
	keys, err := b.db.ArchivedKeys(t.Context(), order, "", 9)
	if err != nil || !slices.Equal(keys, []string{"k", "other0", "other1", "other2"}) {
		t.Errorf("keys %q, %v", keys, err)
	}
}

func testArchivedKeys(t *testing.T, b *bench) {
	keys := []string{"\x00", "\x00a", "\x01", "a", "a\x00", "aa", "B", "ä", "日", "\U0010ffff"}
	var ended []store.StoredRow
	for _, key := range keys {
		ended = append(ended, row(key, "g", ""))
	}
	b.commit(t, []store.TableBatch{{Table: order, Puts: []store.StoredRow{row("live", "g", "")}, Archives: ended}})
	slices.Sort(keys)
	for limit := 1; limit <= len(keys)+1; limit++ {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page, err := b.db.ArchivedKeys(t.Context(), order, after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("%d keys after %q with limit %d: %v", len(page), after, limit, err)
			}
			if got = append(got, page...); len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, keys) {
			t.Errorf("keys, %d at once: %q, want %q", limit, got, keys)
		}
	}
}

func testLogQueries(t *testing.T, b *bench) {
	var entries []store.StoredEntry
	for i := range 10 {
		entries = append(entries, store.StoredEntry{Seq: uint64(i + 1), Time: noon.Add(time.Duration(i) * time.Second),
			Doc: []byte(`{}`), Columns: []string{fmt.Sprintf("t%d", i%2)}})
	}
	b.commit(t, nil, store.LogBatch{Entries: entries[:4]})
	b.commit(t, nil, store.LogBatch{Entries: entries[4:]})
	for _, c := range []struct {
		query store.LogQuery
		want  string
	}{
		{store.LogQuery{Limit: 3}, "[1 2 3]"},
		{store.LogQuery{Limit: 3, AfterSeq: 8}, "[9 10]"},
		{store.LogQuery{Limit: 3, Desc: true}, "[10 9 8]"},
		{store.LogQuery{Limit: 3, Desc: true, AfterSeq: 3}, "[2 1]"},
		{store.LogQuery{Limit: 9, From: noon.Add(2 * time.Second), To: noon.Add(5 * time.Second)}, "[3 4 5]"},
		{store.LogQuery{Limit: 3, Where: []store.Eq{{Column: "topic", Value: "t1"}}}, "[2 4 6]"},
	} {
		found, err := b.db.Entries(t.Context(), 0, c.query)
		var got []uint64
		for _, e := range found {
			got = append(got, e.Seq)
			if want := entries[e.Seq-1]; !e.Time.Equal(want.Time) || string(e.Doc) != `{}` {
				t.Errorf("entry %d = %v %s", e.Seq, e.Time, e.Doc)
			}
		}
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%+v = %v, %v, want %s", c.query, got, err, c.want)
		}
	}
}

// testLogTimes queries time windows of logs with gaps and with entries of equal
// times, and compares the results with a scan of all entries.
func testLogTimes(t *testing.T, b *bench) {
	rng := rand.New(rand.NewPCG(3, 4))
	var entries []store.StoredEntry
	window := func() store.LogQuery {
		q := store.LogQuery{Limit: 1000, Desc: rng.IntN(2) == 0}
		if rng.IntN(4) > 0 {
			q.From = noon.Add(time.Duration(rng.IntN(60)-5) * time.Second)
		}
		if rng.IntN(4) > 0 {
			q.To = noon.Add(time.Duration(rng.IntN(60)-5) * time.Second)
		}
		return q
	}
	seq, second := uint64(0), 0
	for round := range 300 {
		q := window()
		var want []uint64
		for _, e := range entries {
			if !e.Time.Before(q.From) && (q.To.IsZero() || e.Time.Before(q.To)) {
				want = append(want, e.Seq)
			}
		}
		if q.Desc {
			slices.Reverse(want)
		}
		found, err := b.db.Entries(t.Context(), 0, q)
		if got := numbers(found); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%+v of %d entries = %v, %v, want %v", q, len(entries), got, err, want)
		}
		if round%10 == 0 {
			seq += 1 + uint64(rng.IntN(3))
			second += rng.IntN(4)
			e := store.StoredEntry{Seq: seq, Time: noon.Add(time.Duration(second) * time.Second), Doc: []byte(`{}`), Columns: []string{""}}
			b.commit(t, nil, store.LogBatch{Entries: []store.StoredEntry{e}})
			entries = append(entries, e)
		}
	}
}

// testSetBack simulates a clock that was wrong for two entries.
func testSetBack(t *testing.T, b *bench) {
	at := func(seq uint64, second int) store.StoredEntry {
		return store.StoredEntry{Seq: seq, Time: noon.Add(time.Duration(second) * time.Second), Doc: []byte(`{}`), Columns: []string{""}}
	}
	b.commit(t, nil, store.LogBatch{Entries: []store.StoredEntry{at(1, 0), at(2, 5000), at(3, 6000)}})
	if err := b.db.SetBack(t.Context(), noon.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	b.commit(t, nil, store.LogBatch{Entries: []store.StoredEntry{at(4, 2), at(5, 3)}})
	for _, c := range []struct {
		query store.LogQuery
		want  []uint64
	}{
		{store.LogQuery{Limit: 9, To: noon.Add(time.Second)}, []uint64{1}},
		{store.LogQuery{Limit: 9, From: noon.Add(time.Second), To: noon.Add(3 * time.Second)}, []uint64{2, 3, 4}},
		{store.LogQuery{Limit: 9, From: noon.Add(2 * time.Second)}, []uint64{4, 5}},
	} {
		found, err := b.db.Entries(t.Context(), 0, c.query)
		if got := numbers(found); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v = %v, %v, want %v", c.query, got, err, c.want)
		}
	}
}

func numbers(entries []store.StoredEntry) []uint64 {
	var all []uint64
	for _, e := range entries {
		all = append(all, e.Seq)
	}
	return all
}

// pruning says what expires until a time.
func pruning(now time.Time, rows int) store.Pruning {
	return store.Pruning{Now: now, Before: []time.Time{now.Add(-retention)}, Rows: rows}
}

// testPrune prunes what may be removed later than it expires.
func testPrune(t *testing.T, b *bench) {
	for i := range 4 {
		at := noon.Add(time.Duration(i) * retention)
		ended := row(fmt.Sprint("r", i), "g", "")
		ended.Time = at
		b.commit(t, []store.TableBatch{{Table: order, Archives: []store.StoredRow{ended}}},
			store.LogBatch{Entries: []store.StoredEntry{{Seq: uint64(i + 1), Time: at, Doc: []byte(`{}`), Columns: []string{"x"}}}})
	}
	for _, c := range []struct {
		at   time.Time
		left int
	}{
		{noon.Add(retention - time.Second), 4},
		{noon.Add(3*retention - time.Second), 2},
		{noon.Add(5 * retention), 0},
	} {
		for {
			if n, err := b.db.Prune(t.Context(), pruning(c.at, 3)); err != nil {
				t.Fatal(err)
			} else if n < 3 {
				break
			}
		}
		docs, err := b.db.Archived(t.Context(), order, store.Query{OrderBy: "key", Limit: 9})
		entries, also := b.db.Entries(t.Context(), 0, store.LogQuery{Limit: 9})
		if err != nil || also != nil || len(docs) != c.left || len(entries) != c.left {
			t.Errorf("at %v %d rows and %d entries are left, %v, %v; want %d", c.at, len(docs), len(entries), err, also, c.left)
		}
	}
}

// testWeek lets a week pass in which as much ends as expires: what is stored stays the same.
func testWeek(t *testing.T, b *bench) {
	const (
		step  = 2 * retention
		ended = 20 // in a step
	)
	seq, most := uint64(0), 0
	for at := noon; at.Before(noon.Add(7 * 24 * time.Hour)); at = at.Add(step) {
		tb, lb := store.TableBatch{Table: order}, store.LogBatch{}
		for range ended {
			seq++
			r := row(fmt.Sprint("r", seq), "g", "")
			r.Time, r.New = at, true
			tb.Archives = append(tb.Archives, r)
			lb.Entries = append(lb.Entries, store.StoredEntry{Seq: seq, Time: at, Doc: []byte(`{}`), Columns: []string{"x"}})
		}
		b.commit(t, []store.TableBatch{tb}, lb)
		for n := 50; n == 50; {
			var err error
			if n, err = b.db.Prune(t.Context(), pruning(at, 50)); err != nil {
				t.Fatal(err)
			}
		}
		docs, err := b.db.Archived(t.Context(), order, store.Query{OrderBy: "key", Limit: 1000})
		entries, also := b.db.Entries(t.Context(), 0, store.LogQuery{Limit: 1000, AfterSeq: 0})
		if err != nil || also != nil || len(docs) != len(entries) {
			t.Fatalf("%d rows and %d entries, %v, %v", len(docs), len(entries), err, also)
		}
		if most = max(most, len(docs)); len(docs) < ended {
			t.Fatalf("at %v %d rows are left", at, len(docs))
		}
	}
	if limit := 2 * ended; most > limit { // those of the last step, and of one partition
		t.Errorf("up to %d rows were stored, and never more than %d have not expired", most, limit)
	}
}
