package conformance

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/test/node"
)

var update = flag.Bool("update", false, "write the answers of testdata anew")

// separator separates the recorded request from its answer.
const separator = "\n--- answer ---\n"

// clients are the clients whose requests were recorded: boto3 1.43.11, AWS SDK for
// JavaScript 3.1133.0, AWS SDK for Go v2 with gamelift 1.55.0.
var clients = []string{"boto3-json", "boto3-cbor", "js-json", "js-cbor", "go-cbor"}

// Each client's requests, sent in order to a new Muster, get exactly the recorded
// bytes back.
func TestRecorded(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join("testdata", client+"-*.txt"))
			if err != nil || len(files) != 3 {
				t.Fatalf("recordings %v, %v", files, err)
			}
			url := node.InProcess(t, nil).URL()
			for _, file := range files {
				replay(t, url, file)
			}
		})
	}
}

func replay(t *testing.T, url, file string) {
	t.Helper()
	text := node.Must(os.ReadFile(file))(t)
	asked, want, _ := strings.Cut(string(text), separator)
	got := send(t, url, asked)
	if *update {
		if err := os.WriteFile(file, []byte(asked+separator+got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s (-want +got):\n%s", file, cmp.Diff(want, got))
	}
}

// send sends a recorded request and returns the answer as text: its status, the
// headers that clients look at, and the body, in hex if it is CBOR.
func send(t *testing.T, url, recorded string) string {
	t.Helper()
	head, body, ok := strings.Cut(recorded, "\n\n")
	if !ok {
		t.Fatalf("no body in %q", recorded)
	}
	line, fields, _ := strings.Cut(head, "\n")
	header := node.Must(textproto.NewReader(bufio.NewReader(strings.NewReader(fields + "\n\n"))).ReadMIMEHeader())(t)
	payload := []byte(strings.TrimSpace(body))
	if header.Get("Smithy-Protocol") != "" {
		payload = node.Must(hex.DecodeString(string(payload)))(t)
	}
	request := node.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, url+strings.TrimPrefix(line, "POST "), bytes.NewReader(payload)))(t)
	request.Header = http.Header(header)
	return written(t, do(t, request))
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func do(t testing.TB, request *http.Request) answer {
	t.Helper()
	response := node.Must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	body := node.Must(io.ReadAll(response.Body))(t)
	return answer{response.StatusCode, response.Header, body}
}

func written(t *testing.T, a answer) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, a.status)
	for _, name := range []string{"Content-Type", "Content-Length", "Smithy-Protocol", "X-Amz-Crc32"} {
		if v := a.header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	if id := a.header.Get("X-Amzn-Requestid"); len(id) != 36 {
		t.Errorf("request id %q", id)
	}
	body := string(a.body)
	if a.header.Get("Smithy-Protocol") != "" {
		body = hex.EncodeToString(a.body)
	}
	fmt.Fprintf(&b, "\n%s\n", body)
	return b.String()
}
