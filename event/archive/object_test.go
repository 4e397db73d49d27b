package archive

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/event"
)

// must ends a test or a check of a property if err is not nil.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Objects have all events exactly once and in order, whatever their sizes, times and numbers.
// Each object has events of one hour, without a gap, and ends only where it must.
func TestObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 2000).Draw(t, "limit")
		seq, at := uint64(0), time.Date(2026, 11, 25, 1, 0, 0, 0, time.UTC)
		var entries []event.Entry
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			seq += uint64(rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 7}).Draw(t, "step"))
			at = at.Add(time.Duration(rapid.SampledFrom([]int{-1, 0, 1, 1, 1, 40}).Draw(t, "minutes")) * time.Minute)
			text := strings.Repeat("<é>", rapid.IntRange(0, 100).Draw(t, "size"))
			entries = append(entries, event.Entry{Seq: seq, Time: at, Value: &event.Event{ID: "e", Time: at, Message: text}})
		}
		var all []byte
		line := func(e event.Entry) []byte {
			b, err := json.Marshal(event.Line{Seq: e.Seq, Event: *e.Value})
			must(t, err)
			return append(b, '\n')
		}
		o := newObject(0)
		close := func() {
			data, err := o.bytes()
			must(t, err)
			zip, err := gzip.NewReader(bytes.NewReader(data))
			must(t, err)
			text, err := io.ReadAll(zip)
			must(t, err)
			if n := o.last - o.first + 1; bytes.Count(text, []byte("\n")) != int(n) || len(text) > limit && n > 1 || len(text) != o.size {
				t.Fatalf("%s has %d bytes, of at most %d", o.name("r"), len(text), limit)
			}
			all = append(all, text...)
		}
		for i, e := range entries {
			added, err := o.add(e, limit)
			must(t, err)
			if added {
				if o.begin.Format("2006010215") != e.Value.Time.Format("2006010215") {
					t.Fatalf("an event of %s is in %s", e.Value.Time, o.name("r"))
				}
				continue
			}
			before := entries[i-1]
			if e.Seq == before.Seq+1 && e.Value.Time.Hour() == o.begin.Hour() && e.Value.Time.Sub(o.begin) < time.Hour && o.size+len(line(e)) <= limit {
				t.Fatalf("event %d is not in %s", e.Seq, o.name("r"))
			}
			close()
			o = newObject(before.Seq)
			if added, err := o.add(e, limit); !added || err != nil {
				t.Fatalf("event %d is in no object: %v", e.Seq, err)
			}
		}
		close()
		var want []byte
		for _, e := range entries {
			want = append(want, line(e)...)
		}
		if !bytes.Equal(want, all) {
			t.Fatalf("archived\n%s\nwant\n%s", all, want)
		}
	})
}

func TestPause(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 6: 32, 7: 60, 1000: 60} {
		if got := pause(failures, 0); got != want*time.Second {
			t.Errorf("pause(%d, 0) = %s, want %d s", failures, got, want)
		}
		if got := pause(failures, 0.999999); got < want*time.Second/2 || got > want*time.Second*51/100 {
			t.Errorf("pause(%d, almost 1) = %s, want half of %d s", failures, got, want)
		}
	}
}
