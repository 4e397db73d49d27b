package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// startProcesses takes over the game server processes that an earlier server left, and
// starts the missing ones.
func (d *Demo) startProcesses(ctx context.Context) (*supervise.Group, error) {
	group, err := supervise.New(supervise.Options{
		Spec: supervise.Spec{
			Name: "arena", Path: d.program, Dir: filepath.Dir(d.program),
			Args:     func(int, string) []string { return []string{"server", "--wait", "10m"} },
			Launch:   d.launch,
			LogDir:   filepath.Join(d.s.Dir, "logs"),
			StateDir: filepath.Join(d.s.Dir, "processes"),
		},
		Count: d.opts.Processes, NewID: uuid.NewString, Log: d.log,
		Restart: supervise.Restart{Base: time.Second, Max: time.Minute},
		Events:  supervise.Events{Started: d.started, Exited: d.exited, Failed: d.failed},
	})
	if err != nil {
		return nil, err
	}
	d.group.Store(group)
	// The group is stopped explicitly, not by ctx, so that its processes end.
	if err := group.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	return group, nil
}

// launch starts a process in its working directory with the address to connect to and a
// new token.
func (d *Demo) launch(cmd *exec.Cmd, slot int, id string) error {
	c, err := d.s.Computes.Find(d.s.Store.View(), *d.fleetID.Load(), computeName)
	if err != nil {
		return err
	}
	token, _ := d.s.Computes.IssueToken(c, time.Now())
	cmd.Dir = filepath.Join(d.s.Dir, "work", strconv.Itoa(slot))
	if err := os.MkdirAll(cmd.Dir, 0o750); err != nil {
		return fmt.Errorf("make working directory: %w", err)
	}
	cmd.Env = append(cmd.Env,
		"GAMELIFT_SDK_WEBSOCKET_URL="+d.s.GameServerURL,
		"GAMELIFT_SDK_AUTH_TOKEN="+token,
		"GAMELIFT_SDK_FLEET_ID="+*d.fleetID.Load(),
		"GAMELIFT_SDK_HOST_ID="+computeName,
		"GAMELIFT_SDK_PROCESS_ID="+id,
	)
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd.Start()
}

func (d *Demo) started(r supervise.Run) {
	d.log.Info("game server process started", "process_id", r.ID, "pid", r.PID, "taken_over", r.Attached, "log", r.Stderr)
}

// exited reports the exit to the domain, which counts it as a crash unless the process
// called ProcessEnding.
func (d *Demo) exited(r supervise.Run, e supervise.Exit) {
	d.log.Info("game server process ended", "process_id", r.ID, "how", e.String(), "lived", e.Lived.Round(time.Millisecond))
	ctx, cancel := context.WithTimeout(store.WithActor(context.Background(), name), 10*time.Second)
	defer cancel()
	if err := d.s.Computes.Exited(ctx, d.ref(r.ID), e.String()); err != nil {
		d.log.Error("end of a process not noted", "process_id", r.ID, "error", err)
	}
}

func (d *Demo) failed(slot int, id string, err error) {
	d.log.Error("game server process not started", "slot", slot, "process_id", id, "error", err)
}

func (d *Demo) ref(id string) compute.Ref {
	return compute.Ref{FleetID: *d.fleetID.Load(), ComputeName: computeName, ProcessID: id}
}

// Owns reports whether the demo runs the process (instance.Launcher).
func (d *Demo) Owns(ref compute.Ref) bool {
	group := d.group.Load()
	if group == nil || ref != d.ref(ref.ProcessID) {
		return false
	}
	for _, r := range group.Runs() {
		if r.ID == ref.ProcessID {
			return true
		}
	}
	return false
}

// leaveTime is how long a process may take to exit after calling ProcessEnding.
const leaveTime = 10 * time.Second

// Ended makes sure that a process that counts as ended is gone (instance.Launcher): one
// that called ProcessEnding has time to exit, any other is killed.
func (d *Demo) Ended(ref compute.Ref, why event.Code) {
	if !d.Owns(ref) {
		return
	}
	d.stops.Go(func() {
		if why == event.ProcessEnded && !d.wait(leaveTime) {
			return // the demo stops, and every process with it
		}
		err := d.group.Load().StopRun(context.Background(), ref.ProcessID, 0)
		if err != nil && !errors.Is(err, supervise.ErrNotRunning) {
			d.log.Error("process not stopped", "process_id", ref.ProcessID, "error", err)
		}
	})
}

// wait waits, and reports false if the demo stops first.
func (d *Demo) wait(t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.stopping:
		return false
	}
}
