package limit

import (
	"bytes"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

func TestBuckets(t *testing.T) {
	t.Parallel()
	b, now := NewBuckets[string](Rate{PerSecond: 2, Burst: 3}), time.Unix(1000, 0)
	for i := range 3 {
		if wait := b.Take("a", now); wait != 0 {
			t.Errorf("number %d has to wait %s", i+1, wait)
		}
	}
	for range 2 { // a refusal costs nothing
		if wait := b.Take("a", now); wait != 500*time.Millisecond || b.Wait("a", now) != wait {
			t.Errorf("the fourth has to wait %s, want 500 ms", wait)
		}
	}
	if wait := b.Take("b", now); wait != 0 || b.Wait("c", now) != 0 {
		t.Errorf("another key has to wait %s", wait)
	}
	if wait := b.Take("a", now.Add(500*time.Millisecond)); wait != 0 {
		t.Errorf("who waited has to wait %s more", wait)
	}
	if b := NewBuckets[string](Off); b.Take("a", now) != 0 || b.Wait("a", now) != 0 || b.Rate() != Off {
		t.Error("no limit is one")
	}
}

// In no period are more tokens taken than the rate allows, at whatever times, and after
// the returned wait there is one.
func TestBuckets_Model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rate{PerSecond: rapid.Float64Range(0.1, 1000).Draw(t, "rate"), Burst: rapid.IntRange(1, 10).Draw(t, "burst")}
		b, now := NewBuckets[int](r), time.Unix(1000, 0)
		passed := map[int][]time.Time{}
		for range 200 {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(b.refill)).Draw(t, "step")))
			key := rapid.IntRange(0, 3).Draw(t, "key")
			if wait := b.Take(key, now); wait > 0 {
				if now = now.Add(wait); b.Take(key, now) != 0 {
					t.Fatal("who waits as told is refused")
				}
			}
			passed[key] = append(passed[key], now)
		}
		for _, of := range passed {
			for i := range of {
				for j := i; j < len(of); j++ {
					most := float64(r.Burst) + of[j].Sub(of[i]).Seconds()*r.PerSecond + 1e-3
					if float64(j-i+1) > most {
						t.Fatalf("%d passed within %s, at most %g may", j-i+1, of[j].Sub(of[i]), most)
					}
				}
			}
		}
	})
}

// Memory is bounded for any number of keys, and a key in use keeps its bucket.
func TestBuckets_Bounded(t *testing.T) {
	t.Parallel()
	b, now := NewBuckets[int](Rate{PerSecond: 1e-6, Burst: 1}), time.Unix(1000, 0)
	b.Take(-1, now)
	for i := range 2 * maxBuckets {
		b.Take(i, now)
		if i%1000 == 0 && b.Take(-1, now) == 0 {
			t.Fatalf("a key that goes on asking is let through after %d others", i)
		}
	}
	if n := len(b.young) + len(b.old); n > maxBuckets {
		t.Errorf("%d buckets are kept, at most %d may be", n, maxBuckets)
	}
}

// Buckets that are no longer used are dropped.
func TestBuckets_Forget(t *testing.T) {
	t.Parallel()
	b, now := NewBuckets[int](Rate{PerSecond: 1, Burst: 10}), time.Unix(1000, 0)
	for i := range 1000 {
		b.Take(i, now)
	}
	for range 3 {
		now = now.Add(10 * time.Second)
		b.Take(0, now)
	}
	if n := len(b.young) + len(b.old); n > 2 {
		t.Errorf("%d buckets are kept of one that is used", n)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rate{"50": {50, 500}, "0.5": {0.5, 5}, "0.01": {0.01, 1}, "50:7": {50, 7}, "off": Off} {
		if r, err := Parse(text); err != nil || r != want {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "NaN", "Inf", "1e10", "5:", "5:0", "5:-1", "5:1.5", ":5"} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"50", "0.5:3", "off", "1e308", ":"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err == nil && r != Off && (!(r.PerSecond > 0) || math.IsInf(r.PerSecond, 0) || r.Burst < 1 || r.refill() <= 0) {
			t.Errorf("%q is read as %+v", text, r)
		}
	})
}

func TestAdvise(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	Advise(h, fault.Invalid("no"))
	if len(h) != 0 {
		t.Errorf("%v", h)
	}
	err := Refuse(1200*time.Millisecond, "at most %d", 5)
	Advise(h, err)
	if !fault.Is(err, fault.Throttling) || h.Get("Retry-After") != "2" {
		t.Errorf("%v, %v", err, h)
	}
}

// The first of several alike warnings is written immediately, and the rest of a minute
// as one; warnings about other subjects are written too.
func TestWarnings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out lines
		w := NewWarnings(slog.New(slog.NewTextHandler(&out, nil)))
		for range 100 {
			w.Warn("192.0.2.1", "refused", "name", "a")
		}
		w.Warn("192.0.2.2", "refused", "name", "b")
		out.has(t, 2, "name=a", "name=b")
		wait.Pass(warnEvery + time.Second)
		out.has(t, 3, "alike_in_the_last_minute=99")
		wait.Pass(2 * warnEvery)
		if n := w.kept(); n != 0 {
			t.Errorf("%d subjects are kept", n)
		}
		w.Warn("192.0.2.1", "refused", "name", "c")
		out.has(t, 4, "name=c")
		wait.Pass(2 * warnEvery)
	})
}

func TestWarnings_Bounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out lines
		w := NewWarnings(slog.New(slog.NewTextHandler(&out, nil)))
		for i := range 2 * maxWarning {
			w.Warn(time.Duration(i).String(), "refused")
		}
		if n := w.kept(); n > maxWarning+1 {
			t.Errorf("%d subjects are kept", n)
		}
		wait.Pass(2 * warnEvery)
		synctest.Wait()
		if text := out.String(); !strings.Contains(text, "alike_in_the_last_minute=4095") {
			t.Error("those that are too many are not counted together")
		}
		wait.Pass(2 * warnEvery)
	})
}

// kept returns how many subjects are stored.
func (w *Warnings) kept() int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.of)
}

type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}

func (l *lines) has(t *testing.T, n int, texts ...string) {
	t.Helper()
	synctest.Wait()
	all := l.String()
	if strings.Count(all, "\n") != n {
		t.Errorf("%d lines are written, want %d:\n%s", strings.Count(all, "\n"), n, all)
	}
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("no line has %s:\n%s", text, all)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	for name, keys := range map[string]int{"one key": 1, "1,000 keys": 1000, "100,000 keys": 100_000} {
		b.Run(name, func(b *testing.B) {
			of, i := NewBuckets[string](Rate{PerSecond: 1e9, Burst: 1 << 30}), 0
			names := make([]string, keys)
			for i := range names {
				names[i] = "MSTR" + time.Duration(i).String()
			}
			b.ReportAllocs()
			for b.Loop() {
				of.Take(names[i%keys], time.Now())
				i++
			}
		})
	}
}
