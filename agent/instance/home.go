package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/agent/disk"
)

// Home is the folder of an instance:
//
//	game/            the build's tree; Own uses the program's folder instead
//	game.build       the checksum of the build in the tree
//	slots/N/         slot.json, run.json, and the supervisor's state
//	certificates/    the TLS certificate of its processes, if the fleet has them
//	logs/N/          output of the processes of a slot, which outlives the slot
//	logs/of-ID/      a process's own logs, and the evidence of how it ended
type Home struct {
	dir string
	own *Own // nil for instances that Muster assigns
}

// Folders returns the folder of all instances below an agent's folder.
func Folders(root string) string { return filepath.Join(root, "instances") }

// game is the folder of the build's tree, and the working directory of processes.
func (h Home) game() string {
	if h.own != nil {
		return h.own.Dir
	}
	return filepath.Join(h.dir, "game")
}

func (h Home) hasTree() bool {
	_, err := os.Stat(h.game())
	return err == nil
}

// built returns the checksum of the build in the tree, "" if there is none.
func (h Home) built() string {
	sum, err := os.ReadFile(h.game() + ".build")
	if err != nil || !h.hasTree() {
		return ""
	}
	return string(sum)
}

// markBuilt records the checksum of the build in the tree.
func (h Home) markBuilt(sum string) error {
	return os.WriteFile(h.game()+".build", []byte(sum), 0o600)
}

func (h Home) slot(n int) string { return filepath.Join(h.dir, "slots", strconv.Itoa(n)) }

// output is the folder with the output of a slot's processes.
func (h Home) output(slot int) string { return filepath.Join(h.dir, "logs", strconv.Itoa(slot)) }

// logs is the folder for a process's own logs.
func (h Home) logs(processID string) string { return filepath.Join(h.dir, "logs", "of-"+processID) }

// The folders where AWS's hosts have the build (API reference, ServerProcess).
const (
	linuxGame   = "/local/game/"
	windowsGame = `C:\game\`
)

// program returns the file that a launch path refers to.
func (h Home) program(launchPath string) (string, error) {
	if h.own != nil {
		return h.own.Path, nil
	}
	path := launchPath
	switch {
	case strings.HasPrefix(path, linuxGame):
		path = path[len(linuxGame):]
	case len(path) > len(windowsGame) && strings.EqualFold(path[:len(windowsGame)], windowsGame):
		path = path[len(windowsGame):]
	}
	path = filepath.FromSlash(strings.ReplaceAll(path, `\`, "/"))
	if !filepath.IsLocal(path) {
		return "", fmt.Errorf("the launch path %s is not below %s or %s, where the build is", launchPath, linuxGame, windowsGame)
	}
	return filepath.Join(h.game(), path), nil
}

// certificates is the folder of the TLS certificate of processes.
func (h Home) certificates() string { return filepath.Join(h.dir, "certificates") }

// keepSlot stores the entry that a slot was opened for.
func (h Home) keepSlot(n int, e entry) error {
	if err := os.MkdirAll(h.slot(n), 0o700); err != nil {
		return err
	}
	return disk.Write(filepath.Join(h.slot(n), "slot.json"), e)
}

// slots returns the slots that a former agent left, with the entries they were opened for.
func (h Home) slots() (map[int]entry, error) {
	folders, err := os.ReadDir(filepath.Join(h.dir, "slots"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := map[int]entry{}
	for _, f := range folders {
		n, err := strconv.Atoi(f.Name())
		if err != nil {
			continue
		}
		var e entry
		err = disk.Read(filepath.Join(h.slot(n), "slot.json"), &e)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[n] = e
	}
	return all, nil
}

func (h Home) removeSlot(n int) error { return os.RemoveAll(h.slot(n)) }

func (h Home) removeSlots() error { return os.RemoveAll(filepath.Join(h.dir, "slots")) }

// Remove removes the folder.
func (h Home) Remove() error { return os.RemoveAll(h.dir) }

// run is what the next agent must know about a slot's process.
type run struct {
	ProcessID string
	Port      int
	Named     map[string]int `json:",omitempty"` // its other ports, by name
	Pass      string         `json:",omitempty"` // its token at the relay
	Game      string         `json:",omitempty"` // its token at the HTTP interface
}

func (h Home) keepRun(slot int, r run) error {
	return disk.Write(filepath.Join(h.slot(slot), "run.json"), r)
}

// gameState is the file in which the HTTP interface keeps the state of a slot's process.
func (h Home) gameState(slot int) string { return filepath.Join(h.slot(slot), "game.json") }

// legacyState is the file in which the state of a slot's process with Server SDK 3 or 4 is
// kept.
func (h Home) legacyState(slot int) string { return filepath.Join(h.slot(slot), "legacy.json") }

// run returns what is stored about a process, if it is the last one of the slot.
func (h Home) run(slot int, processID string) (r run, ok bool) {
	err := disk.Read(filepath.Join(h.slot(slot), "run.json"), &r)
	return r, err == nil && r.ProcessID == processID
}

// deposit writes evidence of how a process ended to the process's own log folder. The
// process can write to that folder too.
func (h Home) deposit(processID, name, text string) error {
	dir, err := openTheirs(h.logs(processID))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.put(name, text)
}

// near returns what diagnose.Elsewhere says about a missing file of the build.
func (h Home) near(path string) string {
	game, err := openTheirs(h.game())
	if err != nil {
		return ""
	}
	defer game.Close()
	return diagnose.Elsewhere(game, filepath.Base(path))
}
