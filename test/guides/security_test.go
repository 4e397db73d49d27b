package guides

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/test/node"
)

// received is a server that other systems are notified at. It takes every POST.
func received(t *testing.T) (url string, bodies <-chan string) {
	t.Helper()
	all := make(chan string, 1024)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && len(all) < cap(all) {
			all <- r.URL.Path + "\n" + string(body)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, all
}

// until waits for a body with a text.
func until(t *testing.T, bodies <-chan string, text string) string {
	t.Helper()
	for {
		select {
		case body := <-bodies:
			if strings.Contains(body, text) {
				return body
			}
		case <-t.Context().Done():
			t.Fatalf("nothing with %q was received", text)
		}
	}
}

// TestSecurity types the commands of the guide: the audit log of a server on which a fleet was
// deleted, its copies elsewhere, and an encrypted backup.
func TestSecurity(t *testing.T) {
	t.Parallel()
	r := newReader(t, "security")
	server, operator := r.serve("DIR")
	place := node.NewPlace(t, api(operator))
	if _, err := api(operator).DeleteFleet(t.Context(), &gamelift.DeleteFleetInput{FleetId: &place.FleetID}); err != nil {
		t.Fatal(err)
	}
	r.puts("MSTR…", operator.Credentials.AccessKeyID)
	r.puts("/var/lib/muster", "DIR")
	r.puts("/var/log/muster/audit.jsonl", "audit-sink.jsonl")
	r.puts("/etc/muster/audit.secret", "audit.secret")
	url, bodies := received(t)
	r.puts("https://logs.example", url)
	r.write("audit.secret", "a long random text\n")
	r.follow(
		r.types("muster admin audit --since 24h", "DeleteFleet", operator.Credentials.AccessKeyID),
		step{"muster admin audit verify", func(text string) {
			r.run("muster admin audit -o json > audit.jsonl; muster admin backup backup.db --data DIR")
			for _, line := range commands(text)[:2] {
				r.prints(line, "are as they were written", "SHA-256")
			}
			r.prints(commands(text)[2], "audit")
		}},
		step{"muster serve --audit-sink", func(text string) {
			if err := server.Stop(); err != nil { // its folder is to be used again
				t.Fatal(err)
			}
			for _, line := range commands(text) {
				p := r.runs(line, "--listen 127.0.0.1:0 --data DIR")
				if strings.Contains(line, "https://") {
					if got := until(t, bodies, "DeleteFleet"); !strings.HasPrefix(got, "/muster\n") {
						t.Errorf("the audit sink gets %s", got)
					}
				} else {
					now := *operator
					now.Endpoint = p.URL
					node.NewPlace(t, api(&now))
					r.watches("tail -n +1 --retry -F audit-sink.jsonl", "CreateFleet")
				}
				if err := p.Stop(); err != nil {
					t.Fatal(err)
				}
			}
		}},
		step{"muster admin backup state.db", func(text string) {
			lines := commands(text)
			r.prints(lines[0])
			if _, err := exec.LookPath("age"); err != nil {
				t.Logf("age is missing: %s is not typed", lines[1])
				return
			}
			made := r.run("age-keygen -o identity")
			r.puts("age1…", strings.TrimSpace(made[strings.Index(made, "age1"):]))
			r.prints(lines[1] + "\ntest ! -e state.db\nage -d -i identity state.db.age > state.db")
			r.prints("muster admin verify state.db --data DIR")
		}},
	)
}
