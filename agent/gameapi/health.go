package gameapi

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/musterhq/muster/agent/disk"
)

// keepEvery is how often, at most, what a program says of its health is stored. Only a
// change is.
const keepEvery = time.Second

// illness is what is stored about a process while its program says that it is unhealthy.
type illness struct{ ProcessID string }

func illFile(state string) string { return state + ".ill" }

// RemoveState removes the file Admission.State of a process that has ended, and what is
// beside it.
func RemoveState(path string) error {
	for _, file := range []string{illFile(path), path} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// wasIll reports whether the program of a process said to a former agent that it is
// unhealthy.
func wasIll(a Admission) bool {
	var i illness
	return a.State != "" && disk.Read(illFile(a.State), &i) == nil && i.ProcessID == a.ProcessID
}

// health is POST /health. A change is stored when it returns, unless there was one in the
// second before.
func (p *Process) health(h HealthRequest) {
	ill := h.Healthy != nil && !*h.Healthy
	p.mu.Lock()
	p.lively = time.Now()
	changed := p.ill != ill
	p.ill = ill
	keep := changed && !p.keeping && !p.over && p.a.State != ""
	p.keeping = p.keeping || keep
	p.mu.Unlock()
	if keep {
		p.keepHealth(ill)
		p.spawn(func() { p.keepChanges(ill) })
	}
}

// keepChanges stores further changes of the health, until a second passes without one.
func (p *Process) keepChanges(stored bool) {
	pause := time.NewTicker(keepEvery)
	defer pause.Stop()
	for over := false; ; {
		select {
		case <-pause.C:
		case <-p.life.Done():
			over = true
		}
		p.mu.Lock()
		ill := p.ill
		p.keeping = ill != stored && !over
		p.mu.Unlock()
		if ill == stored {
			return
		}
		p.keepHealth(ill)
		if stored = ill; over {
			return
		}
	}
}

func (p *Process) keepHealth(ill bool) {
	var err error
	if ill {
		err = disk.Write(illFile(p.a.State), illness{p.a.ProcessID})
	} else if err = os.Remove(illFile(p.a.State)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		p.log.Error("the health of a process is not kept for the next agent", "error", err)
	}
}
