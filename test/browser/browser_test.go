package browser

import (
	"cmp"
	_ "embed"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/node"
)

// evil is a page that requests every door of the server named in its parameter target.
//
//go:embed evil.html
var evil []byte

// doors are the paths that the page requests.
var doors = []string{
	"/", "/service/GameLift/operation/ListFleets", "/agent/v1/tokens", "/player/v1/auth/guest", "/notify/replay", "/bucket/key",
	"/gameserver/v5", "/agent/v1/host", "/player/v1/ws",
}

// between is a proxy between a browser and Muster. It serves the evil page itself,
// forwards every other request unchanged, and records the status of each response.
type between struct {
	proxy *httputil.ReverseProxy
	done  chan struct{}

	mu      sync.Mutex
	answers map[string][]int // statuses, by path
}

func newBetween(t *testing.T, muster string) *between {
	to, err := url.Parse(muster)
	if err != nil {
		t.Fatal(err)
	}
	b := &between{done: make(chan struct{}, 8), answers: map[string][]int{}}
	b.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host },
		ModifyResponse: func(answer *http.Response) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			path := answer.Request.URL.Path
			b.answers[path] = append(b.answers[path], answer.StatusCode)
			return nil
		},
	}
	return b
}

func (b *between) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/evil.html":
		w.Header().Set("Content-Type", "text/html")
		w.Write(evil)
	case "/done":
		b.done <- struct{}{}
	case "/favicon.ico":
		w.WriteHeader(http.StatusNotFound)
	default:
		b.proxy.ServeHTTP(w, r)
	}
}

// visit loads a page in a browser, and waits until the page is done.
func (b *between) visit(t *testing.T, page string) {
	t.Helper()
	chromium.Needs(t, "no page can try")
	var out strings.Builder
	cmd, _ := chromium.Command(t, page, "--host-resolver-rules=MAP rebind.example 127.0.0.1, MAP foreign.example 127.0.0.1")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); <-ended }()
	select {
	case <-b.done:
	case err := <-ended:
		ended <- err
		t.Fatalf("the browser ended before the page was done: %v\n%s", err, &out)
	case <-time.After(3 * time.Minute):
		t.Fatal("the page was not done after three minutes")
	}
}

// A page of another origin, and one whose host name was rebound to this machine, get
// nothing from any door of `muster local`; a program that is not a browser gets
// everything. Pages of this machine may use the player API, and nothing else.
func TestLocal_PagesGetNothing(t *testing.T) {
	muster := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	for _, c := range []struct {
		name, page, target string // hosts; "" is this machine's address
		want               int
		plays              bool // the player API answers
	}{
		{"a page of another site", "foreign.example", "", http.StatusForbidden, false},
		{"a page of another port of this machine", "", "", http.StatusForbidden, true},
		{"a rebound name", "rebind.example", "rebind.example", http.StatusMisdirectedRequest, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBetween(t, muster.URL)
			here, elsewhere := httptest.NewServer(b), httptest.NewServer(b)
			defer here.Close()
			defer elsewhere.Close()
			named := func(url, host string) string { return strings.Replace(url, "127.0.0.1", cmp.Or(host, "127.0.0.1"), 1) }
			page, target := named(elsewhere.URL, c.page), named(here.URL, c.target)
			if c.target != "" {
				page = target
			}
			b.visit(t, page+"/evil.html?target="+url.QueryEscape(target))
			b.mu.Lock()
			for _, path := range doors {
				if len(b.answers[path]) == 0 {
					t.Errorf("%s: the page did not get there", path)
				}
				for _, status := range b.answers[path] {
					if plays := c.plays && strings.HasPrefix(path, "/player/"); plays == (status == c.want) || plays && status >= 400 {
						t.Errorf("%s: status %d; refusals are %d, the player API answers: %t", path, status, c.want, plays)
					}
				}
			}
			b.mu.Unlock()
			r, _ := http.NewRequest("POST", here.URL, strings.NewReader("{}"))
			r.Header.Set("X-Amz-Target", "GameLift.ListFleets")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				t.Errorf("a program gets %d", answer.StatusCode)
			}
		})
	}
}
