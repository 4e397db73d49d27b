package gameapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/agent/handover"
	"github.com/musterhq/muster/internal/wait"
)

// open returns an interface with two processes, a and b, for which there is no Muster.
func open(t testing.TB, state string) *Server {
	t.Helper()
	s, err := Listen(Options{Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, id := range []string{"a", "b"} {
		a := Admission{
			FleetID: "fleet-1", HostID: "host-1", ProcessID: id, Token: "token-" + id, Port: 7777,
			Endpoint: func() (string, string, error) { return "", "", errors.New("there is no Muster") },
		}
		if state != "" {
			a.State = filepath.Join(state, id)
		}
		s.Admit(a)
	}
	return s
}

// ask sends a request; change may be nil.
func ask(t testing.TB, s *Server, method, path, body string, change func(*http.Request)) (int, Problem, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer token-a")
	if change != nil {
		change(r)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var p Problem
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") {
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if p.Status != res.StatusCode || p.Detail == "" || p.Type != "urn:muster:problem:"+p.Code {
			t.Errorf("the problem is not whole: %s", text)
		}
		for _, secret := range []string{"token-a", "token-b"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("an answer has a token: %s", text)
			}
		}
	}
	return res.StatusCode, p, string(text)
}

// What is wrong is named, with the member and the remedy.
func TestServer_Refuses(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	cases := []struct {
		name, method, path, body string
		change                   func(*http.Request)
		status                   int
		code, member             string
	}{
		{"no token", "GET", "/session", "", func(r *http.Request) { r.Header.Del("Authorization") }, 401, "token-missing", "Authorization"},
		{"another scheme", "GET", "/session", "", header("Authorization", "Basic token-a"), 401, "token-missing", "Authorization"},
		{"wrong token", "GET", "/session", "", header("Authorization", "Bearer token-c"), 401, "token-invalid", "Authorization"},
		{"part of a token", "GET", "/session", "", header("Authorization", "Bearer token-"), 401, "token-invalid", "Authorization"},
		{"another host", "GET", "/session", "", func(r *http.Request) { r.Host = "game.example" }, 421, "wrong-host", "Host"},
		{"a web page", "GET", "/session", "", header("Origin", "http://game.example"), 403, "web-page", "Origin"},
		{"a web page's image", "GET", "/session", "", header("Sec-Fetch-Site", "cross-site"), 403, "web-page", "Origin"},
		{"a web page asks for leave", "OPTIONS", "/session", "", header("Origin", "null"), 403, "web-page", "Origin"},
		{"no such path", "GET", "/sessions", "", nil, 404, "not-found", ""},
		{"no such method", "PUT", "/session", "", nil, 405, "method-not-allowed", ""},
		{"no JSON", "POST", "/ready", "port=1", nil, 400, "malformed-json", ""},
		{"half an object", "POST", "/ready", `{"port":`, nil, 400, "malformed-json", ""},
		{"two objects", "POST", "/ready", `{} {}`, nil, 400, "malformed-json", ""},
		{"an unknown member", "POST", "/ready", `{"prot":1}`, nil, 400, "unknown-field", "prot"},
		{"a wrong type", "POST", "/ready", `{"port":"7777"}`, nil, 400, "invalid-parameter", "port"},
		{"no port", "POST", "/ready", `{"port":0}`, nil, 400, "invalid-parameter", "port"},
		{"a port too high", "POST", "/ready", `{"port":65536}`, nil, 400, "invalid-parameter", "port"},
		{"health too often", "POST", "/ready", `{"health_timeout_seconds":1}`, nil, 400, "invalid-parameter", "health_timeout_seconds"},
		{"an empty log path", "POST", "/ready", `{"log_paths":[""]}`, nil, 400, "invalid-parameter", "log_paths"},
		{"a wait too long", "GET", "/session?wait=61", "", nil, 400, "invalid-parameter", "wait"},
		{"no wait", "GET", "/session?wait=soon", "", nil, 400, "invalid-parameter", "wait"},
		{"a player before ready", "POST", "/players", `{"player_session_id":"psess-1"}`, nil, 409, "not-ready", ""},
		{"active before ready", "POST", "/session/activate", "", nil, 409, "not-ready", ""},
		{"a body too large", "POST", "/health", `{"healthy":` + strings.Repeat(" ", maxBody) + `true}`, nil, 413, "body-too-large", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, p, text := ask(t, s, c.method, c.path, c.body, c.change)
			if status != c.status || p.Code != c.code || p.Member != c.member {
				t.Errorf("got %d %s", status, text)
			}
		})
	}
}

