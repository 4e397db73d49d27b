package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/agent/ports"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
)

// keepRuns is how many ended processes of a slot have their output kept.
const keepRuns = 5

// groupOf returns the supervisor of a slot.
func (i *instance) groupOf(s *slot, count int) (*supervise.Group, error) {
	path, err := i.programOf(s.spec)
	if err != nil && count > 0 {
		return nil, err
	}
	if err != nil {
		path = i.dir // nothing is launched
	}
	return supervise.New(supervise.Options{
		Spec: supervise.Spec{
			Name: filepath.Base(path), Path: path, Dir: i.gameDir(),
			Launch:   func(cmd *exec.Cmd, _ int, id string) error { return i.launch(cmd, s, id) },
			LogDir:   i.logDir(s),
			StateDir: filepath.Join(i.slotDir(s.n), "state"),
			KeepLogs: keepRuns,
		},
		Count: count, NewID: uuid.NewString, Log: i.log, Restart: i.restart(), May: func() bool { return !i.a.sampler.full() },
		Events: supervise.Events{
			Started:      func(r supervise.Run) { i.started(s, r) },
			Exited:       func(r supervise.Run, e supervise.Exit) { i.exited(s, r, e) },
			Failed:       func(_ int, id string, err error) { i.failed(s, id, err) },
			Cut:          func(id string) { i.leaveJail(id) },
			CrashLooping: func(_, crashes int) { i.crashLoops(s, crashes) },
		},
	})
}

// logDir is the folder with the output of a slot's processes, which outlives the slot.
func (i *instance) logDir(s *slot) string { return filepath.Join(i.dir, "logs", strconv.Itoa(s.n)) }

// ownLogDir is a folder for a process's own logs.
func (i *instance) ownLogDir(id string) string { return filepath.Join(i.dir, "logs", "of-"+id) }

func (i *instance) preparePorts(w protocol.Desired) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ports != nil {
		return nil
	}
	var err error
	i.ports, err = ports.New(w.PortFrom, w.PortTo)
	return err
}

func (i *instance) treeStands() bool {
	_, err := os.Stat(i.gameDir())
	return err == nil
}

// launch starts a process with its port, arguments and environment.
func (i *instance) launch(cmd *exec.Cmd, s *slot, id string) error {
	w := i.wished()
	port, err := i.takePort()
	if err != nil {
		return err
	}
	if err := i.notePort(s, &w, id, port); err != nil {
		return err
	}
	if i.own != nil && i.own.Token != nil {
		if w.AuthToken, err = i.own.Token(); err != nil {
			return err
		}
	}
	logs, err := i.makeLogDir(id)
	if err != nil {
		return err
	}
	if err := i.setCommand(cmd, s, w, placeholders{port: port, processID: id, logDir: logs, index: s.n}); err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, i.environment(w, id, port, logs)...)
	if i.own != nil {
		return cmd.Start()
	}
	return i.confine(cmd, w, id)
}

func (i *instance) takePort() (int, error) {
	if i.own != nil && i.own.Port > 0 {
		return i.own.Port, nil
	}
	return i.ports.Take(time.Now())
}

// notePort stores what the next agent must know about a process to take it over.
func (i *instance) notePort(s *slot, w *protocol.Desired, id string, port int) error {
	i.mu.Lock()
	s.port = port
	i.mu.Unlock()
	pass := i.admit(w, id, "")
	if err := writeJSON(filepath.Join(i.slotDir(s.n), "run.json"), runFile{id, port, pass}); err != nil {
		return fmt.Errorf("note port: %w", err)
	}
	return nil
}

func (i *instance) makeLogDir(id string) (string, error) {
	logs := i.ownLogDir(id)
	if err := os.MkdirAll(logs, 0o750); err != nil {
		return "", fmt.Errorf("make log folder: %w", err)
	}
	if err := i.give(logs); err != nil {
		return "", fmt.Errorf("make log folder: %w", err)
	}
	return logs, nil
}

