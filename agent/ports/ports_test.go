package ports

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRange_SkipsWhatStrangersHold(t *testing.T) {
	t.Parallel()
	stranger, err := net.ListenUDP("udp4", &net.UDPAddr{})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	port := stranger.LocalAddr().(*net.UDPAddr).Port
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
