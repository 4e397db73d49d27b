package group

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// maxOutput bounds the output of one container that is kept, in bytes.
const maxOutput = 64 << 20

// outcome is how a run ended.
type outcome struct {
	asked bool // it was told to
	clean bool
	lived time.Duration
	how   string // a sentence
}

// endRun ends the run in another goroutine: it has ended, or should.
func (g *group) endRun() {
	i := g.i
	grace := time.Duration(0)
	why := g.killed
	if _, by := g.stop(); !g.over && g.killed == "" {
		if why = codeStopped; !by.IsZero() {
			grace = min(max(time.Until(by), 0), softStop)
		}
	}
	e := g.ending()
	i.jobs.Go(func() {
		if o, ok := e.conclude(i.life, grace, why); ok {
			i.post(func() { g.concluded(o) })
		}
	})
}

// ending is a run that ends. Other goroutines than Run may use it.
type ending struct {
	g       *group // its name and instance
	c       Containers
	labels  Labels
	desired protocol.Group // of the group
	known   bool           // its end was reported already
}

func (g *group) ending() ending {
	return ending{g, g.running, g.labels, g.desired, g.reported}
}

// conclude ends whatever still runs of a run, stores its output, reports its end, and
// removes its containers. The game server's end is reported before the other containers
// have ended, if they outlive it. why is the event code of the reason for which it is
// ended. If ctx ends first, ok is false, and the next agent does the rest.
func (e ending) conclude(ctx context.Context, grace time.Duration, why string) (o outcome, ok bool) {
	o.asked = why != "" && !isClosed(e.c.Ended())
	switch {
	case o.asked:
		ok = e.stop(ctx, grace)
	case e.c.End().Unhealthy: // it still runs
		ok = e.stop(ctx, clearGrace)
	default:
		ok = true
	}
	if !ok {
		return o, false
	}
	if !o.asked {
		why = ""
	} else if !e.awaitEnd(ctx) {
		return o, false
	}
	end := e.c.End()
	if o.clean, o.lived = end.Clean(), end.At.Sub(e.labels.Started); end.At.IsZero() {
		o.lived = time.Since(e.labels.Started)
	}
	e.keepOutput(ctx)
	if !e.known {
		o.how = e.report(end, o, why)
	}
	if !o.asked {
		if !e.stop(ctx, clearGrace) {
			return o, false
		}
		if len(e.c.Status()) > 1 {
			e.keepOutput(ctx)
		}
	}
	if err := e.g.i.home.prune(e.g.name); err != nil {
		e.g.i.log.Warn("old logs are left", "group", e.g.name, "error", err)
	}
	return o, discard(ctx, e.c, e.g.i.log)
}

