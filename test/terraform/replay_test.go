package terraform

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/agent/wrap"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/test/node"
)

// TestMain makes the test binary also the wrapper with which its agent runs programs
// without an SDK.
func TestMain(m *testing.M) {
	if len(os.Args) < 5 || os.Args[1] != "wrap" {
		os.Exit(m.Run())
	}
	o, err := wrap.FromEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	o.Watched, o.Program, o.Args = true, os.Args[4], os.Args[5:] // wrap --watched -- PROGRAM ARGUMENTS
	code, err := wrap.Run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// TestReplay sends the requests that Terraform's provider sent when TestTerraform was
// recorded, in the same order, and compares the responses. The provider decides by
// responses alone, so if none differs it plans the same as then: nothing right after an
// apply. After a change that the provider should notice, record again on a machine with
// Terraform:
//
//	MUSTER_BIN=$PWD/bin/muster go test ./test/terraform -run TestTerraform -record
func TestReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.jsonl"))
	if err != nil || len(files) < 8 {
		t.Fatalf("recordings %v, %v", files, err)
	}
	a := node.InProcess(t, nil)
	host(t, a.URL())
	r := &replay{T: t, url: a.URL(), known: ids{}}
	for _, file := range files {
		r.file(file)
	}
	var fleets struct{ FleetIDs []string }
	if err := (&client.Client{Endpoint: a.URL()}).Call(t.Context(), "ListFleets", struct{}{}, &fleets); err != nil || len(fleets.FleetIDs) > 0 {
		t.Errorf("left after destroy: %v, %v", fleets.FleetIDs, err)
	}
}

func stepFile(n int, name string) string { return fmt.Sprintf("%d-%s.jsonl", n, name) }

// host runs an agent until the test ends.
func host(t *testing.T, url string) {
	t.Helper()
	self := node.Must(os.Executable())(t)
	token := node.Must((&client.Client{Endpoint: url}).CreateJoinToken(t.Context(), client.JoinTokenInput{}))(t)
	runner := node.Must(agent.New(agent.Options{
		Server: url, Token: token.Token, Root: t.TempDir(), Launcher: self, Unconfined: true, StopGrace: time.Second, Log: slog.New(slog.DiscardHandler),
		Facts: protocol.Facts{IPAddress: "127.0.0.1", CPUMillis: 64_000, MemoryMiB: 256 << 10},
	}))(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the agent ends with %v", err)
		}
	})
}

// replay sends recorded requests.
type replay struct {
	*testing.T
	url   string
	known ids
}

func (r *replay) file(path string) {
	r.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		r.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			r.Fatalf("%s:%d: %v", path, n, err)
		}
		if difference := r.again(e); difference != "" {
			r.Fatalf("%s:%d: the answer to %s\ndiffers from the recorded one: %s", path, n, r.known.show(e.String()), difference)
		}
	}
}

// again repeats a request and compares the responses. If a status in the response
// changes by itself, it retries for up to a minute until they match.
func (r *replay) again(e exchange) (difference string) {
	r.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for patience := time.Now().Add(time.Minute); ; <-tick.C {
		got := r.send(e)
		known := maps.Clone(r.known)
		if difference = known.compare(e.Answer, got); difference == "" {
			r.known = known
			return ""
		}
		if e.changes() || !moving(got.Body) || time.Now().After(patience) {
			return difference
		}
	}
}

func (m ids) compare(want, got answer) string {
	if want.Status != got.Status {
		return fmt.Sprintf("status %d, want %d: %v", got.Status, want.Status, got.Body)
	}
	for name, value := range want.Header {
		if got.Header[name] != value {
			return fmt.Sprintf("header %s is %q, want %q", name, got.Header[name], value)
		}
	}
	for name, value := range got.Header {
		if _, ok := want.Header[name]; !ok {
			return fmt.Sprintf("header %s is %q, want none", name, value)
		}
	}
	return m.match("body", want.Body, got.Body)
}

func (r *replay) send(e exchange) answer {
	r.Helper()
	method, path, content, service := e.Method, r.known.show(e.Path), e.Content, "s3"
	if e.Operation != "" {
		method, path, content, service = http.MethodPost, "/", []byte(r.known.show(string(e.Body))), "gamelift"
	}
	q, err := http.NewRequestWithContext(r.Context(), method, r.url+path, bytes.NewReader(content))
	if err != nil {
		r.Fatal(err)
	}
	for name, value := range e.Header {
		q.Header.Set(name, value)
	}
	if e.Operation != "" {
		q.Header.Set("Content-Type", "application/x-amz-json-1.1")
		q.Header.Set("X-Amz-Target", "GameLift."+e.Operation)
	}
	// This Muster accepts any credentials; the signature only selects the service.
	q.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=ANY/20260101/us-east-1/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	back, err := http.DefaultClient.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer back.Body.Close()
	text, err := io.ReadAll(back.Body)
	if err != nil {
		r.Fatal(err)
	}
	a, err := read(e.Operation, back.StatusCode, back.Header, text)
	if err != nil {
		r.Fatal(err)
	}
	return a
}

// A recording contains no credentials and nothing about the machine where it was made.
func TestRecordings_Clean(t *testing.T) {
	t.Parallel()
	files := node.Must(filepath.Glob(filepath.Join("testdata", "*.jsonl")))(t)
	for _, file := range files {
		text := node.Must(os.ReadFile(file))(t)
		for _, word := range []string{"Authorization", "Credential", "Signature", "127.0.0.1", "localhost", "User-Agent", os.TempDir()} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s has %q", file, word)
			}
		}
	}
}
