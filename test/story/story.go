// Package story runs test scripts written in other languages that use other people's
// clients: it starts the built Muster, builds the game server that the story talks to,
// and reports each check of the story as a subtest.
//
// A story prints one line per check, `ok - WHAT` or `not ok - WHAT`, and anything else
// that helps to understand a failure; it exits with code 0 if all checks passed.
package story

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// Stage is what a story runs against.
type Stage struct {
	// Endpoint is the base URL of a Muster that accepts any credentials.
	Endpoint string
	// GameServer is the path of the game server program (test/gameserver/program).
	GameServer string
}

// New starts Muster and builds the game server; it skips the test if no built Muster is
// given.
func New(t *testing.T) Stage {
	t.Helper()
	node.Path(t)
	s := Stage{GameServer: filepath.Join(t.TempDir(), "gameserver")}
	build := exec.Command("go", "build", "-o", s.GameServer, "github.com/musterhq/muster/test/gameserver/program")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the game server: %v\n%s", err, out)
	}
	s.Endpoint = node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "warn").URL
	return s
}

// Play runs a command as a story. Its environment has ENDPOINT, GAMESERVER and the
// usual variables of AWS's tools; more adds to them or overrides them.
func (s Stage) Play(t *testing.T, more []string, command string, args ...string) {
	t.Helper()
	cmd := exec.Command(command, args...)
	cmd.Env = append(os.Environ(),
		"ENDPOINT="+s.Endpoint, "GAMESERVER="+s.GameServer,
		"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_DEFAULT_REGION=us-east-1", "AWS_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_PAGER=",
	)
	cmd.Env = append(cmd.Env, more...)
	out, err := cmd.CombinedOutput()
	failed := report(t, out)
	if err != nil && !failed {
		t.Errorf("the story broke off: %v", err)
	}
	if t.Failed() {
		t.Logf("the story said:\n%s", out)
	}
}

// report runs each check of a story as a subtest and reports whether one failed.
func report(t *testing.T, out []byte) (failed bool) {
	t.Helper()
	checks := 0
	for line := range bytes.Lines(out) {
		what, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "ok - ")
		if !ok {
			var not bool
			if what, not = strings.CutPrefix(strings.TrimSpace(string(line)), "not ok - "); !not {
				continue
			}
		}
		checks++
		failed = !t.Run(what, func(t *testing.T) {
			if !ok {
				t.Error("it does not hold")
			}
		}) || failed
	}
	if checks == 0 {
		t.Error("the story made no check")
	}
	return failed
}

// Needs skips the test with a sentence if a program is missing.
func Needs(t *testing.T, program, sentence string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(sentence)
	}
}
