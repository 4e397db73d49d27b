package scenario

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// TestClusterAuditSink kills the server that owns the cell just after the sink has
// stored a batch of its records: the next owner continues, and in the end the sink
// has the whole log, as `muster admin audit verify --file` confirms.
func TestClusterAuditSink(t *testing.T) {
	muster := node.Path(t)
	export := filepath.Join(t.TempDir(), "audit.jsonl")
	file, err := os.OpenFile(export, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var mu sync.Mutex
	var owner *node.Process // to be killed with the next batch
	came := make(chan string, 1000)
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if _, err := file.Write(body); err != nil {
			t.Error(err)
		}
		if owner != nil && bytes.Contains(body, []byte("custom-last-words")) {
			owner.Kill() // it never learns that the batch was stored
			owner = nil
		}
		came <- string(body)
	}))
	defer sink.Close()

	servers, credentials := serveCell(t, 2, "--audit-sink", sink.URL)
	at := func(i int) *client.Client { return &client.Client{Endpoint: servers[i].URL, Credentials: credentials} }
	locate := func(i int, name string) error {
		return at(i).Call(t.Context(), "CreateLocation", map[string]any{"LocationName": name}, nil)
	}
	await := func(word string) {
		t.Helper()
		for !strings.Contains(wait.Receive(t, fmt.Sprintf("%q to come to the sink", word), came), word) {
		}
	}
	if err := locate(1, "custom-first"); err != nil {
		t.Fatal(err)
	}
	await("custom-first")
	mu.Lock()
	owner = servers[0]
	mu.Unlock()
	if err := locate(0, "custom-last-words"); err != nil {
		t.Fatal(err)
	}
	await("custom-last-words") // from the owner that is killed for it
	await("custom-last-words") // again, from the next owner
	if err := locate(1, "custom-new"); err != nil {
		t.Fatal(err)
	}
	await("custom-new")
	own, _, err := at(1).AuditLog().Verify(t.Context())
	if err != nil || own.Problem != "" {
		t.Fatalf("the log of the next owner is %+v, %v", own, err)
	}
	out, err := exec.CommandContext(t.Context(), muster, "admin", "audit", "verify", "--file", export).CombinedOutput()
	if err != nil || !strings.Contains(string(out), " from 1 to ") || !strings.Contains(string(out), "are as they were written") {
		t.Errorf("muster admin audit verify --file: %v\n%s", err, out)
	}
	text, err := os.ReadFile(export)
	if err != nil {
		t.Fatal(err)
	}
	forged := bytes.Replace(text, []byte("CreateLocation"), []byte("DeleteLocation"), 1)
	if err := os.WriteFile(export, forged, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = exec.CommandContext(t.Context(), muster, "admin", "audit", "verify", "--file", export).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not as it was written") {
		t.Errorf("an edited export: %v\n%s", err, out)
	}
}
