package backend

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestLimiter(t *testing.T) {
	t.Parallel()
	l, r, now := newLimiter(), newRate("r", 2, time.Second, 3), time.Unix(1000, 0)
	for i := range 3 {
		if wait := l.take(r, "a", now); wait != 0 {
			t.Errorf("number %d has to wait %s", i+1, wait)
		}
	}
	if wait := l.take(r, "a", now); wait != 500*time.Millisecond {
		t.Errorf("the fourth has to wait %s, want 500 ms", wait)
	}
	if wait := l.take(r, "b", now); wait != 0 {
		t.Errorf("another key has to wait %s", wait)
	}
	if wait := l.take(r, "a", now.Add(500*time.Millisecond)); wait != 0 {
		t.Errorf("who waited has to wait %s more", wait)
	}
	if wait := l.take(newRate("off", -1, time.Second, 1), "a", now); wait != 0 {
		t.Error("no limit is one")
	}
}

// Whoever asks whenever, in no period is more let through than allowed.
func TestLimiter_NeverLetsMoreThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		per, atOnce := time.Duration(rapid.IntRange(1, 1000).Draw(t, "per"))*time.Millisecond, rapid.IntRange(1, 10).Draw(t, "at once")
		r := rate{"r", per, atOnce}
		l, now := newLimiter(), time.Unix(1000, 0)
		var passed []time.Time
		for range 200 {
			now = now.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "step")) * time.Millisecond)
			wait := l.take(r, "k", now)
			if wait == 0 {
				passed = append(passed, now)
			} else if l.take(r, "k", now.Add(wait)) != 0 {
				t.Fatal("who waits as told is refused")
			} else {
				now = now.Add(wait)
				passed = append(passed, now)
			}
		}
		for i := range passed {
			for j := i; j < len(passed); j++ {
				if most := atOnce + int(passed[j].Sub(passed[i])/per); j-i+1 > most {
					t.Fatalf("%d passed within %s, at most %d may", j-i+1, passed[j].Sub(passed[i]), most)
				}
			}
		}
	})
}

func TestLimiter_IsBounded(t *testing.T) {
	t.Parallel()
	l, r, now := newLimiter(), newRate("r", 1, time.Hour, 1), time.Unix(1000, 0)
	for i := range maxBuckets + 1000 {
		l.take(r, fmt.Sprint(i), now)
	}
	if n := len(l.full); n > maxBuckets {
		t.Errorf("%d buckets are kept, at most %d may be", n, maxBuckets)
	}
}

// A negative limit is none, of counts too.
func TestLimits_NegativeIsNone(t *testing.T) {
	t.Parallel()
	l := Limits{Sockets: -1, AllSockets: -1, Waits: -1}
	l.setDefaults()
	if !newSocketDoor().enter(l.AllSockets) {
		t.Error("no WebSocket is let in")
	}
	if l.Sockets < 1 || l.Waits < 1 {
		t.Errorf("%d WebSockets of a player and %d long polls are let in", l.Sockets, l.Waits)
	}
}

func TestLockout(t *testing.T) {
	t.Parallel()
	l, now := newLockout(), time.Unix(1000, 0)
	for range 5 {
		if l.locked("a", 5, now) != 0 {
			t.Fatal("locked out too early")
		}
		l.failed("a", time.Minute, now)
	}
	if wait := l.locked("a", 5, now); wait != time.Minute {
		t.Errorf("locked for %s, want a minute", wait)
	}
	if l.locked("a", 5, now.Add(time.Minute)) != 0 {
		t.Error("still locked after the lock")
	}
	l.failed("a", time.Minute, now.Add(time.Minute))
	if l.locked("a", 5, now.Add(time.Minute)) != 0 {
		t.Error("failures of before the lock still count")
	}
}

func TestLockout_IsBounded(t *testing.T) {
	t.Parallel()
	l, now := newLockout(), time.Unix(1000, 0)
	for i := range maxBuckets + 1 {
		l.failed(fmt.Sprint(i), time.Minute, now)
	}
	if n := len(l.of); n > maxBuckets*3/4+1 {
		t.Errorf("%d failures are kept: the next ones have to make room each time", n)
	}
}

// Failed logins count for accounts that can be ours, and for nobody on another
// network.
func TestAccountKey(t *testing.T) {
	t.Parallel()
	here := &request{from: netip.MustParseAddr("192.0.2.1")}
	there := &request{from: netip.MustParseAddr("192.0.2.2")}
	player := newID()
	if here.accountKey(player) == "" || here.accountKey(player) == there.accountKey(player) {
		t.Errorf("counted under %q here, %q there", here.accountKey(player), there.accountKey(player))
	}
	for _, none := range []string{"", "x", strings.Repeat("x", 64<<10), "urn:uuid:" + player, "{" + player + "}"} {
		if key := here.accountKey(none); key != "" {
			t.Errorf("a login as %.40q is remembered", none)
		}
	}
}
