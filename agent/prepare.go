package agent

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/agent/ports"
	"github.com/musterhq/muster/hosts/protocol"
)

// Fleet event codes with which an instance fails (API reference, Event).
const (
	codeDownload   = "FLEET_BINARY_DOWNLOAD_FAILED"
	codeLaunchPath = "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND"
	codeExecutable = "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE"
	codeInstaller  = "FLEET_CREATION_FAILED_INSTALLER"
	codeActivation = "FLEET_ACTIVATION_FAILED"
	codeCrashed    = "SERVER_PROCESS_CRASHED"
	codeNoFile     = "SERVER_PROCESS_INVALID_PATH"
	codeStopped    = "SERVER_PROCESS_FORCE_TERMINATED"
)

// gameDir is the folder of the build's tree, and the working directory of processes.
func (i *instance) gameDir() string {
	if i.own != nil {
		return i.own.Dir
	}
	return filepath.Join(i.dir, "game")
}

// installed reports whether processes can be launched.
func (i *instance) installed() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.phase == protocol.Activating
}

// install installs the build and reports problems with it. After a failure it waits for
// a change before the next attempt.
func (i *instance) install(w protocol.Desired) {
	key := i.a.identity().BuildKey
	code, cause := i.tryInstall(w)
	switch {
	case code != "":
		i.set(protocol.Failed, code, cause)
		i.waitForOther(w, key)
	case i.hold.Err() == nil:
		i.set(protocol.Activating, "", "")
	}
}

// waitForOther waits until the wish, or the key that verifies builds, has changed such
// that installing could succeed.
func (i *instance) waitForOther(w protocol.Desired, key ed25519.PublicKey) {
	for !i.isLeaving() && i.a.identity().BuildKey.Equal(key) {
		if now := i.wished(); now.Build != w.Build || now.Stop != w.Stop || !sameRuntime(now.Runtime, w.Runtime) {
			return
		}
		i.wait(0)
	}
}

func (i *instance) tryInstall(w protocol.Desired) (code, cause string) {
	var err error
	i.mu.Lock()
	if i.ports == nil {
		i.ports, err = ports.New(w.PortFrom, w.PortTo)
	}
	i.mu.Unlock()
	if err != nil {
		return codeActivation, err.Error()
	}
	if i.own == nil {
		if code, cause := i.fetch(w); code != "" {
			return code, cause
		}
		err := i.settleIn()
		if err != nil && i.hold.Err() == nil && i.count() == 0 {
			return codeActivation, err.Error()
		} // otherwise game servers that were taken over continue, and only new launches fail
	}
	return i.validate(w)
}

// fetch installs the build and creates the instance's tree from it.
func (i *instance) fetch(w protocol.Desired) (code, cause string) {
	game := i.gameDir()
	if built, err := os.ReadFile(game + ".build"); err == nil && string(built) == w.Build.SHA256 {
		if _, err := os.Stat(game); err == nil {
			return "", ""
		}
	}
	if err := w.Build.Verify(i.a.identity().BuildKey); err != nil {
		i.a.log.Error("a build is refused", "build", w.Build.ID, "fleet", w.FleetID, "instance", i.id, "error", err)
		return codeDownload, fmt.Sprintf("build %s is refused: %v", w.Build.ID, err)
	}
	build := install.Build{SHA256: w.Build.SHA256, Size: w.Build.Size, Format: w.Build.Format}
	dir, err := i.a.cache.Install(i.hold, build, i.progress)
	if i.hold.Err() != nil {
		return "", ""
	}
	if err != nil {
		var f *install.Failure
		if !errors.As(err, &f) {
			return codeActivation, err.Error()
		}
		switch f.Stage {
		case install.Script:
			return codeInstaller, f.Text
		case install.Download:
			return codeDownload, f.Text
		}
		return codeExecutable, f.Text
	}
	err = os.MkdirAll(i.dir, 0o755)
	if err == nil {
		err = errors.Join(os.RemoveAll(game), install.Tree(dir, game))
	}
	if err == nil {
		err = os.WriteFile(game+".build", []byte(w.Build.SHA256), 0o600)
	}
	if err != nil {
		return codeActivation, err.Error()
	}
	return "", ""
}

func (i *instance) progress(stage install.Stage, percent int) {
	phases := map[install.Stage]protocol.Phase{
		install.Download: protocol.Downloading, install.Unpack: protocol.Validating, install.Script: protocol.Building,
	}
	i.mu.Lock()
	if i.done != percent {
		i.done = percent
		nudge(i.a.changed)
	}
	i.mu.Unlock()
	i.set(phases[stage], "", "")
}

// validate checks the programs to be launched.
func (i *instance) validate(w protocol.Desired) (code, cause string) {
	if len(w.Runtime.Processes) == 0 {
		return codeLaunchPath, "the runtime configuration names no server process"
	}
	for n, p := range w.Runtime.Processes {
		path, err := i.programOf(p)
		if err != nil {
			return codeLaunchPath, err.Error()
		}
		err = diagnose.Program(path, p.LaunchPath)
		var found *diagnose.Problem
		switch {
		case errors.As(err, &found) && found.Missing:
			return codeLaunchPath, found.Text + i.near(path)
		case err != nil:
			return codeExecutable, err.Error()
		}
		parameters, bare := withoutSDK(p.Parameters)
		if _, err := expand(parameters, bare, w, placeholders{}); err != nil {
			return codeExecutable, fmt.Sprintf("ServerProcesses.%d.Parameters: %v", n+1, err)
		}
	}
	return "", ""
}

// near names a file with the same name elsewhere in the build: a common mistake is an
// extra top folder in the archive.
func (i *instance) near(path string) string {
	game, err := openTheirs(i.gameDir())
	if err != nil {
		return ""
	}
	defer game.Close()
	found := ""
	_ = fs.WalkDir(game, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.EqualFold(d.Name(), filepath.Base(path)) {
			found = p
			return fs.SkipAll
		}
		return nil
	})
	if found == "" {
		return ""
	}
	return ", but it has " + found
}

// The folders where AWS's hosts have the build (API reference, ServerProcess).
const (
	linuxGame   = "/local/game/"
	windowsGame = `C:\game\`
)

// programOf returns the file that a launch path refers to.
func (i *instance) programOf(p protocol.ServerProcess) (string, error) {
	if i.own != nil {
		return i.own.Path, nil
	}
	path := p.LaunchPath
	switch {
	case strings.HasPrefix(path, linuxGame):
		path = path[len(linuxGame):]
	case len(path) > len(windowsGame) && strings.EqualFold(path[:len(windowsGame)], windowsGame):
		path = path[len(windowsGame):]
	}
	path = filepath.FromSlash(strings.ReplaceAll(path, `\`, "/"))
	if !filepath.IsLocal(path) {
		return "", fmt.Errorf("the launch path %s is not below %s or %s, where the build is", p.LaunchPath, linuxGame, windowsGame)
	}
	return filepath.Join(i.gameDir(), path), nil
}

func sameRuntime(a, b protocol.Runtime) bool {
	if len(a.Processes) != len(b.Processes) {
		return false
	}
	for n := range a.Processes {
		if a.Processes[n] != b.Processes[n] {
			return false
		}
	}
	return true
}

// patience is how often the goroutine polls for changes that do not nudge it.
const patience = time.Second
