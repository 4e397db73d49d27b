package cell

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What a node states about a request's sender is accepted for that method and path
// only, and only for a short time.
func TestProof(t *testing.T) {
	t.Parallel()
	secret, now := []byte("secret"), time.Now()
	const address = "192.0.2.1:99"
	value := prove(secret, httptest.NewRequest("POST", "/a/../b//c%41?x=1", nil), address, now)
	for name, tt := range map[string]struct {
		method, target string
		secret         string
		value          string
		at             time.Time
		want           bool
	}{
		"as it was sent":   {"POST", "/a/../b//c%41?x=1", "secret", value, now, true},
		"another query":    {"POST", "/a/../b//c%41?x=2", "secret", value, now, true}, // the sender's signature covers it
		"a little later":   {"POST", "/a/../b//c%41", "secret", value, now.Add(proofLife - time.Second), true},
		"a clock behind":   {"POST", "/a/../b//c%41", "secret", value, now.Add(time.Second - proofLife), true},
		"too late":         {"POST", "/a/../b//c%41", "secret", value, now.Add(proofLife + time.Second), false},
		"too early":        {"POST", "/a/../b//c%41", "secret", value, now.Add(-proofLife - time.Second), false},
		"another method":   {"GET", "/a/../b//c%41", "secret", value, now, false},
		"another path":     {"POST", "/a/../b//c", "secret", value, now, false},
		"another secret":   {"POST", "/a/../b//c%41", "other", value, now, false},
		"another address":  {"POST", "/a/../b//c%41", "secret", strings.Replace(value, "192.0.2.1", "192.0.2.2", 1), now, false},
		"another time":     {"POST", "/a/../b//c%41", "secret", strings.Replace(value, " 1", " 2", 1), now, false},
		"without a time":   {"POST", "/a/../b//c%41", "secret", value[:64] + " " + address, now, false},
		"of the old form":  {"POST", "/a/../b//c%41", "secret", strings.Repeat("0", 64) + " " + address, now, false},
		"nothing":          {"POST", "/a/../b//c%41", "secret", "", now, false},
		"no hexadecimals":  {"POST", "/a/../b//c%41", "secret", "x" + value[1:], now, false},
		"no number":        {"POST", "/a/../b//c%41", "secret", value[:64] + " soon " + address, now, false},
		"time and address": {"POST", "/a/../b//c%41", "secret", strings.Replace(value, " 192", " 1 192", 1), now, false},
	} {
		r := httptest.NewRequest(tt.method, tt.target, nil)
		r.Header = http.Header{forwardedFor: {tt.value}}
		got, ok := proved([]byte(tt.secret), r, tt.at)
		if ok != tt.want || ok && got != address {
			t.Errorf("%s: %q, %v; want %v", name, got, ok, tt.want)
		}
	}
	for bit := range len(value) * 8 {
		raw := []byte(value)
		if raw[bit/8] ^= 1 << (bit % 8); bit/8 < 64 && strings.EqualFold(string(raw), value) {
			continue // the same number in upper case
		}
		r := httptest.NewRequest("POST", "/a/../b//c%41", nil)
		r.Header = http.Header{forwardedFor: {string(raw)}}
		if got, ok := proved(secret, r, now); ok {
			t.Errorf("bit %d may be flipped: %q", bit, got)
		}
	}
}

// Nodes whose clocks differ agree on the time among each other, because a node with a
// wrong clock forwards like any other.
func TestKeeper_NowIsTheDatabases(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		k := &Keeper{opts: Options{clock: func() time.Time { return time.Now().Add(off) }}, skew: skew{ahead: off}}
		if got := time.Until(k.now()).Abs(); got > proofLife/2 {
			t.Errorf("with a clock %s off, the time is %s off", off, got)
		}
	}
}