// A token is valid for its own process alone, and no longer than the process runs.
func TestServer_TokenOfOneProcess(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	if status, _, text := ask(t, s, "POST", "/health", `{"healthy":false}`, nil); status != 204 {
		t.Fatalf("got %d %s", status, text)
	}
	a, b := s.processes["a"], s.processes["b"]
	if a.Healthy() || !b.Healthy() {
		t.Errorf("a is healthy: %v, b is healthy: %v; want only b", a.Healthy(), b.Healthy())
	}
	if left := s.Forget("a", true); left {
		t.Error("a process that never called ready counts as one that called ProcessEnding")
	}
	if status, p, _ := ask(t, s, "GET", "/session", "", nil); status != 401 || p.Code != "token-invalid" {
		t.Errorf("the token of a process that has ended: got %d %s", status, p.Code)
	}
}

// While the agent takes over the processes of a former one, connections wait: a token that it
// does not know yet is not refused.
func TestServer_Resuming(t *testing.T) {
	t.Parallel()
	s, err := Listen(Options{Address: "127.0.0.1:0", Resuming: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := dial(t, s)
	fmt.Fprintf(w.c, "POST /v1/health HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer token-a\r\nContent-Length: 0\r\n\r\n", s.Address())
	s.Admit(Admission{ProcessID: "a", Token: "token-a"})
	s.Resumed()
	if status, _ := w.answer(); status != http.StatusNoContent {
		t.Errorf("status %d", status)
	}
}

// An agent that is replaced answers the request that waits for news, and the next one goes on
// with the connection. Those of more programs than may be strangers stay.
func TestServer_HandsOver(t *testing.T) {
	former, state := &handover.Sockets{}, filepath.Join(t.TempDir(), "a")
	listen := func(sockets *handover.Sockets, address string) (*Server, *Process) {
		s, err := Listen(Options{Address: address, Sockets: sockets, Resuming: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		p := s.Admit(Admission{ProcessID: "a", Token: "token-a", State: state, Endpoint: func() (string, string, error) { return "", "", errors.New("there is no Muster") }})
		s.Resumed()
		return s, p
	}
	first, p := listen(former, "127.0.0.1:0")
	poll := dial(t, first)
	fmt.Fprintf(poll.c, "GET /v1/session?wait=60 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer token-a\r\n\r\n", first.Address())
	wait.Until(t, "the program waits for news", func() bool { return len(p.busy) == 1 })
	var idle []*wire
	for range maxStrangers {
		idle = append(idle, dial(t, first))
	}
	wait.Until(t, "all are connected", func() bool {
		first.conns.mu.Lock()
		defer first.conns.mu.Unlock()
		return first.conns.open == maxStrangers+1
	})

	if err := former.Pass(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if status, stays := poll.answer(); status != http.StatusOK || !stays {
		t.Errorf("the answer to the request that waits is %d; the connection stays: %t", status, stays)
	}
	for _, entry := range former.Environ(nil) {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	listen(handover.Take(), first.Address().String())
	for _, w := range append(idle, poll, dial(t, first)) {
		fmt.Fprintf(w.c, "GET /v1/session HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer token-a\r\n\r\n", first.Address())
		if status, _ := w.answer(); status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Errorf("status %d", status)
		}
	}
}

// A refused request does not keep its connection by a body that never comes.
func TestServer_RefusedBody(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil { // to fail if it is not closed
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST /v1/ready HTTP/1.1\r\nHost: %s\r\nContent-Length: 100000\r\n\r\n", s.Address())
	text, err := io.ReadAll(c)
	if err != nil || !bytes.Contains(text, []byte(" 401 ")) {
		t.Errorf("%v: %.60q", err, text)
	}
}

// A program may have a limited number of requests under way; others are not affected.
func TestServer_BoundsWhatWaits(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan error, maxRequests)
	for range maxRequests {
		go func() {
			r, _ := http.NewRequestWithContext(ctx, "GET", s.URL()+"/session?wait=60", nil)
			r.Header.Set("Authorization", "Bearer token-a")
			res, err := http.DefaultClient.Do(r)
			if err == nil {
				res.Body.Close()
			}
			answers <- err
		}()
	}
	p := s.processes["a"]
	busy := func(n int) {
		t.Helper()
		wait.For(t, "requests are under way or given up", func() error {
			if is := len(p.busy); is != n {
				return fmt.Errorf("%d are under way, want %d", is, n)
			}
			return nil
		})
	}
	busy(maxRequests)
	if status, p, _ := ask(t, s, "POST", "/health", "", nil); status != 429 || p.Code != "rate-limited" {
		t.Errorf("one more request: got %d %s", status, p.Code)
	}
	if status, _, text := ask(t, s, "POST", "/health", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer token-b") }); status != 204 {
		t.Errorf("the other process: got %d %s", status, text)
	}
	cancel()
	for range maxRequests {
		<-answers
	}
	busy(0) // what is given up is not held
}

// A game session that Muster pushes ends a wait; the next agent knows it.
func TestProcess_KeepsItsState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	p := s.processes["a"]
	p.change(func(k *kept) { k.Ready, k.Announced = &ReadyRequest{}, true })
	waiting := make(chan string)
	go func() {
		_, _, text := ask(t, s, "GET", "/session?wait=60", "", nil)
		waiting <- text
	}()
	wait.Until(t, "the request waits", func() bool { return len(p.busy) > 0 })
	p.Push("CreateGameSession", []byte(`{"GameSessionId":"arn:g","GameSessionName":"friday","MaximumPlayerSessionCount":4,"MatchmakerData":"{\"matchId\":\"m\"}"}`))
	p.Push("CreateGameSession", []byte(`{"GameSessionId":"arn:h"}`)) // a process has one
	for _, want := range []string{`"state":"activating"`, `"session_id":"arn:g"`, `"max_players":4`, `"match":{"matchId":"m"}`, `"properties":{}`} {
		if text := <-waiting; !strings.Contains(text, want) {
			t.Errorf("got %s, want %s", text, want)
		} else {
			go func() { waiting <- text }()
		}
	}
	<-waiting
	at := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	p.Push("UpdateGameSession", []byte(`{"GameSession":{"GameSessionId":"arn:g","Name":"friday","MaximumPlayerSessionCount":4},"UpdateReason":"BACKFILL_TIMED_OUT","BackfillTicketId":"t1"}`))
	p.Push("TerminateProcess", []byte(`{"TerminationTime":`+jsonNumber(at.UnixMilli())+`}`))
	p.mu.Lock()
	p.take("psess-1", true)
	p.mu.Unlock()
	before, _ := p.Look()
	s.Close()

	again := open(t, dir)
	now, _ := again.processes["a"].Look()
	if now.Version != before.Version || now.State != Ending || now.Session == nil || now.Session.SessionID != "arn:g" || now.Backfill == nil || *now.Backfill != (Backfill{"t1", TimedOut}) || !now.EndBy.Equal(at) {
		t.Errorf("the next agent knows %+v, want %+v", now, before)
	}
	if !again.processes["a"].kept.Taken["psess-1"] {
		t.Error("the next agent does not know who was accepted")
	}
	if other, _ := again.processes["b"].Look(); other.Session != nil || other.State != Starting {
		t.Errorf("the other process has %+v", other)
	}
}

func jsonNumber(n int64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

func TestKept_Health(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		name   string
		k      kept
		silent time.Duration
		want   bool
	}{
		{"not ready", kept{}, time.Hour, true},
		{"promised nothing", kept{Ready: &ReadyRequest{}}, time.Hour, true},
		{"just in time", kept{Ready: &ReadyRequest{HealthTimeout: 30}}, 30 * time.Second, true},
		{"silent", kept{Ready: &ReadyRequest{HealthTimeout: 30}}, 31 * time.Second, false},
	} {
		if got := c.k.timely(now.Add(-c.silent), now); got != c.want {
			t.Errorf("%s: timely is %v", c.name, got)
		}
	}
}

// The description names each path and code of the interface, and no other.
func TestDescription(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	status, _, text := ask(t, s, "GET", "/openapi.yaml", "", func(r *http.Request) { r.Header.Del("Authorization") })
	if status != 200 {
		t.Fatalf("the description: %d %s", status, text)
	}
	described := map[string]bool{}
	path := ""
	for line := range strings.Lines(text[:strings.Index(text, "\ncomponents:")]) {
		if found := regexp.MustCompile(`^  (/\S+):\n`).FindStringSubmatch(line); found != nil {
			path = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(found[1], "{id}")
		}
		if found := regexp.MustCompile(`^    (get|post|patch|delete|put):\n`).FindStringSubmatch(line); found != nil {
			described[strings.ToUpper(found[1])+" "+path] = true
		}
	}
	if !described["GET /openapi.yaml"] {
		t.Error("the description does not describe itself")
	}
	delete(described, "GET /openapi.yaml")
	for pattern := range calls {
		if !described[pattern] {
			t.Errorf("%s is not described", pattern)
		}
		delete(described, pattern)
	}
	for pattern := range described {
		t.Errorf("%s is described and not served", pattern)
	}
	var codes []string
	for _, found := range regexp.MustCompile(`\n            - ([a-z-]+)`).FindAllStringSubmatch(text, -1) {
		codes = append(codes, found[1])
	}
	if !slices.IsSorted(codes) || !slices.Contains(codes, "player-refused") || len(codes) < 15 {
		t.Errorf("the codes are %v", codes)
	}
}

func TestWireAttribute(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"x"`: `{"AttrType":"STRING","S":"x"}`, `1.5`: `{"AttrType":"DOUBLE","N":1.5}`, ` ["a","b"]`: `{"AttrType":"STRING_LIST","SL":["a","b"]}`,
		`{"k":2}`: `{"AttrType":"STRING_DOUBLE_MAP","SDM":{"k":2}}`, `null`: "", `true`: "", `[1]`: "", `{"k":"v"}`: "",
	} {
		got, err := wireAttribute([]byte(text))
		encoded, _ := json.Marshal(got)
		if want == "" && err == nil || want != "" && string(encoded) != want {
			t.Errorf("%s: got %s, %v; want %s", text, encoded, err, want)
		}
	}
}

// Whatever a request is, it is answered with a problem or a right answer, and without a
// token it never gets to a call.
func FuzzRequest(f *testing.F) {
	s := open(f, "")
	f.Add("POST", "/v1/ready", "Bearer token-a", `{"port":7777,"log_paths":["a"],"health_timeout_seconds":30}`)
	f.Add("GET", "/v1/session?wait=0&after=3", "Bearer token-a", "")
	f.Add("POST", "/v1/players", "Bearer token-a", `{"player_session_id":"psess-1"}`)
	f.Add("DELETE", "/v1/players/%2e%2e", "Bearer token-a", "")
	f.Add("POST", "/v1/backfill", "Bearer token-a", `{"players":[{"player_id":"p","attributes":{"skill":{"a":1}}}]}`)
	f.Add("PATCH", "/v1/session", "bearer token-b", `{"accepting_players":true}`)
	f.Add("OPTIONS", "//v1/../session", "", "")
	ended, cancel := context.WithCancel(context.Background())
	cancel() // nothing is waited for
	f.Fuzz(func(t *testing.T, method, target, authorization, body string) {
		u, err := http.NewRequest("GET", "http://"+s.Address().String()+"/", nil)
		if err != nil || method == "" {
			t.Skip()
		}
		if parsed, err := u.URL.Parse(target); err != nil || parsed.Host != u.URL.Host {
			t.Skip()
		} else {
			u.URL = parsed
		}
		r := httptest.NewRequest("GET", "/", strings.NewReader(body)).WithContext(ended)
		r.Method, r.URL, r.Host = method, u.URL, s.Address().String()
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		known := regexp.MustCompile(`(?i)^bearer\s+token-[ab]\s*$`).MatchString(authorization)
		switch {
		case w.Code < 300 && !known && r.URL.Path != "/v1/openapi.yaml":
			t.Errorf("without a token: %d %s", w.Code, w.Body)
		case w.Code >= 400 && !json.Valid(w.Body.Bytes()):
			t.Errorf("no problem: %d %s", w.Code, w.Body)
		case w.Code >= 500 && w.Code != 503:
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	})
}
