//go:build unix

package instance

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/histories"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/internal/ziptest"
)

// stage is a real instance on a machine whose processes do what a test says: programs
// cannot run in virtual time.
type stage struct {
	rapid.TB
	machine *Machine
	i       *Instance
	desired protocol.Desired
	build   protocol.Build // a good one
	known   bool           // the agent knows desired, which names the instance
	ending  bool           // the agent was told to drain or to end the instance

	mu      sync.Mutex
	key     ed25519.PublicKey
	full    bool
	living  map[string]*supervise.Run // by the folder of the slot; they outlive an agent
	started int
	ends    map[string]int // reports of ends, by process
}

var signing = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))

const keepLogs = 5 * time.Minute

func newStage(t rapid.TB) *stage {
	root, err := os.MkdirTemp("", "stage")
	if err != nil {
		t.Fatal(err)
	}
	content, build := packed(t)
	s := &stage{TB: t, build: build.Sign(signing), living: map[string]*supervise.Run{}, ends: map[string]int{}}
	s.key = signing.Public().(ed25519.PublicKey)
	log := slog.New(slog.DiscardHandler)
	s.machine = &Machine{
		Root: root, Jailer: jail.New(jail.Options{Root: root}), KeepLogs: keepLogs, Log: log,
		BuildKey: func() ed25519.PublicKey { s.mu.Lock(); defer s.mu.Unlock(); return s.key },
		Full:     func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.full },
		Usage:    func(int) protocol.Usage { return protocol.Usage{} },
		Exited:   func(e protocol.Exited) { s.mu.Lock(); defer s.mu.Unlock(); s.ends[e.ProcessID]++ },
		Changed:  func() {},
	}
	s.machine.Cache, err = install.New(install.Options{
		Dir: filepath.Join(root, "cache"), Log: log,
		Source: func(ctx context.Context, _ string, offset int64) (io.ReadCloser, int64, error) {
			select {
			case <-time.After(3 * time.Second): // the network is slow
			case <-ctx.Done():
				return nil, 0, ctx.Err()
			}
			return io.NopCloser(bytes.NewReader(content[offset:])), offset, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.desired = protocol.Desired{
		InstanceID: "i-1", FleetID: "fleet-1", Build: s.build, PortFrom: 20000, PortTo: 20099,
		Runtime: protocol.Runtime{Processes: []protocol.ServerProcess{{LaunchPath: "server.sh", Concurrent: 2}}},
	}
	return s
}

// close ends everything and removes it.
func (s *stage) close() {
	s.i.Stop(context.Background(), 0)
	os.RemoveAll(s.machine.Root)
}

// packed returns an archive with a program.
func packed(t rapid.TB) ([]byte, protocol.Build) {
	content := ziptest.Make(t, map[string]string{"server.sh": "#!/bin/sh\n"})
	sum := sha256.Sum256(content)
	return content, protocol.Build{ID: "build-1", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)), Format: "zip"}
}

// begin runs the instance in a new agent, which knows the last desired state or not.
func (s *stage) begin(named bool) {
	d := s.desired
	if !named {
		d = protocol.Desired{InstanceID: d.InstanceID, PortFrom: d.PortFrom, PortTo: d.PortTo}
	}
	s.known, s.ending = named, named && d.Stop != protocol.Keep
	s.i = New(context.Background(), s.machine, Options{Desired: d, Unnamed: !named, supervise: func(i *Instance) func(*slot) (supervisor, error) {
		return func(one *slot) (supervisor, error) {
			return &puppets{s: s, l: i.launch, slot: one, last: one.retired, done: make(chan struct{})}, nil
		}
	}})
	go s.i.Run()
	synctest.Wait()
}

// puppets is a supervisor whose process ends when a test says so, or within a second after
// it was told to.
type puppets struct {
	s    *stage
	l    *launcher
	slot *slot
	last bool
	once sync.Once
	done chan struct{} // closed when nothing runs and nothing is launched any more

	closed bool // the mutex of the stage guards it
}

func (p *puppets) folder() string { return p.l.home.slot(p.slot.n) }

func (p *puppets) run() *supervise.Run {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.living[p.folder()]
}

