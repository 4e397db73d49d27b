package placement

import (
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// wire is a proxy before a deployment. It counts the requests of others, can delay them, and
// calls a test at a stage of one of them.
type wire struct {
	url   string
	proxy *httputil.ReverseProxy
	delay time.Duration // of each round trip

	mu    sync.Mutex
	count map[string]int // by operation
	traps []*trap
}

// trap is a request at which something happens, once.
type trap struct {
	operation string
	carried   bool   // when the other side has answered it, in place of before it is sent on
	do        func() // while the sender waits for the answer
	lost      bool   // then the connection is closed
	sprung    chan struct{}
}

func newWire(t *testing.T, target string, delay time.Duration) *wire {
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{delay: delay, count: map[string]int{}, proxy: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { // Host stays, which is part of the signature
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// set adds a trap.
func (w *wire) set(operation string, carried, lost bool, do func()) *trap {
	tr := &trap{operation: operation, carried: carried, lost: lost, do: do, sprung: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.traps = append(w.traps, tr)
	return tr
}

// take removes the first trap for an operation and returns it, or nil.
func (w *wire) take(operation string) *trap {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count[operation]++
	for i, tr := range w.traps {
		if tr.operation == operation {
			w.traps = append(w.traps[:i:i], w.traps[i+1:]...)
			return tr
		}
	}
	return nil
}

// spring does what a trap says.
func (tr *trap) spring() {
	tr.do()
	close(tr.sprung)
	if tr.lost {
		panic(http.ErrAbortHandler)
	}
}

// ServeHTTP implements http.Handler.
func (w *wire) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	tr := w.take(operation(in))
	time.Sleep(w.delay) // the distance
	if tr != nil && !tr.carried {
		tr.spring()
	}
	answer := httptest.NewRecorder()
	w.proxy.ServeHTTP(answer, in)
	if tr != nil && tr.carried {
		tr.spring()
	}
	if answer.Code == http.StatusBadGateway { // as if there were no proxy
		panic(http.ErrAbortHandler)
	}
	maps.Copy(out.Header(), answer.Header())
	out.WriteHeader(answer.Code)
	_, _ = out.Write(answer.Body.Bytes())
}

// operation returns the operation of a request.
func operation(r *http.Request) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return target[strings.LastIndex(target, ".")+1:]
	}
	return r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
}