// setCommand sets a process's arguments; a program without an SDK is started by a
// wrapper (agent/wrap).
func (i *instance) setCommand(cmd *exec.Cmd, s *slot, w protocol.Desired, values placeholders) error {
	parameters, bare := withoutSDK(s.spec.Parameters)
	args, err := expand(parameters, bare, w, values)
	if err != nil {
		return err
	}
	if i.own != nil && !i.own.Clean {
		args = i.own.arguments(values.port)
	}
	if bare && (i.own == nil || i.own.Clean) {
		if i.a.opts.Launcher == "" {
			return errors.New("this agent cannot host programs without an SDK: it does not know its own program")
		}
		args = append([]string{"wrap", "--watched", "--", cmd.Path}, args...)
		cmd.Path = i.a.opts.Launcher
	}
	cmd.Args = append(cmd.Args, args...)
	return nil
}

// confine starts a process isolated, with its own folder for temporary files.
func (i *instance) confine(cmd *exec.Cmd, w protocol.Desired, id string) error {
	temp, mounts, err := i.makeTemp(id)
	if err != nil {
		return err
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		cmd.Env = append(cmd.Env, name+"="+temp) // the last value wins
	}
	return i.isolate(cmd, w, id, mounts)
}

// environment returns a process's environment variables. Their names are those of AWS's
// SDKs and agent.
func (i *instance) environment(w protocol.Desired, id string, port int, logs string) []string {
	env := append(install.CleanEnvironment(), "HOME="+i.gameDir())
	if i.own != nil && !i.own.Clean {
		env = os.Environ() // the developer's own program, as from the terminal
	}
	env = append(env, i.a.metricsEnvironment()...)
	return append(env,
		"GAMELIFT_SDK_WEBSOCKET_URL="+w.SDKURL,
		"GAMELIFT_SDK_AUTH_TOKEN="+w.AuthToken,
		"GAMELIFT_SDK_FLEET_ID="+w.FleetID,
		"GAMELIFT_SDK_HOST_ID="+w.Compute,
		"GAMELIFT_SDK_PROCESS_ID="+id,
		"GAMELIFT_REGION="+w.Region,
		"GAME_PORT="+strconv.Itoa(port),
		"GAME_LOG_DIR="+logs,
	)
}

func (i *instance) started(s *slot, r supervise.Run) {
	i.note(s, r)
	i.log.Info("process started", "process_id", r.ID, "pid", r.PID, "taken_over", r.Attached, "log", r.Stderr)
	if i.own != nil {
		i.own.follow(r)
		if p := i.processOf(s); p != nil && i.own.OnStart != nil {
			i.own.OnStart(*p)
		}
	}
	time.AfterFunc(healed, func() { i.heal(s, r.ID) })
}

// note records the process that runs in a slot.
func (i *instance) note(s *slot, r supervise.Run) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s.process != nil && s.process.ProcessID == r.ID {
		return
	}
	if r.Attached {
		var kept runFile
		if err := readJSON(filepath.Join(i.slotDir(s.n), "run.json"), &kept); err == nil && kept.ProcessID == r.ID {
			if kept.Pass != "" {
				i.admit(&i.wish, r.ID, kept.Pass)
			}
			s.port = kept.Port
			i.ports.Keep(kept.Port)
		}
	}
	s.process = &protocol.Process{ProcessID: r.ID, PID: r.PID, Entry: s.entry, Port: s.port, Started: r.Started}
	nudge(i.a.changed)
}

// healed is how long a process must run to end the crash loop of its entry.
const healed = time.Minute

func (i *instance) heal(s *slot, id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s.process == nil || s.process.ProcessID != id || i.looping[s.entry] == "" {
		return
	}
	delete(i.looping, s.entry)
	i.tellLoops()
}

// tellLoops updates the reported code and cause from the crash loops. The caller must
// hold i.mu.
func (i *instance) tellLoops() {
	if i.phase != protocol.Activating {
		return
	}
	i.code, i.cause = "", ""
	for _, cause := range i.looping {
		i.code, i.cause = codeCrashed, cause
	}
	nudge(i.a.changed)
}

func (i *instance) freePort(s *slot) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s.port > 0 && i.ports != nil {
		i.ports.Release(s.port, time.Now())
	}
	s.port, s.process = 0, nil
}
