package remote

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/placement"
)

// servedBy returns a remote that a handler answers for.
func servedBy(t *testing.T, h http.HandlerFunc) *Remote {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return at(t, server.URL)
}

// in answers with a status and a body in CBOR.
func in(w http.ResponseWriter, status int, body any) {
	text, err := cbor.Marshal(body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/cbor")
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

var somewhere = placement.Place{FleetID: "fleet-1", Location: "custom-a"}

// An answer that is too long is not read to its end, and says nothing: the request may have been
// carried out.
func TestBounds_Body(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	r := servedBy(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/cbor")
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		some := make([]byte, 1<<16)
		for range 1 << 10 { // 64 MiB
			n, err := w.Write(some)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	_, err := r.Create(t.Context(), somewhere, "t", &placement.Request{MaxPlayers: 2})
	if err == nil || placement.RefusalOf(err) != nil || !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
	if n := sent.Load(); n > 32<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// A list ends, even if the remote says that there are more pages.
func TestBounds_Pages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		token func(n int64) string
		most  int64
	}{
		{"the same again", func(int64) string { return "next" }, 2},
		{"always another", func(n int64) string { return fmt.Sprint("next-", n) }, maxPages},
	} {
		var n atomic.Int64
		r := servedBy(t, func(w http.ResponseWriter, _ *http.Request) {
			in(w, http.StatusOK, map[string]any{"NextToken": test.token(n.Add(1)), "PlayerSessions": []any{}, "LocationAttributes": []any{}})
		})
		r.pace.SetLimit(1e6)
		if _, err := r.Reserved(t.Context(), "gsess"); err == nil || n.Load() != test.most {
			t.Errorf("%s: player sessions: %v after %d pages", test.name, err, n.Load())
		}
		n.Store(0)
		if _, err := r.places(t.Context(), "fleet-1"); err == nil || n.Load() != test.most {
			t.Errorf("%s: locations: %v after %d pages", test.name, err, n.Load())
		}
	}
}

// What is kept of a reason is bounded text.
func TestBounds_Reason(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100_000)
	for _, status := range []int{400, 403, 500} {
		r := servedBy(t, func(w http.ResponseWriter, _ *http.Request) {
			in(w, status, map[string]string{"__type": "com.amazonaws.gamelift#InvalidRequestException", "Message": long, "message": long})
		})
		_, err := r.Create(t.Context(), somewhere, "t", &placement.Request{MaxPlayers: 2})
		if err == nil || len(err.Error()) > maxReason || !utf8.ValidString(err.Error()) {
			t.Errorf("%d: the error has %d bytes", status, len(fmt.Sprint(err)))
		}
		if refused := placement.RefusalOf(err) != nil; refused != (status < 500) {
			t.Errorf("%d: it is a refusal: %v", status, refused)
		}
	}
}

// A redirect is not followed: a signed request is for the host that it was configured for.
func TestBounds_Redirect(t *testing.T) {
	t.Parallel()
	var followed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := servedBy(t, func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, other.URL, status) })
		_, err := r.Create(t.Context(), somewhere, "t", &placement.Request{MaxPlayers: 2})
		if no := placement.RefusalOf(err); no == nil || no.Kind != placement.Denied || !strings.Contains(no.Message, other.URL) {
			t.Errorf("%d: got %v", status, err)
		}
	}
	if n := followed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// A cost that is none is not compared.
func TestBounds_Cost(t *testing.T) {
	t.Parallel()
	for cost, want := range map[string]float64{"0.25": 0.25, "NaN": 0, "Inf": 0, "-1": 0, "1e300": 0} {
		r := servedBy(t, func(w http.ResponseWriter, _ *http.Request) {
			in(w, http.StatusOK, map[string]any{"FleetAttributes": []any{map[string]any{"FleetId": "fleet-1", "Status": "ERROR", "AnywhereConfiguration": map[string]any{"Cost": cost}}}})
		})
		found, err := r.Survey(t.Context(), "arn:aws:gamelift:eu-west-1:222222222222:fleet/fleet-1")
		if err != nil || found.Cost != want {
			t.Errorf("%s: the cost is %v, %v", cost, found.Cost, err)
		}
	}
}

// A configuration says which member is wrong, why, and what to write.
func TestCheck(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Config){
		`remotes: "there": price_per_hour: NaN is not a price from 0 to 1e+06; leave it out for the cost of the fleet`:  func(c *Config) { c.PricePerHour = math.NaN() },
		`remotes: "there": price_per_hour: +Inf is not a price from 0 to 1e+06; leave it out for the cost of the fleet`: func(c *Config) { c.PricePerHour = math.Inf(1) },
		`remotes: "there": price_per_hour: -1 is not a price from 0 to 1e+06; leave it out for the cost of the fleet`:   func(c *Config) { c.PricePerHour = -1 },
		`remotes: "there": requests_per_second: NaN is not above 0 and at most 100000; leave it out for 50`:             func(c *Config) { c.RequestsPerSecond = math.NaN() },
		`remotes: "there": requests_per_second: +Inf is not above 0 and at most 100000; leave it out for 50`:            func(c *Config) { c.RequestsPerSecond = math.Inf(1) },
		`remotes: "there": poll: 1ms is not from 1s to 1h0m0s; leave it out for 5s`:                                     func(c *Config) { c.Poll = time.Millisecond },
		`remotes: "there": timeout: 1h0m0s is not above 0 and at most 5m0s; leave it out for 5s`:                        func(c *Config) { c.Timeout = time.Hour },
	} {
		all := []Config{at(t, "http://127.0.0.1:1").config}
		change(&all[0])
		if err := Check(all, arn.Home{Region: "us-east-1", Account: "000000000000"}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
