package hosts_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/celltest"
)

const (
	gameImage = "registry.test:5000/games/arena:v1@sha256:" + "1111111111111111111111111111111111111111111111111111111111111111"
	logImage  = "registry.test:5000/tools/log@sha256:" + "2222222222222222222222222222222222222222222222222222222222222222"
)

// gameSpec is a group of a game server and a helper that it needs.
func gameSpec() container.Spec {
	return container.Spec{
		OS: "AMAZON_LINUX_2023", Memory: 1024, VCPU: 0.5,
		Game: &container.Container{
			Name: "game", Image: gameImage, SDK: "5.4.0", Env: []container.Variable{{Name: "MAP", Value: "harbor"}},
			Ports:     []container.PortRange{{From: 7777, To: 7778, Protocol: "UDP"}},
			DependsOn: []container.Dependency{{Container: "log", Condition: container.Healthy}},
		},
		Support: []container.Container{{
			Name: "log", Image: logImage, Memory: 128, VCPU: 0.125, Capabilities: []string{"NET_BIND_SERVICE"},
			Ports:  []container.PortRange{{From: 9000, To: 9000, Protocol: "TCP"}},
			Mounts: []container.Mount{{Instance: "/data", Access: container.ReadAndWrite}},
			Health: &container.HealthCheck{Command: []string{"CMD", "/alive"}, Interval: time.Minute, Retries: 5},
		}},
	}
}

// containers creates a container fleet with two groups of gameSpec on an instance.
func (y *yard) containers() *fleet.Fleet { return y.logging("CLOUDWATCH") }

func (y *yard) logging(destination string) *fleet.Fleet {
	y.Helper()
	_, err := y.images.Create.Do(y.Ctx, container.CreateInput{Name: "arena", Spec: gameSpec()})
	y.Must(err)
	f, err := y.Fleets.CreateContainer.Do(y.Ctx, fleet.ContainerInput{
		Role: "arn:aws:iam::000000000000:role/r", Game: "arena", InstanceType: "c5.large", Copies: 2, Logs: fleet.Logs{Destination: destination},
	})
	y.Must(err)
	return f
}

// withEngine is the facts of a machine with Docker.
func withEngine() protocol.Facts {
	f := facts
	f.Engine = &protocol.Engine{Name: "docker", Version: "28"}
	return f
}

// groupStatus reports the groups of an instance, each with a process of its own name.
func (a *agent) groupStatus(d protocol.Desired, phase protocol.GroupPhase) {
	a.Helper()
	i := protocol.Instance{InstanceID: d.InstanceID, Phase: protocol.Activating}
	for _, g := range d.Groups {
		i.Groups = append(i.Groups, protocol.GroupStatus{
			Name: g.Name, Definition: g.Definition, Phase: phase, ProcessID: "p" + g.Name, Started: time.Now(),
			Containers: []protocol.ContainerStatus{{Name: "game", RuntimeID: "id" + g.Name, Running: true}},
		})
	}
	a.send(protocol.Message{Status: &protocol.Status{Instances: []protocol.Instance{i}}})
}

// A host with an engine is sent the whole description of its groups: images by digest,
// ports of the host by slot, a token for each game server.
func TestGroups_DesiredState(t *testing.T) {
	y := open(t)
	a := y.connectAs(y.join(), withEngine())
	f := y.containers()
	m := a.await("an assignment", func(m protocol.Message) bool { return m.Assign != nil && len(m.Assign.Instances) == 1 })
	d := m.Assign.Instances[0]
	game, log := strings.Replace(gameImage, ":v1", "", 1), logImage
	if diff := cmp.Diff([]string{game, log}, m.Assign.Images); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	if len(d.Groups) != 2 || d.Build != (protocol.Build{}) || d.AuthToken != "" {
		t.Fatalf("assigned %+v", d)
	}
	g := d.Groups[1]
	if y.Computes.CheckToken(compute.Ref{FleetID: f.ID, ComputeName: g.Compute, ProcessID: "p"}, g.AuthToken, time.Now()) != nil || g.AuthToken == d.Groups[0].AuthToken {
		t.Errorf("the token of %s is not its own", g.Compute)
	}
	g.AuthToken = ""
	from := d.PortFrom + 3
	want := protocol.Group{
		Name: "1", Compute: d.InstanceID + "/1", Definition: "arn:aws:gamelift:us-east-1:000000000000:containergroupdefinition/arena:1", MemoryMiB: 1024, CPUMillis: 500,
		Containers: []protocol.Container{{
			Name: "game", Image: game, Game: true, Essential: true, Environment: []protocol.Variable{{Name: "MAP", Value: "harbor"}},
			DependsOn: []protocol.Dependency{{Container: "log", Condition: "HEALTHY"}},
			Ports:     []protocol.Port{{Container: 7777, Host: from, Protocol: "UDP"}, {Container: 7778, Host: from + 1, Protocol: "UDP"}},
		}, {
			Name: "log", Image: log, MemoryMiB: 128, CPUMillis: 125, Capabilities: []string{"NET_BIND_SERVICE"},
			Ports:  []protocol.Port{{Container: 9000, Host: from + 2, Protocol: "TCP"}},
			Mounts: []protocol.Mount{{Instance: "/data", Container: "/data", Writable: true}},
			Health: &protocol.ContainerHealth{Command: []string{"CMD", "/alive"}, Interval: time.Minute, Retries: 5},
		}},
	}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("a group (-want +got):\n%s", diff)
	}
}

