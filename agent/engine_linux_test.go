package agent

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/musterhq/muster/agent/engine"
	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// Groups run on real engines: they are reached at their ports, outlive the agent and the
// engine, are replaced when they crash, are told to end before a drain's deadline, and
// leave their output.
func TestContainers_Real(t *testing.T) {
	t.Run("docker", func(t *testing.T) { tryEngine(t, enginetest.Docker(t, "--live-restore")) })
	t.Run("podman", func(t *testing.T) { tryEngine(t, enginetest.PodmanOnHost(t)) })
}

// echoed sends a datagram to a port of this machine until it comes back.
func echoed(t *testing.T, port int) {
	t.Helper()
	conn, err := net.Dial("udp", net.JoinHostPort("127.0.0.1", itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, 16)
	wait.For(t, fmt.Sprintf("port %d answers", port), func() error {
		fmt.Fprint(conn, "hello")
		conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		n, err := conn.Read(answer)
		if err == nil && string(answer[:n]) != "hello" {
			err = fmt.Errorf("the answer is %q", answer[:n])
		}
		return err
	})
}

// puppets returns the desired state of an instance with n game servers of an image, each
// with a port, and a container beside them.
func puppets(t *testing.T, image string, n int) protocol.Desired {
	d := protocol.Desired{InstanceID: "i-1", FleetID: "containerfleet-1", SDKURL: "wss://muster.test", Region: "here"}
	for k := range n {
		port := freePorts(t)
		d.Groups = append(d.Groups, protocol.Group{
			Name: itoa(k), Compute: "i-1/" + itoa(k), Definition: "arn:v1", AuthToken: "token", MemoryMiB: 64, CPUMillis: 500,
			Containers: []protocol.Container{{
				Name: "server", Image: image, Game: true, Essential: true, Ports: []protocol.Port{{Container: port, Host: port, Protocol: "UDP"}},
				Environment: []protocol.Variable{{Name: "PUPPET_UDP", Value: itoa(port)}, {Name: "PUPPET_PRINT", Value: "server is open"}},
			}},
		})
	}
	d.Groups = append(d.Groups, protocol.Group{
		Name: "beside", PerInstance: true, Definition: "arn:v1", MemoryMiB: 32, CPUMillis: 100,
		Containers: []protocol.Container{{Name: "collector", Image: image, Essential: true}},
	})
	return d
}

func tryEngine(t *testing.T, daemon *enginetest.Daemon) {
	m, home := play(t), root(t)
	image := enginetest.NewRegistry(t).Push(t, "puppet", enginetest.Puppet(t))
	change := func(o *Options) {
		o.KeepRunning = true
		o.openEngine = func(ctx context.Context) (group.Engine, error) {
			e, err := engine.Open(ctx, engine.Options{Host: daemon.Host, Network: daemon.Network, Owner: engine.Owner{HostID: home}})
			if err != nil {
				return nil, err
			}
			return newContainerEngine(ctx, e, slog.New(slog.DiscardHandler))
		}
	}
	a := m.start(home, change)
	d := puppets(t, image, 2)
	port := d.Groups[0].Containers[0].Ports[0].Host
	m.assign(d)
	before := m.groups("i-1", 2)
	echoed(t, port)
	m.until("the container beside them runs", func() bool {
		return slices.ContainsFunc(m.instance("i-1").Groups, func(g protocol.GroupStatus) bool {
			return g.Name == "beside" && g.Phase == protocol.GroupRunning && len(g.Containers) == 1 && g.Containers[0].Running
		})
	})

	a.stop()
	echoed(t, port)
	m.start(home, change)
	m.until("the next agent is here", func() bool { return m.hellos == 2 })
	if after := m.groups("i-1", 2); !slices.Equal(after, before) {
		t.Fatalf("%v run, before the agent's end these did: %v", after, before)
	}

	daemon.Kill()
	daemon.Start()
	echoed(t, port)
	if after := m.groups("i-1", 2); !slices.Equal(after, before) {
		t.Fatalf("%v run, before the engine's end these did: %v", after, before)
	}

	m.mu.Lock()
	id := m.instance("i-1").Groups[0].Containers[0].RuntimeID
	m.mu.Unlock()
	if _, err := daemon.Client().ContainerKill(t.Context(), id, client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
		t.Fatal(err)
	}
	m.until("the crash is reported", func() bool { return len(m.exits) == 1 })
	m.mu.Lock()
	e := m.exits[0]
	m.mu.Unlock()
	if e.Group != "0" || e.Signal != "SIGKILL" || !e.Known || e.Reason != "" {
		t.Errorf("the crash is reported as %+v", e)
	}
	m.send(protocol.Message{Collect: &protocol.Collect{InstanceID: "i-1", ProcessID: e.ProcessID}})
	m.until("the logs are here", func() bool { return m.logs[e.ProcessID] != nil })
	m.mu.Lock()
	archive := m.logs[e.ProcessID]
	m.mu.Unlock()
	if text := unpacked(t, archive, e.ProcessID+".server.log"); !strings.Contains(text, "server is open") {
		t.Errorf("the output is %q", text)
	}
	m.until("it is replaced", func() bool {
		g := m.instance("i-1").Groups[0]
		return g.Phase == protocol.GroupRunning && g.ProcessID != e.ProcessID
	})
	echoed(t, port)

	d.Stop, d.StopBy = protocol.Drain, time.Now().Add(softStop+time.Second)
	m.assign(d)
	m.until("the instance is gone", func() bool { return m.instance("i-1").Phase == protocol.Gone })
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.exits[1:] {
		if e.Code != 0 || e.Reason != "SERVER_PROCESS_FORCE_TERMINATED" { // the puppet ends on SIGTERM
			t.Errorf("in the drain ended %+v", e)
		}
	}
	left, err := daemon.Client().ContainerList(t.Context(), client.ContainerListOptions{All: true})
	if err != nil || len(left.Items) > 0 || len(m.exits) != 3 {
		t.Errorf("%d containers are left, %d ends were reported, %v", len(left.Items), len(m.exits), err)
	}
}

// unpacked returns the content of a file in an archive.
func unpacked(t *testing.T, archive []byte, name string) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	in, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