func (p *puppets) Start(context.Context) error {
	if former := p.run(); former != nil {
		former.Attached = true
		p.l.started(p.slot, *former)
		return nil
	}
	p.launch()
	return nil
}

func (p *puppets) launch() {
	p.s.mu.Lock()
	if p.closed || p.last {
		p.s.mu.Unlock()
		return
	}
	p.s.started++
	r := &supervise.Run{ID: fmt.Sprintf("p-%d", p.s.started), PID: p.s.started, Started: time.Now()}
	p.s.living[p.folder()] = r
	p.s.mu.Unlock()
	p.l.started(p.slot, *r)
}

// end ends the process, and another one begins unless the supervisor is closed.
func (p *puppets) end() {
	p.s.mu.Lock()
	r := p.s.living[p.folder()]
	delete(p.s.living, p.folder())
	closed := p.closed
	p.s.mu.Unlock()
	if r != nil {
		p.l.exited(p.slot, *r, supervise.Exit{Known: true, Lived: time.Minute})
	}
	if closed {
		p.once.Do(func() { close(p.done) })
		return
	}
	p.launch()
}

func (p *puppets) close() {
	p.s.mu.Lock()
	p.closed = true
	p.s.mu.Unlock()
}

func (p *puppets) Running() (supervise.Run, bool) {
	if r := p.run(); r != nil {
		return *r, true
	}
	return supervise.Run{}, false
}

func (p *puppets) Drain(ctx context.Context) error {
	p.close()
	if p.run() == nil {
		p.end()
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *puppets) Stop(ctx context.Context, grace time.Duration) error {
	p.close()
	if p.run() != nil && grace > 0 {
		select {
		case <-time.After(min(grace, time.Second)):
		case <-ctx.Done():
		}
	}
	p.end()
	return nil
}

func (p *puppets) StopRun(_ context.Context, id string, _ time.Duration) error {
	if r := p.run(); r == nil || r.ID != id {
		return supervise.ErrNotRunning
	}
	p.end()
	return nil
}

func (p *puppets) Detach() { p.close() }
func (p *puppets) Again()  {}

// supervisor returns the supervisor of a process, or nil.
func (s *stage) supervisor(processID string) *puppets {
	if one := s.i.slots.find(processID); one != nil {
		return one.supervisor.(*puppets)
	}
	return nil
}

// processes returns the ids of the living processes.
func (s *stage) processes() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.living {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

// launches returns how many processes were launched.
func (s *stage) launches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// status returns the status of the instance.
func (s *stage) status() (now Status) {
	read := make(chan struct{})
	s.i.post(func() {
		now = s.i.status
		close(read)
	})
	select {
	case <-read:
		return now
	case <-s.i.finished:
		return s.i.status
	}
}

func (s *stage) want(change func(*protocol.Desired)) {
	change(&s.desired)
	s.known, s.ending = true, s.ending || s.desired.Stop != protocol.Keep
	s.i.Want(s.desired)
	synctest.Wait()
}

// wantPhase fails the test unless the instance reports a phase.
func (s *stage) wantPhase(p protocol.Phase) {
	s.Helper()
	if r := s.i.Report(); r.Phase != p {
		s.Fatalf("the instance reports %+v, want %s", r, p)
	}
}

// Histories of what Muster, processes, the disk and agents can do: after each step the
// instance breaks no rule, and once nothing else happens it reaches the desired state.
func TestInstance_Histories(t *testing.T) {
	histories.Check(t, history)
}

func history(t *rapid.T) {
	s := newStage(t)
	s.begin(true)
	defer s.close()
	process := func() string {
		if all := s.processes(); len(all) > 0 {
			return rapid.SampledFrom(all).Draw(t, "process")
		}
		return ""
	}
	steps := map[string]func(){
		"time": func() {
			wait.Settle(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "milliseconds")) * time.Millisecond)
		},
		"scale": func() {
			s.want(func(d *protocol.Desired) {
				d.Runtime.Processes = []protocol.ServerProcess{
					{LaunchPath: "server.sh", Concurrent: rapid.IntRange(0, 3).Draw(t, "processes")},
					{LaunchPath: "server.sh", Parameters: rapid.SampledFrom([]string{"-a", "-b"}).Draw(t, "parameters"), Concurrent: rapid.IntRange(0, 2).Draw(t, "others")},
				}
			})
		},
		"unsigned": func() { s.want(func(d *protocol.Desired) { d.Build.Signature = "" }) },
		"signed":   func() { s.want(func(d *protocol.Desired) { d.Build = s.build }) },
		"drain": func() {
			s.want(func(d *protocol.Desired) {
				d.Stop, d.StopBy = protocol.Drain, time.Time{}
				if wait := rapid.IntRange(-1, 60).Draw(t, "seconds"); wait >= 0 {
					d.StopBy = time.Now().Add(time.Duration(wait) * time.Second)
				}
			})
		},
		"end":  func() { s.want(func(d *protocol.Desired) { d.Stop = protocol.End }) },
		"keep": func() { s.want(func(d *protocol.Desired) { d.Stop = protocol.Keep }) },
		"exit": func() {
			if g := s.supervisor(process()); g != nil {
				g.end()
				synctest.Wait()
			}
		},
		"kill": func() {
			s.i.Kill(protocol.Kill{ProcessID: process(), Reason: "reason", Grace: time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second})
			synctest.Wait()
		},
		"disk": func() { s.mu.Lock(); defer s.mu.Unlock(); s.full = !s.full },
		"next agent": func() {
			before, ending := s.processes(), s.ending // one that was ending may begin again: a drain was taken back
			s.i.Detach()
			s.begin(rapid.Bool().Draw(t, "known"))
			after := s.processes() // includes what it starts immediately: the disk may have been full until now
			lost := slices.DeleteFunc(slices.Clone(before), func(id string) bool { return slices.Contains(after, id) })
			if !ending && !s.ending && len(lost) > 0 {
				t.Fatalf("the next agent has %v and has lost %v", after, lost)
			}
			if most := max(len(before), total(s.desired.Runtime)); len(after) > most {
				t.Fatalf("the next agent runs %v, more than %d", after, most)
			}
		},
		"next agent after stop": func() {
			s.i.Stop(context.Background(), 5*time.Second)
			if left := s.processes(); len(left) > 0 {
				t.Fatalf("%v live after their agent has stopped them", left)
			}
			s.begin(true)
		},
	}
	names := slices.Sorted(maps.Keys(steps))
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		i, ends, launches := s.i, slices.Contains([]Status{Draining, Stopping, Gone}, s.status()), s.launches()
		steps[rapid.SampledFrom(names).Draw(t, "step")]()
		if ends && i == s.i && s.launches() != launches {
			t.Fatal("a process was launched while the instance should end")
		}
		s.check()
	}
	s.mu.Lock()
	s.full = false
	s.mu.Unlock()
	wait.Settle(90 * time.Second)
	for _, one := range s.i.slots.all() {
		if one.retired { // its process keeps running, and counts, until it ends
			one.supervisor.(*puppets).end()
		}
	}
	wait.Settle(90 * time.Second)
	s.check()
	s.checkEnd()
}