// The logs of a fleet with LogDestination NONE are not collected; the ends of its game servers
// are recorded.
func TestGroups_NoLogs(t *testing.T) {
	y := open(t)
	a := y.connectAs(y.join(), withEngine())
	f := y.logging("NONE")
	d := a.assigned(1)[0]
	a.groupStatus(d, protocol.GroupRunning)
	a.send(protocol.Message{Exited: &protocol.Exited{Seq: 7, InstanceID: d.InstanceID, Group: "0", FleetID: f.ID, ProcessID: "p0", Known: true, Code: 1}})
	answer := a.await("an answer", func(m protocol.Message) bool { return m.Collect != nil || m.Ack != nil })
	if answer.Collect != nil || answer.Ack.Seq != 7 {
		t.Errorf("the end is answered with %+v", answer)
	}
	y.request(http.StatusConflict, http.MethodPut, protocol.PathLogs+d.InstanceID+"/p0", credential(a.JoinResponse), strings.NewReader("zip"), nil)
}

// Reports of groups make the fleet ACTIVE; a game server that ends is one of its group; what
// Muster ends is ended there.
func TestGroups_Reports(t *testing.T) {
	y := open(t)
	a := y.connectAs(y.join(), withEngine())
	f := y.containers()
	d := a.assigned(1)[0]
	a.groupStatus(d, protocol.GroupRunning)
	a.sync()
	for n, g := range d.Groups {
		ref := compute.Ref{FleetID: f.ID, ComputeName: g.Compute, ProcessID: "p" + g.Name}
		y.Ready(ref, &celltest.Link{}, 7778)
		if p := y.Computes.Process(y.Store.View(), ref.Key()); p.Port != d.PortFrom+3*n+1 {
			t.Errorf("players reach group %s at %d", g.Name, p.Port)
		}
	}
	if got := y.Fleets.Get(y.Store.View(), f.ID).Status; got != fleet.Active {
		t.Errorf("with ready game servers the fleet is %s", got)
	}
	i := y.Instances.Instance(y.Store.View(), d.InstanceID)
	if g := i.Group("1"); !g.Ready || len(g.Containers) != 1 || g.Containers[0].RuntimeID != "id1" {
		t.Errorf("group 1 is %+v", *g)
	}
	if c := a.exited(protocol.Exited{Seq: 2, InstanceID: d.InstanceID, Group: "0", FleetID: f.ID, ProcessID: "p0", Known: true, Code: 137, OOM: true}); c.InstanceID != d.InstanceID || c.ProcessID != "p0" {
		t.Errorf("to collect: %+v", c)
	}
	y.request(http.StatusNoContent, http.MethodPut, protocol.PathLogs+d.InstanceID+"/p0", credential(a.JoinResponse), strings.NewReader("zip"), nil)
	y.Must(y.Computes.End(y.Ctx, compute.Ref{FleetID: f.ID, ComputeName: d.Groups[1].Compute, ProcessID: "p1"}))
	kill := a.await("the order to kill", func(m protocol.Message) bool { return m.Kill != nil && m.Kill.ProcessID == "p1" }).Kill
	if kill.InstanceID != d.InstanceID || kill.Grace == 0 {
		t.Errorf("to kill: %+v", kill)
	}
	if crashed := y.Recorded(event.GameGroupCrashed); len(crashed) != 1 || crashed[0].ComputeName != d.Groups[0].Compute {
		t.Error("no event says that group 0 crashed")
	}
}

// Frames of a host with many groups fit.
func TestGroups_FrameOfManyGroups(t *testing.T) {
	var all protocol.Assign
	for n := range 5000 {
		g := protocol.Group{Name: strconv.Itoa(n), AuthToken: strings.Repeat("t", 64)}
		g.Containers = []protocol.Container{{Name: "game", Image: gameImage, Environment: slices.Repeat([]protocol.Variable{{Name: strings.Repeat("n", 30), Value: strings.Repeat("v", 60)}}, 10)}}
		all.Instances = append(all.Instances, protocol.Desired{InstanceID: strconv.Itoa(n), Groups: []protocol.Group{g}})
	}
	if _, err := protocol.Encode(protocol.Message{Assign: &all}); err != nil {
		t.Error(err)
	}
}
