package wrap

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/musterhq/muster/agent/gameapi"
)

// runHTTP is Run for a program that is started at once, and says over HTTP when it is ready.
func runHTTP(ctx context.Context, o Options) (code int, err error) {
	s, err := gameapi.Listen(gameapi.Options{Address: fmt.Sprintf("127.0.0.1:%d", o.GamePort), Log: o.Log})
	if err != nil {
		return 1, fmt.Errorf("wrap: %w", err)
	}
	defer s.Close()
	token := gameapi.NewToken()
	p := s.Admit(gameapi.Admission{
		FleetID: o.FleetID, HostID: o.HostID, ProcessID: o.ProcessID, Token: token, Port: o.Port,
		Endpoint: func() (string, string, error) { return o.URL, o.Token, nil },
	})
	w := &wrapper{o: o, exited: make(chan error, 1)}
	w.cmd = exec.Command(o.Program, o.placed()...)
	w.cmd.Stdout, w.cmd.Stderr = os.Stdout, os.Stderr
	w.cmd.Env = append(os.Environ(), gameapi.URLVariable+"="+s.URL(), gameapi.TokenVariable+"="+token)
	if err := w.cmd.Start(); err != nil {
		return 1, fmt.Errorf("wrap: start %s: %w", o.Program, err)
	}
	go func() { w.exited <- w.cmd.Wait() }()
	code, err = w.liveHTTP(ctx, p)
	s.Forget(o.ProcessID, code == 0 && err == nil || !o.Watched)
	return code, err
}

// liveHTTP waits for the end of the program, which is told to end if ctx ends, and is ended
// by force in time if Muster requests its end.
func (w *wrapper) liveHTTP(ctx context.Context, p *gameapi.Process) (int, error) {
	stopped, opens := ctx.Done(), time.After(w.o.Opens)
	for {
		now, changed := p.Look()
		if now.EndBy != nil && !w.asked {
			within := time.Until(*now.EndBy) - time.Second
			w.asked, w.remind, w.force = true, time.After(max(within-lastMoment, 0)), time.After(max(within, 0))
		}
		select {
		case <-changed:
		case <-opens:
			if now.State == gameapi.Starting {
				w.o.Log.Warn(fmt.Sprintf("The program has run for %s and has not called ready of the HTTP interface, so that it gets no game session. "+
					"Call it (POST $%s/ready), or start the program without --http.", w.o.Opens, gameapi.URLVariable))
			}
		case <-stopped:
			stopped = nil
			w.end(10 * time.Second)
		case <-w.remind:
			w.interrupt()
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
