package agent

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// Times of looking after the container engine.
const (
	engineAway  = time.Second      // between attempts to reach an engine
	engineHere  = 5 * time.Second  // between checks that one still answers
	engineWaits = 5 * time.Second  // limits a check
	engineLost  = 10 * time.Minute // after which an engine that does not answer is no longer reported
)

// engineFile stores below Root which engine answered last: a machine that starts must not
// seem to have none only because the agent is up before its engine.
const engineFile = "engine.json"

// engines is the container engine of this machine. It may be restarted or installed while
// the agent runs.
type engines struct {
	open  func(context.Context) (group.Engine, error) // nil: none is used
	found func(context.Context, group.Engine) error   // called when an engine answers, until it succeeds once
	facts func()                                      // called when what get returns for Facts has changed
	path  string                                      // of engineFile
	log   *slog.Logger

	mu    sync.Mutex
	known group.Engine     // nil before one has answered
	here  bool             // it answers
	told  *protocol.Engine // for Facts
	since time.Time        // when it stopped to answer
	ready bool             // found has succeeded
}

// recall reads which engine a former agent had.
func (e *engines) recall() {
	var last protocol.Engine
	if e.open != nil && disk.Read(e.path, &last) == nil && last.Name != "" {
		e.told, e.since = &last, time.Now()
	}
}

// engine returns the engine, or nil while none answers.
func (e *engines) engine() group.Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.here {
		return nil
	}
	return e.known
}

// last returns the engine that answered last, whether or not it answers now; nil before one
// has.
func (e *engines) last() group.Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known
}

// of returns the engine for Facts, or nil.
func (e *engines) of() *protocol.Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.told
}

// isReady reports whether the groups of a former agent were taken over.
func (e *engines) isReady() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready
}

// run looks after the engine until ctx ends.
func (e *engines) run(ctx context.Context) {
	if e.open == nil {
		return
	}
	for {
		wait := engineAway
		if e.look(ctx) {
			wait = engineHere
		}
		if !wake.Sleep(ctx, wait) {
			return
		}
	}
}

// look finds out whether an engine answers, and has it used. It reports whether one does.
func (e *engines) look(ctx context.Context) bool {
	e.mu.Lock()
	engine := e.known
	e.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, engineWaits)
	defer cancel()
	var err error
	if engine == nil {
		engine, err = e.open(within)
	} else {
		err = engine.Ping(within)
	}
	if ctx.Err() != nil {
		return false
	}
	e.note(engine, err)
	if err != nil {
		return false
	}
	if !e.isReady() {
		if err := e.found(ctx, engine); err != nil {
			e.log.Error("the containers of a former agent are not taken over yet", "error", err)
			return false
		}
		e.mu.Lock()
		e.ready = true
		e.mu.Unlock()
	}
	return true
}

// note records whether an engine answers.
func (e *engines) note(engine group.Engine, problem error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	was, told := e.here, e.told
	if e.here = problem == nil; e.here {
		e.known = engine
		now := engine.Facts()
		if e.told == nil || *e.told != now {
			e.told = &now
			if err := disk.Write(e.path, now); err != nil {
				e.log.Warn("the container engine is not noted", "error", err)
			}
		}
		if !was {
			e.log.Info("container groups are run by", "engine", now.Name, "version", now.Version)
		}
	} else {
		if was {
			e.since = time.Now()
			e.log.Error("the container engine does not answer; what runs may go on, and nothing is started", "error", problem)
		}
		if e.told != nil && time.Since(e.since) > engineLost {
			e.told = nil
		}
	}
	if told != e.told {
		e.facts()
	}
}

// newEngines returns the container engine that options name.
func newEngines(o *Options, log *slog.Logger, found func(context.Context, group.Engine) error) *engines {
	e := &engines{open: o.Containers.opens(o.owner, log), found: found, facts: func() {}, path: filepath.Join(o.Root, engineFile), log: log}
	if o.openEngine != nil {
		e.open = o.openEngine
	}
	e.recall()
	return e
}

// close ends what is done in the background for the engine. Containers continue.
func (e *engines) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c, ok := e.known.(io.Closer); ok {
		if err := c.Close(); err != nil {
			e.log.Warn("the connection to the container engine is left", "error", err)
		}
	}
}
