package backend

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/wait"
)

// A negative limit means no limit, for counts too.
func TestLimits_NegativeIsNone(t *testing.T) {
	t.Parallel()
	l := Limits{Sockets: -1, AllSockets: -1, Waits: -1}
	l.setDefaults(false)
	if !newSocketDoor().enter(l.AllSockets) {
		t.Error("no WebSocket is let in")
	}
	if l.Sockets < 1 || l.Waits < 1 {
		t.Errorf("%d WebSockets of a player and %d long polls are let in", l.Sockets, l.Waits)
	}
}

// On an open server there are no rate limits except configured ones.
func TestLimits_Open(t *testing.T) {
	t.Parallel()
	l := Limits{TicketsPerMin: 1}
	l.setDefaults(true)
	m, now := l.meters(nil), time.Now()
	for range 1000 {
		if m.session.buckets.Take("a", now) != 0 || m.write.buckets.Take("a", now) != 0 || m.key.buckets.Take("a", now) != 0 {
			t.Fatal("limited by a default")
		}
	}
	for range 3 {
		m.ticket.buckets.Take("a", now)
	}
	if wait := m.ticket.buckets.Take("a", now); wait != time.Minute {
		t.Errorf("the fourth ticket may come after %s, want a minute", wait)
	}
	if l.Waits != 20_000 || l.WaitsPerPlayer != 4 {
		t.Errorf("%d long polls, %d of a player", l.Waits, l.WaitsPerPlayer)
	}
}

// A player can have a number of long polls; one more ends the player's oldest, and no
// other player's.
func TestAwait_OfOnePlayer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(Limits{Waits: 100, WaitsPerPlayer: 3}, nil)
		var mu sync.Mutex
		var ended []string
		poll := func(player, name string) {
			go func() {
				if err := h.await(t.Context(), player, maxWait, func() bool { return false }); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, name)
			}()
			synctest.Wait()
		}
		has := func(want ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(ended, want) {
				t.Errorf("ended: %q, want %q", ended, want)
			}
		}
		poll("bert", "other")
		for _, name := range []string{"1", "2", "3"} {
			poll("anna", name)
		}
		has()
		poll("anna", "4")
		has("1")
		poll("anna", "5")
		has("1", "2")
		wait.Pass(maxWait)
		synctest.Wait()
		if n := h.waiting.Load(); n != 0 || len(ended) != 6 || len(h.of) != 0 {
			t.Errorf("%d wait, %q ended, polls are kept of %d players", n, ended, len(h.of))
		}
	})
}

func TestLockout_IsBounded(t *testing.T) {
	t.Parallel()
	l, now := newLockout(), time.Unix(1000, 0)
	for i := range maxLockouts + 1 {
		l.failed(fmt.Sprint(i), time.Minute, now)
	}
	if n := len(l.of); n > maxLockouts*3/4+1 {
		t.Errorf("%d failures are kept: the next ones have to make room each time", n)
	}
}

// Failed logins are counted only for what can be an account, and separately for each
// network.
func TestAccountKey(t *testing.T) {
	t.Parallel()
	here := &request{from: netip.MustParseAddr("192.0.2.1")}
	there := &request{from: netip.MustParseAddr("192.0.2.2")}
	player := newID()
	if accountKey(here, player) == "" || accountKey(here, player) == accountKey(there, player) {
		t.Errorf("counted under %q here, %q there", accountKey(here, player), accountKey(there, player))
	}
	for _, none := range []string{"", "x", strings.Repeat("x", 64<<10), "urn:uuid:" + player, "{" + player + "}"} {
		if key := accountKey(here, none); key != "" {
			t.Errorf("a login as %.40q is remembered", none)
		}
	}
}
