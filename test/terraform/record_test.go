package terraform

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/musterhq/muster/test/node"
)

var recording = flag.Bool("record", false, "write the requests that the provider makes to testdata")

// recorder is a proxy between Terraform and Muster that records their exchanges. The
// exchanges between two calls of step are written to one file.
type recorder struct {
	t      *testing.T
	to     string // URL of the Muster
	server *httptest.Server

	mu    sync.Mutex
	all   []exchange // since the last step
	known ids
	steps int
}

func newRecorder(t *testing.T, to string) *recorder {
	t.Helper()
	old := node.Must(filepath.Glob(filepath.Join("testdata", "*.jsonl")))(t)
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	r := &recorder{t: t, to: to, known: ids{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

// ServeHTTP forwards a request. It records the exchange before it returns the response,
// so that a request that uses an id is recorded after the response that contains it.
func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		r.t.Error(err)
		return
	}
	on, err := http.NewRequestWithContext(q.Context(), q.Method, r.to+q.RequestURI, bytes.NewReader(body))
	if err != nil {
		r.t.Error(err)
		return
	}
	on.Header, on.Host = q.Header.Clone(), q.Host
	back, err := http.DefaultTransport.RoundTrip(on)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer back.Body.Close()
	text, err := io.ReadAll(back.Body)
	if err == nil {
		err = r.keep(q, body, back, text)
	}
	if err != nil {
		r.t.Error(err)
		return
	}
	for name, values := range back.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(back.StatusCode)
	w.Write(text)
}

func (r *recorder) keep(q *http.Request, body []byte, back *http.Response, text []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e exchange
	if target, ok := strings.CutPrefix(q.Header.Get("X-Amz-Target"), "GameLift."); ok {
		e.Operation, e.Body = target, json.RawMessage(r.known.hide(string(body)))
	} else {
		e.Method, e.Path, e.Header, e.Content = q.Method, r.known.hide(q.RequestURI), kept(q.Header), body
	}
	r.known.learn(string(text))
	a, err := read(e.Operation, back.StatusCode, back.Header, []byte(r.known.hide(string(text))))
	if err != nil {
		return err
	}
	a.Body = forget(a.Body)
	e.Answer = a
	r.all = append(r.all, e)
	return nil
}

// step writes the exchanges since the last step to a file.
func (r *recorder) step(name string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps++
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	for _, e := range settled(r.all) {
		if err := lines.Encode(e); err != nil {
			r.t.Fatal(err)
		}
	}
	r.all = nil
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", stepFile(r.steps, name)), out.Bytes(), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// settled omits exchanges whose response shows a status that will change if the same
// request follows again: a replay repeats the request until it gets the last response.
func settled(all []exchange) []exchange {
	var left []exchange
	for i, e := range all {
		again := slices.ContainsFunc(all[i+1:], func(later exchange) bool { return later.question() == e.question() })
		if e.changes() || !moving(e.Answer.Body) || !again {
			left = append(left, e)
		}
	}
	return left
}
