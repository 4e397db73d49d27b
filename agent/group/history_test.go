package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/agent/engine"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/histories"
	"github.com/musterhq/muster/internal/wait"
)

// stage is a real instance on a machine whose container engine does what a test says:
// containers cannot run in virtual time.
type stage struct {
	rapid.TB
	machine *Machine
	i       *Instance
	desired protocol.Desired
	named   bool // the agent knows desired

	mu      sync.Mutex
	away    bool              // the engine does not answer
	refusal error             // of each image
	trouble error             // of each start
	full    bool              // the disk
	runs    map[string]*actor // by process id, ended ones included; they outlive an agent
	ends    map[string]int    // reports of ends, by process id
	exits   []protocol.Exited
	most    int // containers of one group at a time
}

const keepLogs = 5 * time.Minute

func newStage(t rapid.TB) *stage {
	root, err := os.MkdirTemp("", "stage")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{TB: t, runs: map[string]*actor{}, ends: map[string]int{}}
	log := slog.New(slog.DiscardHandler)
	s.machine = &Machine{
		Root: root, Engine: s.engine, Images: NewImages(s.engine, log), KeepLogs: keepLogs, Log: log,
		Full: func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.full },
		Exited: func(e protocol.Exited) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ends[e.ProcessID]++
			s.exits = append(s.exits, e)
		},
		Changed: func() {},
	}
	s.desired = protocol.Desired{
		InstanceID: "i-1", FleetID: "containerfleet-1", SDKURL: "wss://muster.test",
		Groups: []protocol.Group{game("0", "one"), game("1", "one"), beside("one")},
	}
	return s
}

func game(name, definition string) protocol.Group {
	return protocol.Group{
		Name: name, Compute: "i-1/" + name, Definition: definition, AuthToken: "token-" + name,
		Containers: []protocol.Container{{Name: "server", Image: "image@" + definition, Game: true, Essential: true}},
	}
}

func beside(definition string) protocol.Group {
	return protocol.Group{
		Name: "beside", PerInstance: true, Definition: definition,
		Containers: []protocol.Container{{Name: "collector", Image: "collector", Essential: true}},
	}
}

func (s *stage) close() {
	s.i.Stop(context.Background(), 0)
	os.RemoveAll(s.machine.Root)
}

// begin runs the instance in a new agent, which knows the last desired state or not.
func (s *stage) begin(named bool) {
	d := s.desired
	if s.named = named; !named {
		d = protocol.Desired{InstanceID: d.InstanceID}
	}
	s.i = New(context.Background(), s.machine, Options{Desired: d, Unnamed: !named})
	go s.i.Run()
	s.search()
}

// search makes the agent take over what it finds, if the engine answers.
func (s *stage) search() {
	synctest.Wait()
	if e := s.engine(); e != nil {
		left, err := e.Find(context.Background())
		if err == nil {
			s.i.Adopt(left)
		}
	}
	synctest.Wait()
}

// engine returns the engine, or nil while it is away.
func (s *stage) engine() Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil
	}
	return actors{s}
}

// actors is the engine.
type actors struct{ s *stage }

func (a actors) Facts() protocol.Engine { return protocol.Engine{Name: "docker"} }

func (a actors) Address() netip.Addr { return netip.Addr{} }

func (a actors) ProcessOf(int) string { return "" }

func (a actors) Ping(ctx context.Context) error { return a.fails(ctx, 0) }

// fails returns the error of a request that takes a while.
func (a actors) fails(ctx context.Context, lasts time.Duration) error {
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
		return ctx.Err()
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if a.s.away {
		return ErrNoEngine
	}
	return nil
}

