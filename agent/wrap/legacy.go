package wrap

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/musterhq/muster/agent/legacy"
)

// runLegacy is Run for a program with Server SDK 3 or 4, which is started at once.
func runLegacy(ctx context.Context, o Options) (code int, err error) {
	s := legacy.Open(legacy.Options{Ports: *o.Legacy, Log: o.Log})
	defer s.Close()
	if why := s.Why(); why != "" {
		return 1, fmt.Errorf("wrap: %s", why)
	}
	w := &wrapper{o: o, exited: make(chan error, 1)}
	w.cmd = exec.Command(o.Program, o.placed()...)
	w.cmd.Stdout, w.cmd.Stderr = os.Stdout, os.Stderr
	if err := w.cmd.Start(); err != nil {
		return 1, fmt.Errorf("wrap: start %s: %w", o.Program, err)
	}
	s.Admit(legacy.Admission{
		FleetID: o.FleetID, HostID: o.HostID, ProcessID: o.ProcessID, PID: w.cmd.Process.Pid,
		Endpoint: func() (string, string, error) { return o.URL, o.Token, nil },
	})
	go func() { w.exited <- w.cmd.Wait() }()
	code, err = w.liveLegacy(ctx, s)
	s.Forget(o.ProcessID) // Muster is told of its ProcessEnding before we exit
	return code, err
}

// liveLegacy waits for the end of the program, which is told to end if ctx ends. What Muster
// requests, its SDK tells it.
func (w *wrapper) liveLegacy(ctx context.Context, s *legacy.Server) (int, error) {
	stopped, opens := ctx.Done(), time.After(w.o.Opens)
	for {
		select {
		case <-opens:
			if !s.HasConnected(w.o.ProcessID) {
				w.o.Log.Warn(fmt.Sprintf("The program has run for %s and has not called InitSDK of Server SDK 3 or 4, so that it gets no game session.", w.o.Opens))
			}
		case <-stopped:
			stopped = nil
			w.end(10 * time.Second)
		case <-w.force:
			w.cmd.Process.Kill()
		case err := <-w.exited:
			if w.asked {
				return 0, nil // however it ended, that was requested
			}
			return exitCode(err)
		}
	}
}