// check checks what is true at any time.
func (s *stage) check() {
	s.Helper()
	living, r := s.processes(), s.i.Report()
	var reported []string
	for _, p := range r.Processes {
		reported = append(reported, p.ProcessID)
	}
	if !slices.Equal(living, reported) {
		s.Fatalf("%v live, reported are %v", living, reported)
	}
	if s.status() == Gone && len(living) > 0 {
		s.Fatalf("%v live in an instance that is gone", living)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 1; n <= s.started; n++ {
		id, want := fmt.Sprintf("p-%d", n), 1
		if slices.Contains(living, id) {
			want = 0
		}
		if s.ends[id] != want {
			s.Fatalf("the end of %s was reported %d times, want %d", id, s.ends[id], want)
		}
	}
}

// checkEnd checks what is true when nothing has happened for a while.
func (s *stage) checkEnd() {
	s.Helper()
	living, d := len(s.processes()), s.desired
	installable := s.i.Home.built() == d.Build.SHA256 || d.Build.Signature != ""
	switch {
	case s.ending && (d.Stop != protocol.Drain || living == 0 || !d.StopBy.IsZero()):
		if d.Stop == protocol.Keep { // a drain cannot be taken back
			return
		}
		s.wantPhase(protocol.Gone)
	case s.ending:
		s.wantPhase(protocol.Draining)
	case !s.known:
		if now := s.status(); now != Unnamed {
			s.Fatalf("the status is %q although no desired state names the instance", now)
		}
	case !installable:
		s.wantPhase(protocol.Failed)
	default:
		if s.wantPhase(protocol.Activating); living != total(d.Runtime) {
			s.Fatalf("%d processes live, %+v is desired", living, d.Runtime)
		}
	}
}

// play plays one scene on a stage.
func play(t *testing.T, scene func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		defer s.close()
		scene(s)
	})
}