func (a actors) Pull(ctx context.Context, _ string, progress func(int)) error {
	progress(50)
	if err := a.fails(ctx, 3*time.Second); err != nil {
		return err
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.s.refusal
}

func (a actors) Start(ctx context.Context, l Launch) (Containers, error) {
	if err := a.fails(ctx, time.Second); err != nil {
		return nil, err
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if a.s.trouble != nil {
		return nil, a.s.trouble
	}
	one := &actor{s: a.s, launch: l, ended: make(chan struct{})}
	a.s.runs[l.ProcessID] = one
	living := 0
	for _, other := range a.s.runs {
		if other.launch.Labels.Group == l.Labels.Group && !other.isOver() {
			living++
		}
	}
	a.s.most = max(a.s.most, living)
	return one, nil
}

func (a actors) Find(context.Context) (all []Containers, err error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for _, one := range a.s.runs {
		if !one.removed {
			all = append(all, one)
		}
	}
	return all, nil
}

// actor is the containers of a run.
type actor struct {
	s      *stage
	launch Launch

	ended   chan struct{}
	end     End
	removed bool // the mutex of the stage guards it, and end
}

func (a *actor) isOver() bool { return isClosed(a.ended) }

// finish ends the run, unless it has ended.
func (a *actor) finish(e End) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if a.isOver() {
		return
	}
	e.Known, e.At, e.Container = true, time.Now(), a.launch.Group.Containers[0].Name
	a.end = e
	close(a.ended)
}

func (a *actor) Labels() Labels { return a.launch.Labels }
func (a *actor) Status() []protocol.ContainerStatus {
	return []protocol.ContainerStatus{{Name: a.launch.Group.Containers[0].Name, RuntimeID: "id-" + a.launch.ProcessID, Running: !a.isOver()}}
}
func (a *actor) Usage() protocol.Usage  { return protocol.Usage{CPUMillis: 10, MemoryMiB: 20} }
func (a *actor) Ended() <-chan struct{} { return a.ended }
func (a *actor) End() End               { a.s.mu.Lock(); defer a.s.mu.Unlock(); return a.end }

func (a *actor) Stop(ctx context.Context, grace time.Duration) error {
	if a.isOver() {
		return nil
	}
	if err := (actors{a.s}).fails(ctx, min(grace, time.Second)); err != nil {
		return err
	}
	a.finish(End{Code: -1, Signal: "SIGKILL"})
	return nil
}

func (a *actor) Remove(ctx context.Context) error {
	if err := (actors{a.s}).fails(ctx, 0); err != nil {
		return err
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if !a.isOver() {
		return errors.New("it runs")
	}
	a.removed = true
	return nil
}

func (a *actor) Exec(context.Context, engine.ExecOptions) (*engine.Exec, error) {
	return nil, errors.ErrUnsupported
}

func (a *actor) Used() []protocol.UsageAt { return nil }

func (a *actor) LastLines(ctx context.Context, container string, _ int, to io.Writer) error {
	return a.Output(ctx, container, to, false)
}

func (a *actor) Output(_ context.Context, container string, to io.Writer, _ bool) error {
	_, err := fmt.Fprintf(to, "%s of %s\n", container, a.launch.ProcessID)
	return err
}

// living returns the runs that have not ended, by process id.
func (s *stage) living() (all []*actor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.runs {
		if !one.isOver() {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *actor) int { return strings.Compare(a.launch.ProcessID, b.launch.ProcessID) })
	return all
}

func ids(all []*actor) (ids []string) {
	for _, a := range all {
		ids = append(ids, a.launch.ProcessID)
	}
	return ids
}

func (s *stage) set(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	synctest.Wait()
}

func (s *stage) want(change func(*protocol.Desired)) {
	s.desired.Groups = slices.Clone(s.desired.Groups)
	change(&s.desired)
	s.named = true
	s.i.Want(s.desired)
	synctest.Wait()
}

// group returns the report of a group.
func (s *stage) group(name string) protocol.GroupStatus {
	for _, g := range s.i.Report().Groups {
		if g.Name == name {
			return g
		}
	}
	return protocol.GroupStatus{}
}

// wantPhases fails the test unless the groups report phases, by name.
func (s *stage) wantPhases(instance protocol.Phase, want map[string]protocol.GroupPhase) {
	s.Helper()
	r := s.i.Report()
	got := map[string]protocol.GroupPhase{}
	for _, g := range r.Groups {
		got[g.Name] = g.Phase
	}
	if r.Phase != instance || !maps.Equal(got, want) {
		s.Fatalf("the instance is %s, its groups %v; want %s and %v", r.Phase, got, instance, want)
	}
}

// all returns the same phase of the first groups.
func all(p protocol.GroupPhase) map[string]protocol.GroupPhase {
	return map[string]protocol.GroupPhase{"0": p, "1": p, "beside": p}
}

// Histories of what Muster, containers, the engine, the disk and agents can do: after each
// step the instance breaks no rule, and once nothing else happens it reaches the desired
// state.
func TestInstance_Histories(t *testing.T) {
	histories.Check(t, history)
}

func history(t *rapid.T) {
	s := newStage(t)
	s.begin(true)
	defer s.close()
	run := func() *actor {
		if all := s.living(); len(all) > 0 {
			return rapid.SampledFrom(all).Draw(t, "run")
		}
		return nil
	}
	change := func(f func(*protocol.Group)) {
		s.want(func(d *protocol.Desired) {
			if len(d.Groups) > 0 {
				f(&d.Groups[rapid.IntRange(0, len(d.Groups)-1).Draw(t, "group")])
			}
		})
	}
	stopBy := func() time.Time {
		if wait := rapid.IntRange(-1, 60).Draw(t, "seconds"); wait >= 0 {
			return time.Now().Add(time.Duration(wait) * time.Second)
		}
		return time.Time{}
	}
	steps := map[string]func(){
		"time": func() {
			wait.Settle(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "milliseconds")) * time.Millisecond)
		},
		"version": func() {
			change(func(g *protocol.Group) { g.Definition = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "version") })
		},
		"drain group": func() { change(func(g *protocol.Group) { g.Stop, g.StopBy = protocol.Drain, stopBy() }) },
		"end group":   func() { change(func(g *protocol.Group) { g.Stop = protocol.End }) },
		"keep group":  func() { change(func(g *protocol.Group) { g.Stop, g.StopBy = protocol.Keep, time.Time{} }) },
		"fewer":       func() { s.want(func(d *protocol.Desired) { d.Groups = d.Groups[:len(d.Groups)/2] }) },
		"more": func() {
			s.want(func(d *protocol.Desired) {
				d.Groups = []protocol.Group{game("0", "one"), game("1", "two"), beside("one")}
			})
		},
		"drain": func() {
			s.want(func(d *protocol.Desired) { d.Stop, d.StopBy = protocol.Drain, stopBy() })
		},
		"exit": func() {
			if a := run(); a != nil {
				a.finish(End{Code: rapid.IntRange(0, 1).Draw(t, "code")})
				synctest.Wait()
			}
		},
		"kill": func() {
			if a := run(); a != nil {
				s.i.Kill(protocol.Kill{ProcessID: a.launch.ProcessID, Reason: "reason", Grace: time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second})
				synctest.Wait()
			}
		},
		"disk":   func() { s.set(func() { s.full = !s.full }) },
		"engine": func() { s.set(func() { s.away = !s.away }); s.search() },
		"registry": func() {
			s.set(func() {
				if s.refusal == nil {
					s.refusal = &Refused{Reason: "no such image", Lasts: true}
				} else {
					s.refusal = nil
				}
			})
		},
		"next agent": func() {
			before := s.living()
			s.i.Detach()
			for _, a := range before {
				if a.isOver() && a.launch.isGame() && s.ends[a.launch.ProcessID] == 0 {
					t.Fatalf("%s was ended by an agent that left", a.launch.ProcessID)
				}
			}
			s.begin(rapid.Bool().Draw(t, "known"))
		},
		"next agent after stop": func() {
			s.set(func() { s.away = false })
			s.search()
			s.i.Stop(context.Background(), 5*time.Second)
			if left := s.living(); len(left) > 0 {
				t.Fatalf("%v live after their agent has stopped them", ids(left))
			}
			s.begin(true)
		},
	}
	names := slices.Sorted(maps.Keys(steps))
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		steps[rapid.SampledFrom(names).Draw(t, "step")]()
		s.check()
	}
	s.set(func() { s.full, s.away, s.refusal = false, false, nil })
	s.search()
	wait.Settle(10 * time.Minute) // longer than any pause
	s.check()
	s.checkEnd()
}

