package instance

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/hosts/protocol"
)

// Bounds of collecting the logs of a process.
const (
	maxLogBytes = 256 << 20 // before packing
	maxLogFiles = 1000
)

// DropLogs removes a process's own log folder.
func (h Home) DropLogs(processID string) error { return os.RemoveAll(h.logs(processID)) }

// PackLogs writes an archive of a process's output, its own log folder and the log
// files that it named.
func (h Home) PackLogs(w io.Writer, c protocol.Collect) error {
	p := &packer{z: zip.NewWriter(w)}
	outputs, _ := filepath.Glob(filepath.Join(h.dir, "logs", "[0-9]*", c.ProcessID+".std*.log*")) // in the slots' folders, which are the agent's
	for _, file := range outputs {
		p.add(os.DirFS(filepath.Dir(file)), filepath.Base(file), "")
	}
	if own, err := openTheirs(h.logs(c.ProcessID)); err == nil {
		p.tree(own, ".", "logs")
		own.Close()
	}
	if game, err := openTheirs(h.game()); err == nil {
		for _, named := range c.LogPaths {
			if name, ok := h.within(named); ok {
				p.match(game, name, "game")
			} else {
				p.notes = append(p.notes, named+" is not below the build's folder and was left out")
			}
		}
		game.Close()
	}
	return p.finish(c)
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

// packer writes an archive of logs of bounded size.
type packer struct {
	z     *zip.Writer
	seen  map[string]bool
	files int
	bytes int64
	notes []string
}

func (p *packer) match(from fs.FS, pattern, prefix string) {
	names, err := fs.Glob(from, pattern)
	if err != nil || len(names) == 0 {
		p.notes = append(p.notes, pattern+" is not there")
	}
	for _, name := range names {
		p.tree(from, name, prefix)
	}
}

func (p *packer) tree(from fs.FS, name, prefix string) {
	_ = fs.WalkDir(from, name, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			p.add(from, at, prefix)
		}
		return nil
	})
}

func (p *packer) add(from fs.FS, name, prefix string) {
	to := path.Join(prefix, name)
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	if p.seen[to] {
		return
	}
	p.seen[to] = true
	if p.files >= maxLogFiles || p.bytes >= maxLogBytes {
		p.notes = append(p.notes, to+" was left out: there is too much")
		return
	}
	in, err := from.Open(name)
	if err != nil {
		p.notes = append(p.notes, fmt.Sprintf("%s could not be read: %v", to, err))
		return
	}
	defer in.Close()
	out, err := p.z.Create(to)
	if err != nil {
		p.notes = append(p.notes, fmt.Sprintf("%s could not be packed: %v", to, err))
		return
	}
	n, err := io.Copy(out, io.LimitReader(in, maxLogBytes-p.bytes))
	p.files++
	p.bytes += n
	if err != nil {
		p.notes = append(p.notes, fmt.Sprintf("%s was cut off: %v", to, err))
	}
}

// finish adds a README about the archive and closes it.
func (p *packer) finish(c protocol.Collect) error {
	out, err := p.z.Create("README.txt")
	if err == nil {
		_, err = fmt.Fprintf(out, "Logs of game server process %s\nGame session: %s\nFiles: %d\n%s\n",
			c.ProcessID, c.GameSessionID, p.files, strings.Join(p.notes, "\n"))
	}
	return errors.Join(err, p.z.Close())
}