// The folder of an instance outlives it, so that logs can be fetched; then nothing is
// left.
func TestInstance_FolderOutlivesIt(t *testing.T) {
	play(t, func(s *stage) {
		s.begin(true)
		wait.Settle(10 * time.Second)
		s.wantPhase(protocol.Activating)
		s.want(func(d *protocol.Desired) { d.Stop = protocol.End })
		s.wantPhase(protocol.Gone)
		wait.Settle(time.Hour)
		if s.i.Over() {
			t.Error("it is over although Muster names it")
		}
		s.i.Forget()
		wait.Settle(time.Second)
		if _, err := os.Stat(s.i.Home.dir); err == nil || !s.i.Over() {
			t.Errorf("over: %v, its folder: %v", s.i.Over(), err)
		}

		s.desired.Stop = protocol.Keep
		s.begin(true)
		wait.Settle(10 * time.Second)
		s.i.Forget()
		wait.Settle(keepLogs - time.Second)
		if _, err := os.Stat(s.i.Home.dir); err != nil || s.i.Over() {
			t.Errorf("over: %v, its folder: %v", s.i.Over(), err)
		}
		wait.Settle(2 * time.Second)
		if _, err := os.Stat(s.i.Home.dir); err == nil || !s.i.Over() {
			t.Errorf("over: %v, its folder: %v", s.i.Over(), err)
		}
	})
}

// Processes that do not end in a drain are told to, ten seconds before its deadline.
func TestInstance_DrainsUntilTheDeadline(t *testing.T) {
	play(t, func(s *stage) {
		s.begin(true)
		wait.Settle(10 * time.Second)
		s.want(func(d *protocol.Desired) { d.Stop, d.StopBy = protocol.Drain, time.Now().Add(time.Minute) })
		wait.Settle(49 * time.Second)
		s.wantPhase(protocol.Draining)
		if n := len(s.processes()); n != 2 {
			t.Errorf("%d processes live before the deadline", n)
		}
		wait.Settle(3 * time.Second)
		s.wantPhase(protocol.Gone)
	})
}

// An instance whose processes cannot be taken over fails and says why, whatever is
// desired, until it should end.
func TestInstance_Broken(t *testing.T) {
	play(t, func(s *stage) {
		slot := filepath.Join(Folders(s.machine.Root), "i-1", "slots", "0")
		if err := os.MkdirAll(slot, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(slot, "slot.json"), []byte("no JSON"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.begin(true)
		s.want(func(d *protocol.Desired) { d.Runtime.Processes[0].Concurrent = 1 })
		wait.Settle(time.Minute)
		s.wantPhase(protocol.Failed)
		if r := s.i.Report(); r.Code != codeActivation || !strings.Contains(r.Cause, "cannot be taken over") {
			t.Errorf("it reports %+v", r)
		}
		s.i.Forget()
		synctest.Wait()
		s.wantPhase(protocol.Gone)
	})
}

// A crash loop is reported while its processes crash, and no longer once one has run
// for a minute.
func TestInstance_HealsCrashLoop(t *testing.T) {
	play(t, func(s *stage) {
		s.desired.Runtime.Processes[0].Concurrent = 1
		s.begin(true)
		wait.Settle(10 * time.Second)
		g := s.supervisor(s.processes()[0])
		g.l.crashLoops(g.slot, 8)
		if r := s.i.Report(); r.Code != codeCrashed || !strings.Contains(r.Cause, "crashed 8 times") {
			t.Errorf("it reports %+v", r)
		}
		g.end()
		wait.Settle(healed + time.Second)
		if r := s.i.Report(); r.Code != "" || r.Phase != protocol.Activating {
			t.Errorf("it reports %+v", r)
		}
	})
}
