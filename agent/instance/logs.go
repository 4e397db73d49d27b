package instance

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/agent/logs"
	"github.com/musterhq/muster/hosts/protocol"
)

// DropLogs removes a process's own log folder.
func (i *Instance) DropLogs(processID string) error { return os.RemoveAll(i.Home.logs(processID)) }

// PackLogs writes an archive of a process's output, its own log folder and the log
// files that it named.
func (i *Instance) PackLogs(w io.Writer, c protocol.Collect) error { return i.Home.packLogs(w, c) }

func (h Home) packLogs(w io.Writer, c protocol.Collect) error {
	p := logs.NewPacker(w)
	outputs, _ := filepath.Glob(filepath.Join(h.dir, "logs", "[0-9]*", c.ProcessID+".std*.log*")) // in the slots' folders, which are the agent's
	for _, file := range outputs {
		p.Add(os.DirFS(filepath.Dir(file)), filepath.Base(file), "")
	}
	if own, err := openTheirs(h.logs(c.ProcessID)); err == nil {
		p.Tree(own, ".", "logs")
		own.Close()
	}
	if game, err := openTheirs(h.game()); err == nil {
		for _, named := range c.LogPaths {
			if name, ok := h.within(named); ok {
				p.Match(game, name, "game")
			} else {
				p.Note("%s is not below the build's folder and was left out", named)
			}
		}
		game.Close()
	}
	return p.Finish(c)
}

// within returns a log path relative to the build's folder, or false if it is not in
// that folder.
func (h Home) within(named string) (string, bool) {
	slashed := strings.ReplaceAll(named, `\`, "/")
	for _, prefix := range []string{linuxGame, "C:/game/", "C:/Game/", filepath.ToSlash(h.game()) + "/"} {
		if rest, ok := strings.CutPrefix(slashed, prefix); ok {
			return path.Clean(rest), fs.ValidPath(path.Clean(rest))
		}
	}
	clean := path.Clean(slashed)
	return clean, fs.ValidPath(clean)
}
