package group

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// withPort publishes a port of the machine for the first group.
func (s *stage) withPort(port int) func(*protocol.Desired) {
	return func(d *protocol.Desired) {
		d.Groups[0].Containers = slices.Clone(d.Groups[0].Containers)
		d.Groups[0].Containers[0].Ports = []protocol.Port{{Container: 7777, Host: port, Protocol: "UDP"}, {Container: 7778, Host: port + 1, Protocol: "TCP"}}
	}
}

// A group whose port another program holds is not started; Muster is told, and it starts as
// soon as it has others. It has not crashed.
func TestInstance_PortHeld(t *testing.T) {
	play(t, func(s *stage) {
		s.machine.Free = func(port int, protocol string) bool { return port != 20001 || protocol != "TCP" }
		s.withPort(20000)(&s.desired)
		s.begin(true)
		wait.Settle(time.Minute)
		g := s.group("0")
		if g.Phase != protocol.GroupFailed || !slices.Equal(g.Taken, []int{20001}) || g.Code != codeHeld || !strings.Contains(g.Cause, "another program holds port 20001") || g.ProcessID != "" {
			t.Errorf("the group is %+v", g)
		}
		if len(s.exits) != 0 || len(s.runs) != 2 {
			t.Errorf("%d ends, %d runs: %+v", len(s.exits), len(s.runs), s.exits)
		}
		s.want(s.withPort(20010))
		wait.Settle(5 * time.Second)
		if g := s.group("0"); g.Phase != protocol.GroupRunning || len(g.Taken) != 0 || s.run("0").launch.Group.Containers[0].Ports[0].Host != 20010 {
			t.Errorf("with other ports the group is %+v", g)
		}
	})
}

// A port that is free after a moment is not reported; one that is free later is used.
func TestInstance_PortHeldForAWhile(t *testing.T) {
	play(t, func(s *stage) {
		began := time.Now()
		until := 5 * time.Second
		s.machine.Free = func(port int, _ string) bool { return port != 20000 || time.Since(began) > until }
		s.withPort(20000)(&s.desired)
		s.begin(true)
		for s.group("0").Phase != protocol.GroupRunning {
			if g := s.group("0"); len(g.Taken) != 0 {
				t.Fatalf("after %s it is reported: %+v", time.Since(began), g)
			}
			wait.Settle(100 * time.Millisecond)
		}
		began, until = time.Now(), time.Minute
		s.run("0").finish(End{Code: 1})
		wait.Settle(30 * time.Second)
		if g := s.group("0"); len(g.Taken) != 1 {
			t.Errorf("after half a minute it is %+v", g)
		}
		wait.Settle(70 * time.Second)
		if g := s.group("0"); g.Phase != protocol.GroupRunning || len(g.Taken) != 0 {
			t.Errorf("when the port is free again it is %+v", g)
		}
	})
}

// What the engine says is as good as an own look; the process that it did not start has not
// crashed. A run that gets the former ports all the same ends.
func TestInstance_PortHeldForTheEngine(t *testing.T) {
	play(t, func(s *stage) {
		s.machine.Free = func(int, string) bool { return true }
		s.desired.Groups = s.desired.Groups[:1]
		s.withPort(20000)(&s.desired)
		s.trouble = errors.New("driver failed: Bind for 0.0.0.0:20000 failed: port is already allocated")
		s.begin(true)
		wait.Settle(20 * time.Second)
		if g := s.group("0"); g.Phase != protocol.GroupFailed || !slices.Equal(g.Taken, []int{20000}) {
			t.Errorf("the group is %+v", g)
		}
		if len(s.exits) != 1 || s.exits[0].Reason != codeStopped || !strings.Contains(s.exits[0].Cause, "already allocated") {
			t.Errorf("the ends are %+v", s.exits)
		}
		s.mu.Lock()
		s.trouble = nil
		s.mu.Unlock()
		for s.group("0").Phase != protocol.GroupStarting {
			wait.Settle(100 * time.Millisecond)
		}
		s.want(s.withPort(20010))
		wait.Settle(time.Minute)
		if a := s.run("0"); a.launch.Group.Containers[0].Ports[0].Host != 20010 {
			t.Errorf("it runs with port %d", a.launch.Group.Containers[0].Ports[0].Host)
		}
	})
}

func TestHeldIn(t *testing.T) {
	t.Parallel()
	d := protocol.Group{Containers: []protocol.Container{{Ports: []protocol.Port{{Host: 2000, Protocol: "UDP"}, {Host: 20000, Protocol: "UDP"}, {Host: 20000, Protocol: "TCP"}}}}}
	for text, want := range map[string][]int{
		"driver failed programming external connectivity on endpoint x: Bind for 0.0.0.0:20000 failed: port is already allocated":       {20000},
		"failed to set up container networking: failed to bind host port for 0.0.0.0:20000:172.17.0.2:7777/tcp: address already in use": {20000},
		"Error starting userland proxy: listen udp4 0.0.0.0:2000: bind: address already in use":                                         {2000},
		"rootlessport listen tcp 0.0.0.0:20000: bind: address already in use":                                                           {20000},
		"cannot listen on the UDP port: listen udp4 :2000: bind: address already in use":                                                {2000},
		"listen tcp4 0.0.0.0:30000: bind: address already in use":                                                                       nil,
		"the container name \"/x:20000\" is not valid":                                                                                  nil,
	} {
		if got := heldIn(errors.New(text), d); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestIsFree(t *testing.T) {
	t.Parallel()
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if isFree(udp.LocalAddr().(*net.UDPAddr).Port, "UDP") || isFree(tcp.Addr().(*net.TCPAddr).Port, "TCP") {
		t.Error("a port that is held is free")
	}
	port := tcp.Addr().(*net.TCPAddr).Port
	if err := tcp.Close(); err != nil || !isFree(port, "TCP") {
		t.Errorf("a port that was held is not free, %v", err)
	}
}
