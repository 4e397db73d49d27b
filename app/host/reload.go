package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/hosts/protocol"
)

// lookAgain is how often the files of a program are looked at, and for how long they stay as they
// are before they count as changed: a compiler or a copy may still be writing.
const lookAgain = 500 * time.Millisecond

// mostFiles is how many files are looked at.
const mostFiles = 20_000

// reloader starts a developer's game servers anew when files of their program change: at once
// those without a game session, the others after it.
type reloader struct {
	h     *Host
	paths []string // files, and folders with all that is in them

	mu      sync.Mutex
	running map[string]bool // processes, by id; true: it is to end, since it runs what was there before
}

// CheckReload returns an error if the files that a Program reloads for cannot be looked at.
func CheckReload(paths []string) error {
	_, err := fingerprint(paths)
	return err
}

// begun and over note the beginning and the end of a process.
func (r *reloader) begun(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[id] = false
}

func (r *reloader) over(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, id)
}

// run looks at the files until ctx ends.
func (r *reloader) run(ctx context.Context) {
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	used, _ := fingerprint(r.paths) // of what runs
	last := used
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		now, err := fingerprint(r.paths)
		if err != nil {
			last = 0 // a file is away while it is replaced
			continue
		}
		if now == last && now != used {
			used = now
			r.changed()
		}
		last = now
		r.renew(ctx)
	}
}

// changed notes that all processes run what was there before, and says so.
func (r *reloader) changed() {
	r.mu.Lock()
	for id := range r.running {
		r.running[id] = true
	}
	all := maps.Clone(r.running)
	r.mu.Unlock()
	busy := 0
	for id := range all {
		if p := r.process(id); p != nil && p.GameSessionID != "" {
			busy++
		}
	}
	text := "Your program has changed: its game servers start anew"
	if busy > 0 {
		text += fmt.Sprintf(", %d of them after the game session that is played there", busy)
	}
	fmt.Fprintln(r.h.out, text+".")
	r.h.agent.Load().Again(r.h.id) // also those that wait after crashes
}

// renew ends the processes that are to end and host no game session.
func (r *reloader) renew(ctx context.Context) {
	r.mu.Lock()
	all := maps.Clone(r.running)
	r.mu.Unlock()
	for id, old := range all {
		if !old {
			continue
		}
		p := r.process(id)
		switch {
		case p == nil: // it has not called InitSDK
			r.h.agent.Load().Kill(protocol.Kill{InstanceID: r.h.id, ProcessID: id, Reason: "its program has changed"})
		case p.GameSessionID == "" && p.Status != compute.Terminating:
			if err := r.h.s.Computes.RetireIdle(ctx, p.Ref(), "its program has changed"); err != nil && ctx.Err() == nil {
				r.h.log.Error("a process of a program that has changed is not ended", "process_id", id, "error", err)
			}
		}
	}
}

// process returns a process that has called InitSDK, nil if it has not.
func (r *reloader) process(id string) *compute.Process {
	return r.h.s.Computes.Process(r.h.s.Store.View(), r.h.ref(id).Key())
}

// fingerprint returns a number that differs when files differ in name, size or time. Hidden files
// and folders within a folder do not count.
func fingerprint(paths []string) (uint64, error) {
	sum, files := fnv.New64a(), 0
	for _, path := range paths {
		root, err := filepath.EvalSymlinks(path) // a link to a folder is walked, too
		if err != nil {
			return 0, err
		}
		err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) && name != root:
				return nil // it was removed while the folder was read
			case err != nil:
				return err
			case name != root && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			if files++; files > mostFiles {
				return fmt.Errorf("%s has more than %d files; name those that matter", path, mostFiles)
			}
			info, err := os.Stat(name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			sum.Write([]byte(name))
			binary.Write(sum, binary.LittleEndian, []int64{info.Size(), info.ModTime().UnixNano()})
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return sum.Sum64(), nil
}
