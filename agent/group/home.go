package group

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/gameapi"
	"github.com/musterhq/muster/agent/logs"
	"github.com/musterhq/muster/hosts/protocol"
)

// home is the folder of an instance:
//
//	groups/NAME.game            the state of its game server at the HTTP interface
//	groups/NAME.game.ill        its game server says that it is unhealthy
//	groups/NAME.legacy          the state of its game server with Server SDK 3 or 4
//	groups/NAME.json            what the next agent must know about a group's last run
//	logs/NAME/ID.CONTAINER.log  output of a container, by the id of the run
//	logs/NAME/ID.exit.txt       how the run ended
type home struct{ dir string }

func homeOf(root, instanceID string) home {
	return home{filepath.Join(root, "instances", instanceID)}
}

// IsHome reports whether the folder of an instance is that of one of a container fleet.
func IsHome(root, instanceID string) bool {
	info, err := os.Stat(homeOf(root, instanceID).groups())
	return err == nil && info.IsDir()
}

func (h home) groups() string { return filepath.Join(h.dir, "groups") }

func (h home) file(group string) string { return filepath.Join(h.groups(), group+".json") }

func (h home) gameState(group string) string { return filepath.Join(h.groups(), group+".game") }

func (h home) legacyState(group string) string { return filepath.Join(h.groups(), group+".legacy") }

func (h home) logs(group string) string { return filepath.Join(h.dir, "logs", group) }

// make creates the folder.
func (h home) make() error { return os.MkdirAll(h.groups(), 0o755) }

// run is what the next agent must know about a group's run, besides its labels.
type run struct {
	ProcessID string
	Pass      string `json:",omitempty"` // its token at the relay
	Key       string `json:",omitempty"` // its key at the discovery endpoint
	Game      string `json:",omitempty"` // its token at the HTTP interface
	Ended     bool   `json:",omitempty"` // its end was reported
}

func (h home) keepRun(group string, r run) error { return disk.Write(h.file(group), r) }

// run returns what is stored about a run, if it is the last one of the group.
func (h home) run(group, processID string) run {
	var r run
	if err := disk.Read(h.file(group), &r); err != nil || r.ProcessID != processID {
		return run{ProcessID: processID}
	}
	return r
}

// lastRun returns the last run of a group if no agent has reported its end.
func (h home) lastRun(group string) (r run, ok bool) {
	err := disk.Read(h.file(group), &r)
	return r, err == nil && r.ProcessID != "" && !r.Ended
}

func (h home) forgetRun(group string) error {
	if err := gameapi.RemoveState(h.gameState(group)); err != nil {
		return err
	}
	for _, file := range []string{h.legacyState(group), h.file(group)} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// keepRuns is how many ended runs of a group have their output kept.
const keepRuns = 5

// deposit creates a file of a run.
func (h home) deposit(group, processID, name string) (*os.File, error) {
	if err := os.MkdirAll(h.logs(group), 0o750); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(h.logs(group), processID+"."+name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
}

// prune removes the files of a group's runs, except those of the last ones.
func (h home) prune(group string) error {
	entries, err := os.ReadDir(h.logs(group))
	if err != nil {
		return err
	}
	ended := map[string]int64{} // when each run's files were last written
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), ".")
		if info, err := e.Info(); err == nil {
			ended[id] = max(ended[id], info.ModTime().UnixNano())
		}
	}
	for _, id := range oldest(ended, len(ended)-keepRuns) {
		if err := h.drop(group, id); err != nil {
			return err
		}
	}
	return nil
}

// drop removes the files of a run.
func (h home) drop(group, processID string) error {
	files, err := filepath.Glob(filepath.Join(h.logs(group), processID+".*"))
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// DropLogs removes the files of a run.
func (i *Instance) DropLogs(processID string) error {
	groups, err := os.ReadDir(filepath.Join(i.home.dir, "logs"))
	for _, g := range groups {
		err = errors.Join(err, i.home.drop(g.Name(), processID))
	}
	return err
}

// PackLogs writes an archive of the output of a run's containers. The files that the
// process has named are inside of its container, which is gone.
func (i *Instance) PackLogs(w io.Writer, c protocol.Collect) error {
	p := logs.NewPacker(w)
	files, _ := filepath.Glob(filepath.Join(i.home.dir, "logs", "*", c.ProcessID+".*"))
	for _, file := range files {
		p.Add(os.DirFS(filepath.Dir(file)), filepath.Base(file), "")
	}
	for _, named := range c.LogPaths {
		p.Note("%s is in the container, which is gone; what the process writes to its standard output and error is here", named)
	}
	return p.Finish(c)
}

// Remove removes the instance's folder.
func (i *Instance) Remove() error { return os.RemoveAll(i.home.dir) }
