package relay

import (
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/disk"
)

// departedFile keeps the processes that have called ProcessEnding below Options.Dir, for the
// next agent.
const departedFile = "departed.json"

// departedFor is for how long a process is kept whose end no agent reports.
const departedFor = 7 * 24 * time.Hour

// departed are the processes that have called ProcessEnding and whose end is not reported
// yet.
type departed struct {
	mu   sync.Mutex
	path string
	at   map[string]time.Time // of the call, by process id
}

func (d *departed) load(dir string) {
	d.path = filepath.Join(dir, departedFile)
	if disk.Read(d.path, &d.at) != nil || d.at == nil { // there is no file before the first
		d.at = map[string]time.Time{}
	}
	maps.DeleteFunc(d.at, func(_ string, at time.Time) bool { return time.Since(at) > departedFor })
}

// add notes the call of a process.
func (d *departed) add(processID string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.at[processID]; known {
		return nil
	}
	d.at[processID] = time.Now()
	return disk.Write(d.path, d.at)
}

// remove forgets a process, and reports whether it had called ProcessEnding.
func (d *departed) remove(processID string) (was bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, was = d.at[processID]; !was {
		return false, nil
	}
	delete(d.at, processID)
	return true, disk.Write(d.path, d.at)
}
