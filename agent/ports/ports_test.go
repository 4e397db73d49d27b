package ports

import (
	"errors"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRange_SkipsWhatStrangersHold(t *testing.T) {
	t.Parallel()
	stranger, port := hold(t)
	defer stranger.Close()
	r, err := New(port, port)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Take(time.Now()); !errors.Is(err, ErrNone) || !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("took %d, %v, which another program holds", got, err)
	}
	stranger.Close()
	if got, err := r.Take(time.Now()); err != nil || got != port {
		t.Fatalf("took %d, %v, want %d", got, err, port)
	}
}

// hold holds a port for UDP that is not among those that the system assigns by itself, so that it
// is free afterwards.
func hold(t *testing.T) (stranger *net.UDPConn, port int) {
	t.Helper()
	for port = 20_000 + rand.IntN(10_000); port < 32_768; port++ {
		taken, err := net.ListenTCP("tcp4", &net.TCPAddr{Port: port})
		if err != nil {
			continue
		}
		taken.Close()
		if stranger, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port}); err == nil {
			return stranger, port
		}
	}
	t.Fatal("no port below 32768 is free")
	return nil, 0
}

// No two processes ever have the same port, and none is reused during its quarantine.
func TestRange_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, err := New(1000, 1000+rapid.IntRange(0, 5).Draw(t, "size"))
		if err != nil {
			t.Fatal(err)
		}
		r.bind = func(int) error { return nil }
		now := time.Unix(0, 0)
		held, rests := map[int]bool{}, map[int]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "s")) * time.Second)
			if len(held) > 0 && rapid.Bool().Draw(t, "release") {
				for port := range held {
					r.Release(port, now)
					delete(held, port)
					rests[port] = now.Add(Quarantine)
					break
				}
				continue
			}
			port, err := r.Take(now)
			if err != nil {
				free := 0
				for p := r.from; p <= r.to; p++ {
					if !held[p] && !now.Before(rests[p]) {
						free++
					}
				}
				if free > 0 {
					t.Fatalf("refused although %d ports are free", free)
				}
				continue
			}
			if held[port] || now.Before(rests[port]) {
				t.Fatalf("gave port %d twice", port)
			}
			held[port] = true
		}
	})
}
