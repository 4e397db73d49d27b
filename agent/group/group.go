package group

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"

	"github.com/musterhq/muster/agent/gameapi"
	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/internal/wake"
)

// Event codes of what happens to groups (API reference, Event).
const (
	codeDownload    = "FLEET_BINARY_DOWNLOAD_FAILED"
	codeCrashed     = "GAME_SERVER_CONTAINER_GROUP_CRASHED"
	codeBeside      = "PER_INSTANCE_CONTAINER_GROUP_CRASHED"
	codeProcess     = "SERVER_PROCESS_CRASHED"
	codeStopped     = "SERVER_PROCESS_FORCE_TERMINATED"
	runWithoutGame  = "run-"           // begins the id of a run without a game server
	softStop        = 10 * time.Second // before a drain's deadline, containers get SIGTERM
	clearGrace      = 5 * time.Second  // for the other containers of a group that has ended
	awayPause       = time.Second      // between tries while no container engine answers
	refusalsToLast  = 5                // tries after which an image counts as one that cannot be had
	patienceForDisk = time.Second      // between checks of a full disk
)

// restart is the pause between a crash of a group and its next start.
var restart = supervise.Restart{Base: time.Second}

// group is one container group of an instance. Only Run of the instance uses it, except
// that jobs use running and labels while the status says that they work.
type group struct {
	i       *Instance
	name    string
	named   bool           // the desired state of the instance names it
	desired protocol.Group // as named last

	status   Status
	running  Containers // nil if there are none
	labels   Labels     // of the current run, or the last one
	reported bool       // the end of the run was reported
	over     bool       // an essential container has ended
	killed   string     // why the run should be ended; "" if it should not
	started  bool       // a run is being started, or runs

	cancel  context.CancelFunc // abandons the pull or start under way
	attempt int                // number of the pull under way; results of former ones are ignored
	done    int                // percent of the images
	tried   string             // definition of the last attempt
	problem problem
	crashes int // in a row
	refused int // pulls in a row that failed
	clashes int // starts in a row that other programs' ports prevented
	failed  protocol.FailedRun
	taken   []int           // ports of the machine that other programs hold
	ports   []protocol.Port // of the machine, of the start under way or the run; nil for a run that was taken over
	retry   time.Time
}

// problem is why a group does not run: an event code and a sentence.
type problem struct {
	code, cause string
	lasts       bool // its images cannot be had
}

// want replaces what is desired of the group. Failures of another version do not count.
func (g *group) want(d protocol.Group) {
	if !slices.Equal(hostPorts(d), hostPorts(g.desired)) {
		g.retry, g.clashes, g.taken = time.Time{}, 0, nil
	}
	g.desired, g.named = d, true
	g.checkPorts()
	if d.Definition != g.tried {
		g.retry, g.crashes, g.refused = time.Time{}, 0, 0
	}
}

// adopt takes over containers that a former agent left.
func (g *group) adopt(c Containers) {
	g.labels = c.Labels()
	kept := g.i.home.run(g.name, g.labels.ProcessID)
	g.hold(c)
	if g.reported = kept.Ended; !kept.Ended {
		g.admit(kept)
	}
	g.i.log.Info("a container group is taken over", "group", g.name, "process_id", g.labels.ProcessID, "definition", g.labels.Definition)
}

// hold makes the group that of running containers.
func (g *group) hold(c Containers) {
	g.running, g.started, g.reported, g.over, g.killed = c, true, false, false, ""
	i := g.i
	if i.life.Err() != nil {
		return // the next agent finds them
	}
	i.jobs.Go(func() {
		select {
		case <-c.Ended():
			i.post(func() {
				if g.running == c {
					g.over = true
				}
			})
		case <-i.life.Done():
		}
	})
	if i.own != nil && i.own.Out != nil {
		game := gameOf(g.desired)
		i.jobs.Go(func() { i.own.follow(i.life, c, game, i.log) })
	}
}

// admit lets the run use the agent's own endpoints.
func (g *group) admit(r run) {
	name, ours, i := g.name, g.i.m.endpoints(), g.i
	current := func() string {
		token, _ := i.tokens.Load(name)
		text, _ := token.(string)
		return text
	}
	// endpoint returns where the agent connects the game server to Muster, and with which token.
	endpoint := func() (string, string, error) {
		switch at := i.Desired().SDKURL; {
		case r.Pass != "" && ours.Relay != nil:
			return ours.Relay.URL(), r.Pass, nil
		case i.own != nil && i.own.Token != nil:
			token, err := i.own.Token()
			return at, token, err
		default:
			return at, current(), nil
		}
	}
	if ours.Relay != nil && r.Pass != "" {
		ours.Relay.Admit(r.ProcessID, r.Pass, current)
	}
	if ours.Game != nil && r.Game != "" {
		ours.Game.Admit(gameapi.Admission{
			FleetID: i.desired.FleetID, HostID: g.desired.Compute, ProcessID: r.ProcessID, Token: r.Game, Port: gamePort(g.desired), State: i.home.gameState(name),
			Endpoint: endpoint,
		})
	}
	if ours.Legacy != nil && g.labels.isGame() {
		ours.Legacy.Admit(legacy.Admission{
			FleetID: i.desired.FleetID, HostID: g.desired.Compute, ProcessID: r.ProcessID, State: i.home.legacyState(name), Endpoint: endpoint,
		})
	}
	if ours.Discovery != nil && r.Key != "" {
		ours.Discovery.admit(r.Key, r.ProcessID, g.i)
	}
}

