//go:build unix

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/agent/engine"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// shed is a container engine whose containers outlive agents, and do what a test says. Test
// package test/containers has real ones.
type shed struct {
	mu    sync.Mutex
	away  bool
	boxes map[string]*box // by process id
	pulls map[string]int
}

func newShed() *shed { return &shed{boxes: map[string]*box{}, pulls: map[string]int{}} }

// box is the containers of a group.
type box struct {
	s     *shed
	l     group.Launch
	ended chan struct{}
	end   group.End
	over  bool
}

var errAway = errors.New("the engine does not answer")

func (s *shed) open(ctx context.Context) (group.Engine, error) {
	if err := s.Ping(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *shed) set(away bool) { s.mu.Lock(); defer s.mu.Unlock(); s.away = away }

func (s *shed) Facts() protocol.Engine {
	return protocol.Engine{Name: "docker", Version: "20.10"}
}

func (s *shed) Ping(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errAway
	}
	return nil
}

func (s *shed) Address() netip.Addr { return netip.MustParseAddr("127.0.0.1") }

func (s *shed) ProcessOf(int) string { return "" }

func (s *shed) Pull(_ context.Context, image string, _ func(int)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulls[image]++
	return nil
}

func (s *shed) Start(_ context.Context, l group.Launch) (group.Containers, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &box{s: s, l: l, ended: make(chan struct{})}
	s.boxes[l.ProcessID] = b
	return b, nil
}

func (s *shed) Find(context.Context) (all []group.Containers, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boxes {
		all = append(all, b)
	}
	return all, nil
}

// box returns the containers of a process.
func (s *shed) box(processID string) *box {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boxes[processID]
}

func (b *box) finish(e group.End) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if !b.over {
		b.over, b.end = true, e
		b.end.Known, b.end.At = true, time.Now()
		close(b.ended)
	}
}

func (b *box) Labels() group.Labels { return b.l.Labels }
func (b *box) Status() []protocol.ContainerStatus {
	return []protocol.ContainerStatus{{Name: "server", RuntimeID: "id", IPAddress: "172.17.0.2", Running: true}}
}
func (b *box) Usage() protocol.Usage  { return protocol.Usage{MemoryMiB: 7} }
func (b *box) Ended() <-chan struct{} { return b.ended }
func (b *box) End() group.End         { b.s.mu.Lock(); defer b.s.mu.Unlock(); return b.end }
func (b *box) Stop(context.Context, time.Duration) error {
	b.finish(group.End{Code: -1, Signal: "SIGKILL"})
	return nil
}

func (b *box) Remove(context.Context) error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	delete(b.s.boxes, b.l.ProcessID)
	return nil
}

func (b *box) Exec(context.Context, engine.ExecOptions) (*engine.Exec, error) {
	return nil, errors.ErrUnsupported
}

func (b *box) Used() []protocol.UsageAt { return nil }

func (b *box) LastLines(ctx context.Context, container string, _ int, to io.Writer) error {
	return b.Output(ctx, container, to, false)
}

func (b *box) Output(_ context.Context, container string, to io.Writer, _ bool) error {
	_, err := fmt.Fprintf(to, "output of %s\n", container)
	return err
}

// wantGroups returns the desired state of an instance with game servers in containers.
func wantGroups(id string, n int) protocol.Desired {
	d := protocol.Desired{InstanceID: id, FleetID: "containerfleet-1", SDKURL: "ws://127.0.0.1:1/", Region: "here", PortFrom: 20000, PortTo: 20009}
	for k := range n {
		d.Groups = append(d.Groups, protocol.Group{
			Name: itoa(k), Compute: id + "/" + itoa(k), Definition: "arn:v1", AuthToken: "token",
			Containers: []protocol.Container{{Name: "server", Image: "image", Game: true, Essential: true}},
		})
	}
	return d
}