// awaitEnd waits until the end of stopped containers is known.
func (e ending) awaitEnd(ctx context.Context) bool {
	select {
	case <-e.c.Ended():
		return true
	case <-ctx.Done():
		return false
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// stopPause is the time between two requests to the engine that fail.
const stopPause = time.Second

// insist repeats a request to the engine until it succeeds or ctx ends. An engine that does
// not answer may be restarting.
func insist(ctx context.Context, log *slog.Logger, request func() error) (ok bool) {
	for said := false; ; {
		err := request()
		if err == nil {
			return true
		}
		if !said && ctx.Err() == nil {
			log.Error("containers are not ended yet", "error", err)
			said = true
		}
		if !wake.Sleep(ctx, stopPause) {
			return false
		}
	}
}

func (e ending) stop(ctx context.Context, grace time.Duration) (ok bool) {
	return insist(ctx, e.g.i.log, func() error { return e.c.Stop(ctx, grace) })
}

// discard ends and removes containers.
func discard(ctx context.Context, c Containers, log *slog.Logger) (ok bool) {
	return insist(ctx, log, func() error {
		if err := c.Stop(ctx, 0); err != nil {
			return err
		}
		return c.Remove(ctx)
	})
}

// keepOutput stores what the containers have written.
func (e ending) keepOutput(ctx context.Context) {
	for _, one := range e.c.Status() {
		if err := e.keepOutputOf(ctx, one.Name); err != nil {
			e.g.i.log.Warn("the output of a container is not kept", "group", e.g.name, "container", one.Name, "error", err)
		}
	}
}

func (e ending) keepOutputOf(ctx context.Context, container string) error {
	file, err := e.g.i.home.deposit(e.g.name, e.labels.ProcessID, container+".log")
	if err != nil {
		return err
	}
	err = e.c.Output(ctx, container, &bounded{to: file, left: maxOutput}, false)
	return errors.Join(err, file.Close())
}

// bounded is a writer that drops what exceeds its limit.
type bounded struct {
	to   io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	if _, err := b.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// report stores how a run ended, and has the end of its game server sent. It returns how
// it ended, as a sentence.
func (e ending) report(end End, o outcome, why string) string {
	i := e.g.i
	cause := diagnose.Exit(diagnose.End{
		Known: end.Known, Code: end.Code, Signal: end.Signal, Lived: o.lived, Tail: end.Tail, OOM: end.OOM, LimitMiB: e.desired.MemoryMiB, Asked: why,
	})
	switch {
	case end.Unhealthy:
		cause = "was unhealthy: its health check failed"
	case end.Reason != "":
		cause = "did not start: " + end.Reason
	}
	if end.Container != "" && end.Container != gameOf(e.desired) {
		cause = fmt.Sprintf("container %s %s", end.Container, cause)
	}
	if file, err := i.home.deposit(e.g.name, e.labels.ProcessID, "exit.txt"); err == nil {
		fmt.Fprintf(file, "Started: %s\n%s\n", e.labels.Started.UTC().Format("2006-01-02 15:04:05 UTC"), cause)
		file.Close()
	}
	left := i.forgetRun(e.labels.ProcessID, o.clean)
	i.log.Info("a container group ended", "group", e.g.name, "process_id", e.labels.ProcessID, "cause", cause, "reason", why)
	if e.labels.isGame() {
		i.exited(protocol.Exited{
			Group: e.g.name, ProcessID: e.labels.ProcessID, Known: end.Known, Code: end.Code, Signal: end.Signal, OOM: end.OOM,
			Reason: why, Cause: cause, Tail: diagnose.Last(end.Tail), Lived: o.lived, ProcessEnding: left,
		})
	}
	if i.own != nil && i.own.OnEnd != nil {
		i.own.OnEnd(e.labels.ProcessID, cause)
	}
	kept := i.home.run(e.g.name, e.labels.ProcessID)
	kept.Ended = true
	if err := errors.Join(i.home.make(), i.home.keepRun(e.g.name, kept)); err != nil {
		i.log.Warn("the next agent may report an end again", "group", e.g.name, "error", err)
	}
	i.post(func() { e.g.reported = true })
	return cause
}

// exited stores the report of a process's end and has it sent.
func (i *Instance) exited(e protocol.Exited) {
	if i.own != nil {
		return
	}
	e.InstanceID, e.FleetID = i.id, i.Desired().FleetID
	i.m.Exited(e)
}

// concluded handles the end of a run.
func (g *group) concluded(o outcome) {
	g.running, g.over, g.killed, g.started = nil, false, "", false
	if g.i.life.Err() != nil {
		return // the next agent goes on
	}
	var wait time.Duration
	var p problem
	if o.asked {
		g.crashes = 0
	} else {
		next := restart.Next(g.crashes, o.lived, o.clean, rand.Float64())
		g.crashes, wait = next.Crashes, next.Wait
		if !o.clean || wait > 0 {
			p = g.crashed(fmt.Sprintf("container group %s: %s", g.name, o.how))
		}
		if next.Loop {
			p = g.crashed(fmt.Sprintf("container group %s ended %d times in a row, and is started again every few minutes; the last time it %s", g.name, next.Crashes, o.how))
		}
	}
	stop, _ := g.stop()
	switch {
	case stop != protocol.Keep || !g.i.named:
		g.enter(Gone)
	case wait > 0:
		g.retry = time.Now().Add(wait)
		g.fail(p)
	default:
		g.problem = p
		g.enter(Pulling)
	}
}

// follow copies the output of the game server of a run, line by line, until it ends.
func (o *Own) follow(ctx context.Context, c Containers, container string, log *slog.Logger) {
	from, to := io.Pipe()
	go func() {
		to.CloseWithError(c.Output(ctx, container, to, true))
	}()
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			o.print(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			if err != io.EOF && ctx.Err() == nil {
				log.Debug("the output of a container is not shown", "error", err)
			}
			return
		}
	}
}

func (o *Own) print(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintln(o.Out, line)
}