// isGame reports whether the run has a game server.
func (l Labels) isGame() bool { return !strings.HasPrefix(l.ProcessID, runWithoutGame) }

// gameOf returns the name of the container of a group's game server.
func gameOf(g protocol.Group) string {
	for _, c := range g.Containers {
		if c.Game {
			return c.Name
		}
	}
	return ""
}

// gamePort returns the port on which the game server of a group listens for players by
// default: GAME_PORT of its container, or the first one that it declares; 0 for none.
func gamePort(g protocol.Group) int {
	for _, c := range g.Containers {
		if !c.Game {
			continue
		}
		for _, v := range c.Environment {
			if port, err := strconv.Atoi(v.Value); v.Name == "GAME_PORT" && err == nil {
				return port
			}
		}
		if len(c.Ports) > 0 {
			return c.Ports[0].Container
		}
	}
	return 0
}

// stop returns how the group should end, and by when. One beside the game servers of an
// instance outlives them.
func (g *group) stop() (stop protocol.Stop, by time.Time) {
	all := g.i.desired
	switch {
	case all.Stop == protocol.End || g.i.named && !g.named:
		return protocol.End, by
	case all.Stop == protocol.Drain && g.desired.PerInstance:
		if g.i.hasGames() {
			return protocol.Keep, by
		}
		return protocol.End, by
	case all.Stop == protocol.Drain && g.desired.Stop != protocol.End:
		return protocol.Drain, earliest(all.StopBy, g.desired.StopBy)
	}
	return g.desired.Stop, g.desired.StopBy
}

// hasGames reports whether a group of the instance is not gone that it runs several of.
func (i *Instance) hasGames() bool {
	for _, g := range i.groups {
		if !g.desired.PerInstance && g.status != Gone {
			return true
		}
	}
	return false
}

// earliest returns the earlier of two times that are not zero.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// situation returns the current situation.
func (g *group) situation(now time.Time) situation {
	stop, by := g.stop()
	return situation{
		stop: stop, named: g.i.named, runs: g.running != nil, over: g.over || g.killed != "",
		late: !by.IsZero() && !now.Before(by.Add(-softStop)), due: !now.Before(g.retry), searched: g.i.searched,
	}
}

// act makes the moves that are due, and returns when to call it again; the zero time
// means after the next change.
func (g *group) act(now time.Time) time.Time {
	for to := g.status.next(g.situation(now)); to != g.status; to = g.status.next(g.situation(now)) {
		g.enter(to)
	}
	stop, by := g.stop()
	switch {
	case g.status == Failed:
		return g.retry
	case g.status == Draining && !by.IsZero():
		return by.Add(-softStop)
	case g.status == Starting && stop == protocol.End:
		g.cancel()
	}
	return time.Time{}
}

// enter changes the status and carries out the change.
func (g *group) enter(to Status) {
	from := g.status
	Moves.Move(&g.status, to, "container group "+g.i.id+"/"+g.name)
	if from == Pulling {
		g.cancel()
	}
	switch to {
	case Pulling:
		g.pull()
	case Starting:
		g.start()
	case Ending:
		g.endRun()
	case Gone:
		g.started = false
		if err := g.i.home.forgetRun(g.name); err != nil {
			g.i.log.Warn("a file is left", "group", g.name, "error", err)
		}
	}
	g.i.log.Debug("container group", "group", g.name, "status", to)
}

// pull fetches the images in another goroutine.
func (g *group) pull() {
	i, wanted := g.i, images(g.desired)
	ctx, cancel := context.WithCancel(i.life)
	g.cancel = cancel
	g.attempt++
	n := g.attempt
	g.done, g.started, g.tried = 0, false, g.desired.Definition
	g.labels = Labels{Definition: g.desired.Definition}
	current := func(f func()) {
		i.post(func() {
			if g.status == Pulling && g.attempt == n {
				f()
			}
		})
	}
	within := tracing.Continued(ctx, i.desired.Trace)
	i.jobs.Go(func() {
		defer cancel()
		ctx, span := i.span(within, "pull images", g.name)
		var err error
		defer func() { endSpan(ctx, span, err) }()
		for at, image := range wanted {
			err = i.m.Images.Get(ctx, image, func(percent int) {
				current(func() { g.done = (at*100 + percent) / len(wanted) })
			})
			if err != nil {
				break
			}
		}
		if ctx.Err() == nil {
			current(func() { g.pulled(err) })
		}
	})
}

