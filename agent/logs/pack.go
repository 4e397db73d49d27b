package logs

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// Bounds of collecting the logs of a process.
const (
	maxBytes = 256 << 20 // before packing
	maxFiles = 1000
)

// Packer writes an archive of logs of bounded size. Use NewPacker to create one, and
// Finish to complete the archive.
type Packer struct {
	z     *zip.Writer
	seen  map[string]bool
	files int
	bytes int64
	notes []string
}

// NewPacker returns a Packer that writes to w.
func NewPacker(w io.Writer) *Packer { return &Packer{z: zip.NewWriter(w), seen: map[string]bool{}} }

// Note adds a line to the archive's README.
func (p *Packer) Note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// Match adds the files and trees whose names match a pattern, below a folder of the archive.
func (p *Packer) Match(from fs.FS, pattern, prefix string) {
	names, err := fs.Glob(from, pattern)
	if err != nil || len(names) == 0 {
		p.Note("%s is not there", pattern)
	}
	for _, name := range names {
		p.Tree(from, name, prefix)
	}
}

// Tree adds a file, or all files below a folder.
func (p *Packer) Tree(from fs.FS, name, prefix string) {
	_ = fs.WalkDir(from, name, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			p.Add(from, at, prefix)
		}
		return nil
	})
}

// Add adds a file, unless the archive has it.
func (p *Packer) Add(from fs.FS, name, prefix string) {
	to := path.Join(prefix, name)
	if p.seen[to] {
		return
	}
	p.seen[to] = true
	if p.files >= maxFiles || p.bytes >= maxBytes {
		p.Note("%s was left out: there is too much", to)
		return
	}
	in, err := from.Open(name)
	if err != nil {
		p.Note("%s could not be read: %v", to, err)
		return
	}
	defer in.Close()
	entry := &zip.FileHeader{Name: to, Method: zip.Deflate}
	if info, err := in.Stat(); err == nil {
		entry.Modified = info.ModTime()
	}
	out, err := p.z.CreateHeader(entry)
	if err != nil {
		p.Note("%s could not be packed: %v", to, err)
		return
	}
	n, err := io.Copy(out, io.LimitReader(in, maxBytes-p.bytes))
	p.files++
	p.bytes += n
	if err != nil {
		p.Note("%s was cut off: %v", to, err)
	}
}

// Finish adds a README about the archive and closes it.
func (p *Packer) Finish(c protocol.Collect) error {
	out, err := p.z.CreateHeader(&zip.FileHeader{Name: "README.txt", Method: zip.Deflate, Modified: time.Now()})
	if err == nil {
		_, err = fmt.Fprintf(out, "Logs of game server process %s\nGame session: %s\nFiles: %d\n%s\n",
			c.ProcessID, c.GameSessionID, p.files, strings.Join(p.notes, "\n"))
	}
	return errors.Join(err, p.z.Close())
}
