package guides

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCommandLine types the commands of the guide, with two servers: that of the first login
// speaks plain HTTP on this machine, the other one TLS with its own certificate.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	r := newReader(t, "command-line")
	first, operator := r.serve("first")
	second := r.runs("muster serve --listen 127.0.0.1:0 --log-level warn --data second --tls self-signed")
	for _, name := range []string{"server-cert.pem", "admin-credentials"} {
		r.write(name, r.read("second/"+name))
	}
	r.puts("https://muster.example.com", first.URL)
	r.puts("https://10.0.0.5:9080", second.URL)
	r.puts("--context muster.example.com", "--context 127.0.0.1")
	session := r.studio(operator).session
	r.puts("5f0c308", session)
	r.puts("79fd", "expor")
	named := r.env               // the names of this server and its key
	r.env = r.env[:len(r.env)-2] // the guide logs in instead
	r.follow(
		step{"muster login", func(text string) {
			both := commands(text)
			k := operator.Credentials
			if out := r.onTerminal(both[0], k.AccessKeyID, k.SecretAccessKey); !strings.Contains(out, "Logged in to "+first.URL) || strings.Contains(out, k.SecretAccessKey) {
				t.Errorf("%s: %s", both[0], out)
			}
			r.prints(both[1], "Logged in to "+second.URL, "The context lab is now the current one")
		}},
		step{"muster context\n", func(text string) {
			lines := commands(text)
			r.prints(lines[0], "*  lab", first.URL, second.URL)
			r.prints(lines[1], "Commands now use "+second.URL)
			r.prints(lines[2], "live")
			r.prints(lines[3], "lab")
			if out := r.prints(lines[0]); strings.Contains(out, second.URL) {
				t.Errorf("after its logout there is still the context lab:\n%s", out)
			}
		}},
		step{"muster fleets show live", func(text string) {
			r.env = named
			for i, want := range []string{"live", session, session, "takes nothing new", "exported", "Ticket exported"} {
				r.prints(commands(text)[i], want)
			}
			if hosts := r.prints("muster hosts"); !strings.Contains(hosts, "drained") {
				t.Errorf("the machine is not drained:\n%s", hosts)
			}
		}},
		step{"source <(muster completion bash)", func(text string) {
			for _, line := range commands(text) {
				shell, try := "bash", line+"; complete -p muster"
				switch {
				case strings.Contains(line, "zsh"):
					shell, try = "zsh", "autoload -U compinit; compinit -D; "+line+"; whence -v _muster"
				case strings.Contains(line, "fish"):
					shell, try = "fish", line+"; complete -c muster"
				}
				if _, err := exec.LookPath(shell); err != nil {
					t.Logf("%s is missing: %s is not typed", shell, line)
					continue
				}
				cmd := r.shell(try)
				cmd.Path, _ = exec.LookPath(shell)
				cmd.Args = []string{shell, "-c", try}
				if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "muster") {
					t.Errorf("%s: %v\n%s", try, err, out)
				}
			}
		}},
	)
}
