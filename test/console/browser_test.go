package console

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/test/story"
)

// stage is a folder with the checks and what they need.
var stage struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if stage.dir != "" {
		os.RemoveAll(stage.dir)
	}
	os.Exit(code)
}

// build copies the checks to a folder of their own, so that npm installs no packages here.
func build() (string, error) {
	dir, err := os.MkdirTemp("", "console") // short, since a socket's path has at most 107 bytes
	if err != nil {
		return "", err
	}
	scripts, err := filepath.Glob("*.mjs")
	if err != nil {
		return dir, err
	}
	for _, name := range append(scripts, "package.json", "package-lock.json") {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return dir, err
		}
	}
	install := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, nil
}

// needs skips a test on a machine that cannot run the checks.
func needs(t *testing.T) (chromium string) {
	t.Helper()
	story.Needs(t, "node", "Node.js is missing (Debian package nodejs), so nothing can drive a browser")
	story.Needs(t, "npm", "npm is missing (Debian package npm), so Playwright cannot be installed")
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing (Debian package chromium), so no page can be looked at")
	}
	return chromium
}

// task is what a check is told.
type task struct {
	Base     string   `json:"base"` // the server's URL
	Chromium string   `json:"chromium"`
	Flags    []string `json:"flags,omitempty"` // of Chromium
	Pictures string   `json:"pictures,omitempty"`
	Passes   []pass   `json:"passes,omitempty"` // of walk.mjs
	About    any      `json:"about,omitempty"`  // what only this check is told
}

// said is a line of a check's output.
type said struct{ Fault, Log, Ask, About string }

// patience is how long a check may take.
const patience = 8 * time.Minute

// run runs a check to its end. asked answers what it asks.
func run(t *testing.T, script string, what task, asked map[string]func(about string) any) {
	t.Helper()
	what.Chromium, what.Pictures = needs(t), cmp.Or(what.Pictures, *pictures)
	stage.once.Do(func() { stage.dir, stage.err = build() })
	if stage.err != nil {
		t.Fatal(stage.err)
	}
	text, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp(stage.dir, "t")
	if err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	cmd := exec.Command("node", filepath.Join(stage.dir, script), string(text))
	cmd.Stderr = &problems
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to kill the browser with it
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	late := time.AfterFunc(patience, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line said
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("%s: %s", script, lines.Bytes())
			continue
		}
		switch {
		case line.Fault != "":
			t.Error(line.Fault)
		case line.Log != "":
			t.Log(line.Log)
		case asked[line.Ask] != nil:
			answer, err := json.Marshal(asked[line.Ask](line.About))
			if err == nil {
				_, err = in.Write(append(answer, '\n'))
			}
			if err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s asks %q, which the test does not know", script, line.Ask)
		}
	}
	err = cmd.Wait()
	if !late.Stop() {
		t.Errorf("%s was not done after %v", script, patience)
	}
	if err != nil || problems.Len() > 0 {
		t.Errorf("%s: %v\n%s", script, err, &problems)
	}
}
