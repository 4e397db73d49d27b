package beacon

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/wait"
)

var here = netip.MustParseAddr("192.0.2.1")

// ask sends a request from an address.
func ask(b http.Handler, method, query string) (status int, body string, header http.Header) {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, httptest.NewRequest(method, "/any?"+query, nil))
	text, _ := io.ReadAll(w.Body)
	return w.Code, string(text), w.Header()
}

func from(at *netip.Addr) func(*http.Request) netip.Addr {
	return func(*http.Request) netip.Addr { return *at }
}

const nonce = "0123456789abcdef"

// A receipt says the time between the two requests, for the client that sent both.
func TestWeb_Receipt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := here
		b := Web(Options{Location: "custom-here", Key: key}, from(&client))
		status, stamp, header := ask(b, "GET", "nonce="+nonce)
		if status != 200 || header.Get("Access-Control-Allow-Origin") != "*" || header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %q %v", status, stamp, header)
		}
		wait.Pass(30 * time.Millisecond)
		again := url.Values{"nonce": {nonce}, "stamp": {stamp}}
		status, receipt, _ := ask(b, "GET", again.Encode())
		got, err := NewReceipts(key).Check(receipt, here, time.Now())
		if status != 200 || err != nil || got.RTT != 30 || got.Location != "custom-here" {
			t.Fatalf("%d %q: %+v, %v", status, receipt, got, err)
		}
		first := byte('A')
		if stamp[0] == first {
			first = 'B'
		}
		for name, q := range map[string]url.Values{
			"another nonce":   {"nonce": {"1123456789abcdef"}, "stamp": {stamp}},
			"another time":    {"nonce": {nonce}, "stamp": {string(first) + stamp[1:]}},
			"shorter":         {"nonce": {nonce}, "stamp": {stamp[1:]}},
			"empty":           {"nonce": {nonce}, "stamp": {""}},
			"no base64":       {"nonce": {nonce}, "stamp": {"!" + stamp[1:]}},
			"short nonce":     {"nonce": {"01"}},
			"nonce in base64": {"nonce": {"0123456789abcdeg"}},
		} {
			if status, text, _ := ask(b, "GET", q.Encode()); status != 400 || !strings.HasPrefix(text, "stamp: ") && !strings.HasPrefix(text, "nonce: ") {
				t.Errorf("%s: %d %q", name, status, text)
			}
		}
		there := Web(Options{Location: "custom-there", Key: key}, from(&client))
		if status, text, _ := ask(there, "GET", again.Encode()); status != 400 {
			t.Errorf("another beacon: %d %q", status, text)
		}
		client = netip.MustParseAddr("198.51.100.1")
		if status, text, _ := ask(b, "GET", again.Encode()); status != 400 {
			t.Errorf("another client: %d %q", status, text)
		}
		client = here
		wait.Pass(maxRTT)
		if status, text, _ := ask(b, "GET", again.Encode()); status != 400 {
			t.Errorf("too late: %d %q", status, text)
		}
	})
}

func TestWeb_WithoutKey(t *testing.T) {
	t.Parallel()
	client := here
	b := Web(Options{Location: "custom-here"}, from(&client))
	for _, query := range []string{"", "nonce=" + nonce, "nonce=" + nonce + "&stamp=x"} {
		if status, text, _ := ask(b, "GET", query); status != 204 || text != "" {
			t.Errorf("%q: %d %q", query, status, text)
		}
	}
	if status, _, header := ask(b, "POST", ""); status != 405 || header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", status, header)
	}
}

// A network has a limit, whatever the ports of its connections; others do not suffer.
func TestWeb_Limit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := here
		b := Web(Options{PerNetwork: 5}, from(&client))
		count := func(address string) (answered int) {
			client = netip.MustParseAddr(address)
			for range 20 {
				switch status, _, header := ask(b, "GET", ""); status {
				case 204:
					answered++
				case 429:
					if header.Get("Retry-After") != "1" || header.Get("Access-Control-Allow-Origin") != "*" {
						t.Errorf("429 with %v", header)
					}
				default:
					t.Errorf("status %d", status)
				}
			}
			return answered
		}
		wait.Pass(time.Second) // so that the buckets are full
		if a := count("192.0.2.1"); a != 5 {
			t.Errorf("%d are answered, want 5", a)
		}
		if a := count("192.0.2.200"); a != 0 {
			t.Errorf("a neighbor in the network: %d are answered, want 0", a)
		}
		wait.Pass(time.Second)
		if a := count("192.0.2.200"); a != 5 {
			t.Errorf("a second later: %d are answered, want 5", a)
		}
		client = netip.Addr{}
		if status, _, _ := ask(b, "GET", ""); status != 429 {
			t.Errorf("nobody: %d", status)
		}
	})
}

// No query makes the beacon sign what it did not stamp.
func FuzzWeb(f *testing.F) {
	f.Add("nonce=" + nonce)
	f.Add("nonce=" + nonce + "&stamp=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("nonce=%zz&stamp")
	client := here
	b := Web(Options{Location: "l", Key: key, PerNetwork: 1 << 30, Total: 1 << 30}, from(&client))
	f.Fuzz(func(t *testing.T, query string) {
		r := &http.Request{Method: "GET", URL: &url.URL{RawQuery: query}, Header: http.Header{}}
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		if _, err := NewReceipts(key).Check(w.Body.String(), here, time.Now()); err == nil {
			t.Errorf("%q makes a receipt", query)
		}
	})
}
