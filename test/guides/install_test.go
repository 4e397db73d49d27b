package guides

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestInstall types the commands that need no package: a program says what it is, and a machine
// joins by the guide's variables.
func TestInstall(t *testing.T) {
	t.Parallel()
	needs(t, "openssl")
	r := newReader(t, "install")
	r.certify()
	r.follow(
		step{"muster --version", func(text string) {
			lines := commands(text)
			said := r.prints(lines[0], "muster ", " go1.")
			var is struct{ Version, Go, Platform string }
			if err := json.Unmarshal([]byte(r.run(lines[1])), &is); err != nil || is.Version == "" || is.Platform == "" {
				t.Fatalf("%s prints %+v, %v", lines[1], is, err)
			}
			for _, part := range []string{is.Version, is.Go, is.Platform} {
				if !strings.Contains(said, part) {
					t.Errorf("%s does not say %q, but %s", lines[0], part, said)
				}
			}
		}},
		step{"MUSTER_ENDPOINT=", func(text string) {
			port := node.ReservePort(t)
			p := r.runs("muster serve --log-level warn --data data --tls-cert cert.pem --tls-key key.pem --listen 127.0.0.1:" + port + " --public-url https://localhost:" + port)
			r.env = append(r.env, "MUSTER_ENDPOINT="+p.URL, "MUSTER_CREDENTIALS=data/admin-credentials")
			r.write("muster.yaml", "Locations:\n  custom-lab: {}\n")
			r.run("muster apply --yes")
			r.run("umask 077; echo " + r.joinToken("custom-lab") + " > join-token")
			r.puts("https://muster.example:9443", p.URL)
			r.puts("/etc/muster/join-token", "join-token")
			r.joins(strings.Fields(r.said(text))...)
			r.until("muster hosts", "connected")
		}},
	)
}

// TestConfiguration starts a server by the file of the reference. A variable wins over the file, a
// flag over the variable, and a field that no command has is an error.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	needs(t, "curl openssl")
	r := newReader(t, "configuration")
	r.certify()
	r.run("umask 077; echo sqlite > store")
	file, variable, flag := node.Reserve(t), node.Reserve(t), node.Reserve(t)
	r.puts("/etc/muster/", "")
	r.puts("0.0.0.0:9080", file)
	text := r.said(document.Find(t, r.guide, "yaml", "tls-cert:").Text)
	r.write("server.yaml", text)
	const command = "muster serve --config server.yaml --log-level warn --data data"
	started := func(at string, more ...string) {
		t.Helper()
		p := r.runs(command, more...)
		defer stop(t, p)
		if p.URL != "https://"+at {
			t.Errorf("the server is at %s, want https://%s", p.URL, at)
		}
		r.prints("curl -s --fail "+p.URL+"/readyz", "ready")
	}
	started(file)
	r.env = append(r.env, "MUSTER_LISTEN="+variable)
	started(variable)
	started(flag, "--listen "+flag)
	r.write("server.yaml", text+"tls-certificate: cert.pem\n")
	if out, err := r.shell(command).CombinedOutput(); err == nil || !strings.Contains(string(out), "tls-certificate") {
		t.Errorf("with a field that no command has, the server says %s, %v", out, err)
	}
}