// groups waits until groups of an instance run, and returns their process ids.
func (m *muster) groups(id string, n int) (ids []string) {
	m.Helper()
	m.Until("the container groups run", func() bool {
		ids = nil
		for _, g := range m.Instance(id).Groups {
			if g.Phase == protocol.GroupRunning && g.ProcessID != "" {
				ids = append(ids, g.ProcessID)
			}
		}
		return len(ids) == n
	})
	return ids
}

// environment returns the variables of a game server's container.
func (b *box) environment() map[string]string {
	env := map[string]string{}
	for _, v := range b.l.Group.Containers[0].Environment {
		env[v.Name] = v.Value
	}
	return env
}

// Groups outlive their agent: the next one finds them, with their tokens at the relay and
// their keys at the discovery endpoint. What crashes is reported and its logs are sent.
func TestContainers(t *testing.T) {
	t.Parallel()
	m, s, home := play(t), newShed(), root(t)
	change := func(o *Options) { o.openEngine, o.KeepRunning = s.open, true }
	a := m.start(home, change)
	m.Assign(wantGroups("i-1", 2))
	before := m.groups("i-1", 2)
	env := s.box(before[0]).environment()
	if url := env["GAMELIFT_SDK_WEBSOCKET_URL"]; !strings.HasPrefix(url, "ws://127.0.0.1:") || url == "ws://127.0.0.1:1/" || env["GAMELIFT_SDK_AUTH_TOKEN"] == "token" {
		t.Errorf("a game server that cannot reach Muster's loopback address is told %v", env)
	}
	a.stop()
	m.start(home, change)
	m.Until("the next agent is here", func() bool { return m.Hellos == 2 })
	after := m.groups("i-1", 2)
	if strings.Join(after, " ") != strings.Join(before, " ") {
		t.Fatalf("%v run, before the agent's end these did: %v", after, before)
	}
	if again := s.box(after[0]).environment(); again["GAMELIFT_SDK_WEBSOCKET_URL"] != env["GAMELIFT_SDK_WEBSOCKET_URL"] {
		t.Error("the next agent's relay is elsewhere")
	}
	s.box(after[0]).finish(group.End{Container: "server", Code: 3, Tail: []string{"no map"}})
	m.Until("the crash is reported", func() bool { return len(m.Exits) == 1 })
	m.Mu.Lock()
	e := m.Exits[0]
	m.Mu.Unlock()
	if e.Group != "0" || e.ProcessID != after[0] || e.Code != 3 || e.InstanceID != "i-1" || !strings.Contains(e.Cause, "no map") {
		t.Errorf("the crash is reported as %+v", e)
	}
	m.Send(protocol.Message{Collect: &protocol.Collect{InstanceID: "i-1", ProcessID: after[0]}})
	m.Until("the logs are here", func() bool { return len(m.stored) == 1 })
	m.Mu.Lock()
	done, archive := m.stored[0], m.logs[after[0]]
	m.Mu.Unlock()
	if done.Problem != "" || len(archive) == 0 {
		t.Errorf("the logs: %+v, %d bytes", done, len(archive))
	}
	next := m.groups("i-1", 2)
	m.tails(t, next[0])
	m.Send(protocol.Message{Kill: &protocol.Kill{InstanceID: "i-1", ProcessID: next[1], Reason: "SERVER_PROCESS_TERMINATED_UNHEALTHY"}})
	m.Until("the kill is reported", func() bool {
		return len(m.Exits) == 2 && m.Exits[1].ProcessID == next[1] && m.Exits[1].Reason == "SERVER_PROCESS_TERMINATED_UNHEALTHY"
	})
	m.Assign()
	m.Until("the instance is gone", func() bool { return m.Instance("i-1").Phase == protocol.Gone })
	if left, _ := s.Find(t.Context()); len(left) > 0 {
		t.Errorf("%d groups are left", len(left))
	}
}

