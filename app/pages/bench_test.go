package pages

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// full returns a recorder with n queues, n configurations and n fleets that had something in
// each step of a week that is kept.
func full(n int, now time.Time) *recorder {
	r := &recorder{queues: map[string]*queueHistory{}, configurations: map[string]*matchHistory{}, fleets: map[string]*history{}}
	random := rand.New(rand.NewPCG(1, 2))
	wait := func() time.Duration { return time.Duration(random.ExpFloat64() * float64(5*time.Second)) }
	counts := map[string]int{"players": 1000, "sessions": 100, "processes": 120, "free": 20, "wanted": 12, "there": 12}
	all := []*history{}
	for i := range n {
		name := fmt.Sprint("name-", i)
		all = append(all, &r.queue(name).history, &r.configuration(name).history)
		r.fleet(name)
	}
	for i := range resolutions {
		of := &resolutions[i]
		for number := of.number(now) - int64(of.kept) + 1; number <= of.number(now); number++ {
			at := of.start(number)
			r.whole.count(at, ran)
			r.whole.sample(at, counts)
			for _, h := range all {
				for range 20 {
					h.took(at, "placed", wait())
				}
				for _, what := range []string{"created", "COMPLETED", "FAILED", "TIMED_OUT", "CANCELLED", "PLACING"} {
					h.count(at, what)
				}
			}
			for _, h := range r.fleets {
				h.sample(at, counts)
			}
		}
	}
	return r
}

// BenchmarkRecorder measures what is recorded of 100 queues, 100 matchmaking configurations and
// 100 fleets, all of which were busy for a week: its memory, how long it takes to record
// something, to save a minute of everything and to restore all, and the size of the rows.
func BenchmarkRecorder(b *testing.B) {
	const n = 100
	now := time.Unix(1_800_000_000, 0)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	r := full(n, now)
	memory := float64(heap()-before) / (3 * n)
	b.Run("record", func(b *testing.B) {
		q := r.queue("name-0")
		for b.Loop() {
			q.took(now, "placed", time.Second)
		}
		b.ReportMetric(memory, "bytes-each-kept")
	})
	b.Run("save", func(b *testing.B) {
		b.ReportAllocs()
		var size int
		for b.Loop() {
			rows, err := r.changed(now.Add(-saveEvery), now)
			if err != nil {
				b.Fatal(err)
			}
			size = 0
			for _, row := range rows {
				size += len(row.Packed)
			}
		}
		b.ReportMetric(float64(size), "bytes-a-minute")
	})
	b.Run("restore", func(b *testing.B) {
		rows, err := r.changed(now.Add(-8*24*time.Hour), now)
		if err != nil {
			b.Fatal(err)
		}
		size := 0
		for _, row := range rows {
			size += len(row.Packed)
		}
		for b.Loop() {
			into := map[string]*history{}
			for _, row := range rows {
				err := restoreRow(&row, now, func(name string) *history {
					if into[name] == nil {
						into[name] = &history{}
					}
					return into[name]
				}, func(crashLog) {})
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(size), "bytes-stored")
	})
}