// pulled handles the end of a pull that was not abandoned.
func (g *group) pulled(err error) {
	if g.i.life.Err() != nil {
		return
	}
	if err == nil {
		g.refused, g.i.fetched = 0, true
		g.enter(Starting)
		return
	}
	var refused *Refused
	p := problem{code: codeDownload, cause: err.Error()}
	switch {
	case errors.Is(err, ErrNoEngine):
		p.code = ""
		g.retry = time.Now().Add(awayPause)
	default:
		next := restart.Next(g.refused, 0, false, rand.Float64())
		g.refused = next.Crashes
		p.lasts = errors.As(err, &refused) && refused.Lasts || g.refused >= refusalsToLast
		g.retry = time.Now().Add(next.Wait)
	}
	g.explain(p)
	g.fail(p)
}

// explain shows a developer why the own image does not run.
func (g *group) explain(p problem) {
	if own := g.i.own; own != nil && own.Out != nil && p != g.problem {
		own.print(fmt.Sprintf("%s: %s", g.desired.Definition, p.cause))
	}
}

// fail makes the group FAILED.
func (g *group) fail(p problem) {
	if p != g.problem {
		g.i.log.Warn("a container group does not run", "group", g.name, "code", p.code, "cause", p.cause)
	}
	g.problem = p
	g.enter(Failed)
}

// start starts the containers in another goroutine.
func (g *group) start() {
	i, d := g.i, g.desired
	if taken := i.m.held(d); len(taken) > 0 {
		g.clash(taken)
		return
	}
	ctx, cancel := context.WithCancel(i.life)
	g.cancel = cancel
	id := uuid.NewString()
	if !isGame(d) {
		id = runWithoutGame + id
	}
	g.labels = Labels{InstanceID: i.id, FleetID: i.desired.FleetID, Group: g.name, Definition: d.Definition, ProcessID: id, Started: time.Now().UTC()}
	g.tried, g.started, g.ports = d.Definition, true, hostPorts(d)
	r := run{ProcessID: id}
	l, err := i.launch(d, g.labels, &r)
	if err == nil {
		g.admit(r)
		err = errors.Join(i.home.make(), i.home.keepRun(g.name, r))
	}
	within, fleet := tracing.Continued(ctx, i.desired.Trace), i.desired.FleetID
	i.jobs.Go(func() {
		defer cancel()
		ctx, span := i.span(within, "start container group", g.name)
		span.SetAttributes(attribute.String("muster.process", fleet+"/"+d.Compute+"/"+id))
		var c Containers
		if err == nil {
			c, err = i.m.run(ctx, l)
		}
		endSpan(ctx, span, err)
		i.post(func() { g.hasStarted(c, err) })
	})
}