// tails checks that the agent answers with the end of what a running game server's container has
// written, and with why there is none.
func (m *muster) tails(t *testing.T, id string) {
	t.Helper()
	for _, c := range []struct {
		want    protocol.Tail
		problem string
		text    string
		streams int
	}{
		{protocol.Tail{ID: "1", InstanceID: "i-1", ProcessID: id, Most: 100}, "", "output of server\n", 1},
		{protocol.Tail{ID: "2", InstanceID: "i-1", ProcessID: id, Most: 7}, "", "server\n", 1},
		{protocol.Tail{ID: "3", InstanceID: "i-1", ProcessID: id}, "", "", 0},
		{protocol.Tail{ID: "4", InstanceID: "i-1", ProcessID: "another", Most: 7}, "the process does not run on this host any more", "", 0},
		{protocol.Tail{ID: "5", InstanceID: "i-2", ProcessID: id, Most: 7}, "the instance is not on this host any more", "", 0},
	} {
		m.Send(protocol.Message{Tail: &c.want})
		var got protocol.Tailed
		m.Until("the answer to "+c.want.ID, func() bool {
			at := slices.IndexFunc(m.tailed, func(t protocol.Tailed) bool { return t.ID == c.want.ID })
			if at >= 0 {
				got = m.tailed[at]
			}
			return at >= 0
		})
		if got.Problem != c.problem || len(got.Streams) != c.streams || c.streams > 0 && (string(got.Streams[0].Text) != c.text || got.Streams[0].Name != "output") {
			t.Errorf("%+v is answered with %+v", c.want, got)
		}
	}
}

// An engine that comes later is reported, and used: also to fetch images before an instance needs
// them.
func TestContainers_EngineComesLater(t *testing.T) {
	t.Parallel()
	m, s, home := play(t), newShed(), root(t)
	s.set(true)
	a := m.start(home, func(o *Options) { o.openEngine = s.open })
	m.Assign(wantGroups("i-1", 1))
	m.Until("the instance waits", func() bool {
		i := m.Instance("i-1")
		return len(i.Groups) == 1 && strings.Contains(i.Groups[0].Cause, "Docker or Podman")
	})
	if a.engines.of() != nil {
		t.Error("an engine is reported that does not answer")
	}
	s.set(false)
	m.groups("i-1", 1)
	m.Until("the engine is reported", func() bool { return m.Hellos > 1 })
	if e := a.engines.of(); e == nil || e.Name != "docker" {
		t.Errorf("the engine is reported as %+v", e)
	}
	m.Desire(protocol.Assign{Instances: []protocol.Desired{wantGroups("i-1", 1)}, Images: []string{"one", "two"}})
	wait.For(t, "the images are fetched", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.pulls["one"] == 0 || s.pulls["two"] == 0 {
			return fmt.Errorf("fetched are %v", s.pulls)
		}
		return nil
	})
	a.stop()
	s.set(true)
	b := m.start(home, func(o *Options) { o.openEngine = s.open })
	if e := b.engines.of(); e == nil || e.Version != "20.10" {
		t.Errorf("an agent that starts before its engine reports %+v", e)
	}
}

// Cleanup ends the groups that an agent left, also those whose folder is lost.
func TestContainers_Cleanup(t *testing.T) {
	t.Parallel()
	m, s, home := play(t), newShed(), root(t)
	a := m.start(home, func(o *Options) { o.openEngine, o.KeepRunning = s.open, true })
	m.Assign(wantGroups("i-1", 1), wantGroups("i-2", 1))
	m.groups("i-1", 1)
	m.groups("i-2", 1)
	a.stop()
	if err := os.RemoveAll(filepath.Join(home, "instances", "i-2")); err != nil {
		t.Fatal(err)
	}
	o := a.opts
	o.Server, o.Token = "", ""
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if ended, err := c.Cleanup(t.Context()); err != nil || ended != 1 {
		t.Errorf("%d, %v", ended, err)
	}
	if left, _ := s.Find(t.Context()); len(left) > 0 {
		t.Errorf("%d groups are left", len(left))
	}
	if _, err := os.Stat(filepath.Join(home, "instances", "i-1")); !os.IsNotExist(err) {
		left, _ := filepath.Glob(filepath.Join(home, "instances", "i-1", "*", "*"))
		t.Errorf("a folder is left: %v, %v", err, left)
	}
}