// check checks what is true at any time.
func (s *stage) check() {
	s.Helper()
	var reported []string
	for _, g := range s.i.Report().Groups {
		if g.ProcessID != "" {
			reported = append(reported, g.ProcessID)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most > 1 {
		s.Fatal("a group ran twice at a time")
	}
	for id, a := range s.runs {
		switch {
		case !a.launch.isGame():
		case s.ends[id] > 1:
			s.Fatalf("the end of %s was reported %d times", id, s.ends[id])
		case s.ends[id] == 1 && slices.Contains(reported, id):
			s.Fatalf("%s is reported both as running and as ended", id)
		case a.removed && s.ends[id] == 0:
			s.Fatalf("%s is removed, and its end was not reported", id)
		case s.i.searched && s.ends[id] == 0 && !slices.Contains(reported, id) && s.named && !s.i.forgotten && !a.isOver():
			s.Fatalf("%s lives and is not reported", id)
		}
	}
}

// checkEnd checks what is true when nothing has happened for a while.
func (s *stage) checkEnd() {
	s.Helper()
	d := s.desired
	games := 0
	for _, a := range s.living() {
		if a.launch.isGame() {
			games++
		}
	}
	r := s.i.Report()
	for _, want := range d.Groups {
		g := s.group(want.Name)
		stop := want.Stop
		if d.Stop == protocol.Drain && !want.PerInstance {
			stop = max(stop, protocol.Drain) // "STOP" is after "DRAIN"
		}
		lives := g.Phase == protocol.GroupRunning || g.Phase == protocol.GroupDraining
		switch {
		case !s.named: // what was found goes on
		case r.Phase == protocol.Gone && len(s.living()) > 0:
			s.Fatalf("%v live in an instance that is gone", ids(s.living()))
		case r.Phase == protocol.Gone: // a drain of the instance cannot be taken back
		case want.PerInstance && d.Stop == protocol.Drain:
			if lives && games == 0 {
				s.Fatalf("%+v outlives the game servers", g)
			}
		case stop == protocol.End && g.Phase != protocol.GroupGone:
			s.Fatalf("%+v should have ended", g)
		case stop == protocol.Drain && lives && (!d.StopBy.IsZero() && d.Stop == protocol.Drain || !want.StopBy.IsZero()):
			s.Fatalf("%+v outlives its deadline", g)
		case stop == protocol.Keep && g.Phase != protocol.GroupRunning:
			s.Fatalf("%+v should run", g)
		}
	}
	if s.named && r.Phase != protocol.Gone && len(r.Groups) > len(d.Groups) {
		s.Fatalf("%d groups are left, %d are desired", len(r.Groups), len(d.Groups))
	}
}
