package agent

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// Bounds of collecting logs.
const (
	maxUploads  = 5         // archives packed and sent at the same time
	maxLogBytes = 256 << 20 // of one process, before packing
	maxLogFiles = 1000      // of one process
	uploadTries = 5
)

// collect packs the logs of an ended process and sends them to Muster.
func (a *Agent) collect(c protocol.Collect) {
	i := a.find(c.InstanceID)
	if i == nil || !validID(c.ProcessID) {
		go a.tellStored(protocol.LogsStored{InstanceID: c.InstanceID, ProcessID: c.ProcessID, Problem: "the instance is gone, and its logs with it"})
		return
	}
	if !i.collects(c.ProcessID, true) {
		return // Muster asks again on each connection; the result of the first request suffices
	}
	go func() { // not in a.work: if the agent ends first, Muster asks again
		a.uploads <- struct{}{}
		defer func() { <-a.uploads }()
		defer i.collects(c.ProcessID, false)
		n, err := i.ship(c)
		done := protocol.LogsStored{InstanceID: c.InstanceID, ProcessID: c.ProcessID, Bytes: n}
		if err != nil {
			i.log.Warn("logs not sent", "process_id", c.ProcessID, "error", err)
			done.Problem = err.Error()
		}
		a.tellStored(done)
	}()
}

// collects records that the logs of a process are being collected, or no longer are. It
// reports whether that changed.
func (i *instance) collects(id string, begin bool) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	was := i.collecting[id]
	if begin {
		i.collecting[id] = true
	} else {
		delete(i.collecting, id)
	}
	return was != begin
}

func (a *Agent) tellStored(done protocol.LogsStored) {
	select {
	case a.stored <- done:
	case <-time.After(time.Minute): // no link: Muster asks again
	}
}

// ship packs and sends the logs of a process, and then removes its own log folder.
func (i *instance) ship(c protocol.Collect) (int64, error) {
	file, err := os.CreateTemp(i.a.opts.Root, "logs-*.zip")
	if err != nil {
		return 0, fmt.Errorf("pack logs: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := i.pack(file, c); err != nil {
		return 0, fmt.Errorf("pack logs: %w", err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("pack logs: %w", err)
	}
	wait := firstWait
	for try := 1; ; try++ {
		err := i.a.put(protocol.PathLogs+c.InstanceID+"/"+c.ProcessID, file, size)
		if err == nil {
			return size, os.RemoveAll(i.ownLogDir(c.ProcessID))
		}
		if try == uploadTries {
			return 0, err
		}
		time.Sleep(jitter(wait))
		wait = longer(wait)
	}
}

func (a *Agent) put(where string, file *os.File, size int64) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, a.server()+where, io.NopCloser(file))
	if err != nil {
		return err
	}
	req.ContentLength = size
	req.Header.Set("Authorization", a.identity().bearer())
	req.Header.Set("Content-Type", "application/zip")
	res, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusOK {
		return refusalOf(res)
	}
	return nil
}

// pack writes an archive of the process's output, its own log folder and the log files
// that it named.
func (i *instance) pack(w io.Writer, c protocol.Collect) error {
	p := &packer{z: zip.NewWriter(w)}
	outputs, _ := filepath.Glob(filepath.Join(i.dir, "logs", "[0-9]*", c.ProcessID+".std*.log*")) // in the slots' folders, which are the agent's
	for _, file := range outputs {
		p.add(os.DirFS(filepath.Dir(file)), filepath.Base(file), "")
	}
	if own, err := openTheirs(i.ownLogDir(c.ProcessID)); err == nil {
		p.tree(own, ".", "logs")
		own.Close()
	}
	if game, err := openTheirs(i.gameDir()); err == nil {
		for _, named := range c.LogPaths {
			if name, ok := i.within(named); ok {
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
func (i *instance) within(named string) (string, bool) {
	slashed := strings.ReplaceAll(named, `\`, "/")
	for _, prefix := range []string{linuxGame, "C:/game/", "C:/Game/", filepath.ToSlash(i.gameDir()) + "/"} {
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