// run starts containers, as soon as the machine takes some.
func (m *Machine) run(ctx context.Context, l Launch) (Containers, error) {
	for m.Full() {
		if !wake.Sleep(ctx, patienceForDisk) {
			return nil, ctx.Err()
		}
	}
	if m.Starts != nil {
		select {
		case m.Starts <- struct{}{}:
			defer func() { <-m.Starts }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	engine := m.Engine()
	if engine == nil {
		return nil, ErrNoEngine
	}
	return engine.Start(ctx, l)
}

// hasStarted handles the end of a start.
func (g *group) hasStarted(c Containers, err error) {
	if err == nil {
		if at := c.Labels().Started; !at.IsZero() {
			g.labels.Started = at
		}
		g.hold(c)
		g.checkPorts()
		g.problem, g.clashes, g.taken = problem{}, 0, nil
		g.enter(Running)
		g.i.log.Info("a container group runs", "group", g.name, "process_id", g.labels.ProcessID, "definition", g.labels.Definition)
		if g.i.own != nil && g.i.own.OnStart != nil {
			g.i.own.OnStart(g.labels.ProcessID)
		}
		return
	}
	g.i.forgetRun(g.labels.ProcessID, false)
	g.started = false
	var p problem
	switch {
	case g.i.life.Err() != nil: // the agent ends
		return
	case errors.Is(err, ErrNoEngine):
		p.cause = err.Error()
		g.retry = time.Now().Add(awayPause)
	default:
		if taken := heldIn(err, g.desired); len(taken) > 0 {
			if g.labels.isGame() {
				g.i.exited(protocol.Exited{Group: g.name, ProcessID: g.labels.ProcessID, Code: -1, Reason: codeStopped, Cause: "could not be started: " + err.Error()})
			}
			g.clashes = looks // the engine has tried
			g.clash(taken)
			return
		}
		p = g.notStarted(err)
	}
	g.explain(p)
	g.fail(p)
}

// notStarted reports a run that could not be started, and returns the problem.
func (g *group) notStarted(err error) problem {
	stop, _ := g.stop()
	reason, cause := codeProcess, "could not be started: "+err.Error()
	if stop == protocol.End {
		reason, cause = codeStopped, "was told to end while it was started"
	} else {
		next := restart.Next(g.crashes, 0, false, rand.Float64())
		g.crashes = next.Crashes
		g.retry = time.Now().Add(next.Wait)
	}
	if g.labels.isGame() {
		g.i.exited(protocol.Exited{Group: g.name, ProcessID: g.labels.ProcessID, Code: -1, Reason: reason, Cause: cause})
	}
	return g.crashed(fmt.Sprintf("container group %s %s", g.name, cause))
}

// crashed returns the problem that a run has failed, and notes that of a per-instance group.
func (g *group) crashed(cause string) problem {
	p := problem{code: g.crashCode(), cause: cause}
	if p.code == codeBeside {
		g.failed = protocol.FailedRun{ID: g.labels.ProcessID, Definition: g.labels.Definition, Cause: p.cause}
	}
	return p
}

// crashCode returns the code of the event that the group has crashed.
func (g *group) crashCode() string {
	if g.desired.PerInstance || !g.labels.isGame() {
		return codeBeside
	}
	return codeCrashed
}

// forgetRun takes back what admit allowed a run, and reports whether the game server had
// called ProcessEnding through the agent. clean says that it ended without an error.
func (i *Instance) forgetRun(processID string, clean bool) (left bool) {
	ours := i.m.endpoints()
	if ours.Discovery != nil {
		ours.Discovery.forget(processID)
	}
	left = ours.Game != nil && ours.Game.Forget(processID, clean) // before the relay, by which it says the end
	if ours.Legacy != nil && ours.Legacy.Forget(processID) {
		left = true
	}
	if ours.Relay != nil && ours.Relay.Forget(processID) {
		left = true
	}
	return left
}

// report returns the group as it is reported to Muster.
func (g *group) report() protocol.GroupStatus {
	r := protocol.GroupStatus{Name: g.name, Definition: g.labels.Definition, Phase: g.phase(), Failed: g.failed}
	if g.started && g.labels.isGame() && !g.reported {
		r.ProcessID, r.Started = g.labels.ProcessID, g.labels.Started
	}
	if g.isUnknown() { // it may run, and Muster must not count its end before the engine has answered
		if last, ok := g.i.home.lastRun(g.name); ok {
			r.ProcessID = last.ProcessID
		}
	}
	switch g.status {
	case Pulling:
		r.Done = g.done
		r.Code, r.Cause, r.Taken = g.problem.code, g.problem.cause, g.taken // it failed before
	case "":
		r.Cause = ErrNoEngine.Error()
	case Failed, Starting:
		r.Code, r.Cause, r.Taken = g.problem.code, g.problem.cause, g.taken
	}
	return r
}

// isUnknown reports whether a former agent may have left the group running, which the engine
// has not said yet.
func (g *group) isUnknown() bool {
	return g.status == "" && !g.i.searched && !g.desired.PerInstance && g.i.own == nil
}

// missed reports the end of a run that the engine does not have, although the reports so far
// named it.
func (g *group) missed() {
	last, ok := g.i.home.lastRun(g.name)
	if !ok {
		return
	}
	left := g.i.forgetRun(last.ProcessID, false) || gameapi.HadEnded(g.i.home.gameState(g.name), last.ProcessID) ||
		legacy.HadEnded(g.i.home.legacyState(g.name), last.ProcessID)
	g.i.exited(protocol.Exited{
		Group: g.name, ProcessID: last.ProcessID, Code: -1, Cause: "was gone when the container engine answered again", ProcessEnding: left,
	})
	last.Ended = true
	if err := g.i.home.keepRun(g.name, last); err != nil {
		g.i.log.Warn("the next agent may report an end again", "group", g.name, "error", err)
	}
}

// phase returns the phase that is reported.
func (g *group) phase() protocol.GroupPhase {
	switch g.status {
	case Pulling, "":
		return protocol.GroupPulling
	case Starting:
		return protocol.GroupStarting
	case Draining:
		return protocol.GroupDraining
	case Failed:
		return protocol.GroupFailed
	case Gone:
		return protocol.GroupGone
	case Ending:
		if stop, _ := g.stop(); stop != protocol.Keep {
			return protocol.GroupDraining
		}
	}
	return protocol.GroupRunning
}
