package scenario

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// talking is a game server that writes a numbered line to its output and to its errors, twice a
// second.
const talking = `#!/bin/sh
( n=0; while sleep 0.5; do n=$((n+1)); echo "said $n"; echo "sighed $n" >&2; done ) &
exec ./server "$@"
`

// A game server goes on while its agent is killed and started again: what it writes in between,
// and once the new agent has taken it over, is in its log, without a gap, and in the log that is
// kept of it in the end.
func TestSessionLogs_AgentRestart(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"plain": small, "isolated": append([]string{"--isolation", "required"}, small...)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, newLab(t))
			m := s.lab.reachable()
			s.run(m, flags...)
			files := map[string][]byte{"server": arena(t)["server"], "talking": []byte(talking)}
			fleet := s.fleet(s.build(files), server, 1, func(in *gamelift.CreateFleetInput) {
				in.RuntimeConfiguration.ServerProcesses = []types.ServerProcess{entry("talking", server, 1)}
			})
			s.instance(m, 1, 0)
			id := *s.create(fleet).GameSessionId
			seen := map[string]int{}
			further := func(what string) {
				t.Helper()
				before := maps.Clone(seen)
				wait.Until(t, "the log has further lines "+what, func() bool {
					out := s.must("sessions", "logs", id)
					for _, kind := range []string{"said", "sighed"} {
						var err error
						if seen[kind], err = spoken(out, kind); err != nil {
							t.Fatalf("%s: %v in\n%s", what, err, out)
						}
					}
					return seen["said"] > before["said"] && seen["sighed"] > before["sighed"]
				})
			}
			further("at first")
			following := s.followLog(id)
			mark := s.seen.want(1, "the agent", s.host(m, code("HOST_CONNECTED", 0))).Seq
			for range 2 {
				m.killAgent()
				mark = s.seen.want(1, "the agent to be away", s.host(m, code("HOST_DISCONNECTED", mark))).Seq
				s.run(m, flags...)
				mark = s.seen.want(1, "the agent to be back", s.host(m, code("HOST_CONNECTED", mark))).Seq
				further("with the next agent")
				further("and more")
				wait.Until(t, "the log that is followed has them", func() bool {
					last, err := spoken(following(), "said")
					if err != nil {
						t.Fatalf("followed: %v in\n%s", err, following())
					}
					return last >= seen["said"]
				})
			}
			s.must("sessions", "end", id, "--force")
			kept := s.keptLog(id)
			for _, kind := range []string{"said", "sighed"} {
				last, err := spoken(kept, kind)
				if first := strings.Index(kept, kind+" 1\n"); err != nil || first < 0 || last < seen[kind] {
					t.Errorf("the log that is kept has %q up to %d, %v; want all from 1 to %d\n%s", kind, last, err, seen[kind], kept)
				}
			}
		})
	}
}

// followLog begins to follow the log of a game session, and returns what is shown so far.
func (s *site) followLog(id string) (shown func() string) {
	s.t.Helper()
	cmd := s.command(s.console.Credentials, "sessions", "logs", "--follow", id)
	file, err := os.Create(filepath.Join(s.t.TempDir(), "followed"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return func() string {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			s.t.Fatal(err)
		}
		return string(text)
	}
}

// keptLog returns the files of the log that is kept of a game session, once it is there.
func (s *site) keptLog(id string) string {
	s.t.Helper()
	var at string
	wait.Until(s.t, "the log is kept", func() bool {
		out, err := s.client.GetGameSessionLogUrl(s.t.Context(), &gamelift.GetGameSessionLogUrlInput{GameSessionId: &id})
		if err == nil && out.PreSignedUrl != nil {
			at = *out.PreSignedUrl
		}
		return at != ""
	})
	answer, err := http.Get(at)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	packed, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %v", answer.Status, err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		s.t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			s.t.Fatal(err)
		}
		_, err = io.Copy(&text, in)
		if err := errors.Join(err, in.Close()); err != nil {
			s.t.Fatal(err)
		}
	}
	return text.String()
}

// spoken returns the highest number of the lines that a text has of a kind, and an error if one
// below it is missing.
func spoken(text, kind string) (last int, err error) {
	for _, found := range regexp.MustCompile(`(?m)^`+kind+` (\d+)$`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1])
		if last > 0 && n != last+1 {
			return last, fmt.Errorf("after %s %d comes %d", kind, last, n)
		}
		last = n
	}
	return last, nil
}

// A developer's own game server goes on while `muster local` is killed and started again. The
// next one says so, and shows what it writes from then on.
func TestSessionLogs_LocalRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string][]byte{"server": arena(t)["server"], "talking": []byte(strings.Replace(talking, "./server", filepath.Join(dir, "server"), 1))} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	start := func() *node.Process {
		t.Helper()
		return node.Serve(t, node.Path(t), "local", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"),
			"--exec", filepath.Join(dir, "talking"), "--", "server", "-port", "{port}", "-wait", "30m")
	}
	speaks := func(p *node.Process, after int) (last int) {
		t.Helper()
		wait.Until(t, "its output is shown", func() bool {
			var err error
			if last, err = spoken(p.Log(), "sighed"); err != nil {
				t.Fatalf("%v in\n%s", err, p.Log())
			}
			return last > after
		})
		return last
	}
	p := start()
	before := speaks(p, 0)
	p.Kill()
	p = start()
	speaks(p, before)
	if !strings.Contains(p.Log(), "the game server went on without Muster; what it wrote until now is in its log files") {
		t.Errorf("it does not say that the game server went on:\n%s", p.Log())
	}
}
