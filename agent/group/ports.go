package group

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// A port that another program seems to hold is checked several times, since an engine may take a
// moment to release the ports of containers that have ended. Then it is reported to Muster, which
// assigns the group other ports; until it does, the port is checked from time to time.
const (
	looks     = 3
	lookPause = time.Second
	heldPause = 30 * time.Second
	ownPause  = 5 * time.Second // if there is nobody who gives it others
)

// codeHeld is the event code of a group whose ports another program holds.
const codeHeld = "GENERIC_EVENT"

// hostPorts returns the ports of the machine that a group has.
func hostPorts(d protocol.Group) (all []protocol.Port) {
	for _, c := range d.Containers {
		all = append(all, c.Ports...)
	}
	return all
}

// held returns the ports of the machine that a group should have and other programs hold.
func (m *Machine) held(d protocol.Group) (taken []int) {
	free := m.Free
	if free == nil {
		free = isFree
	}
	for _, p := range hostPorts(d) {
		if p.Host > 0 && !slices.Contains(taken, p.Host) && !free(p.Host, p.Protocol) {
			taken = append(taken, p.Host)
		}
	}
	return taken
}

// isFree reports whether a port of this machine can be bound on all addresses.
func isFree(port int, protocol string) bool {
	at := netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(port))
	var err error
	if strings.EqualFold(protocol, "UDP") {
		var c *net.UDPConn
		if c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at)); err == nil {
			err = c.Close()
		}
	} else {
		var l *net.TCPListener
		if l, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(at)); err == nil {
			err = l.Close()
		}
	}
	return err == nil
}

// heldIn returns the ports of a group that an engine's error says are in use.
func heldIn(err error, d protocol.Group) (taken []int) {
	text := strings.ToLower(err.Error())
	if !strings.Contains(text, "already allocated") && !strings.Contains(text, "already in use") {
		return nil
	}
	for _, p := range hostPorts(d) {
		if !slices.Contains(taken, p.Host) && names(text, p.Host) {
			taken = append(taken, p.Host)
		}
	}
	return taken
}

// names reports whether a text has the port of an address, such as 0.0.0.0:20000.
func names(text string, port int) bool {
	mark := ":" + strconv.Itoa(port)
	for {
		_, after, found := strings.Cut(text, mark)
		if !found {
			return false
		}
		if after == "" || after[0] < '0' || after[0] > '9' {
			return true
		}
		text = after
	}
}

// clash makes the group FAILED because other programs hold ports of it.
func (g *group) clash(taken []int) {
	texts := make([]string, len(taken))
	for n, port := range taken {
		texts[n] = strconv.Itoa(port)
	}
	p := problem{code: codeHeld, cause: fmt.Sprintf("container group %s cannot start: another program holds port %s of this machine", g.name, strings.Join(texts, ", "))}
	if g.clashes++; g.clashes < looks {
		g.retry = time.Now().Add(lookPause)
		p.code = ""
	} else {
		g.taken = taken
		g.retry = time.Now().Add(heldPause)
		if g.i.own != nil {
			p.cause += "; end that program, or choose another port"
			g.retry = time.Now().Add(ownPause)
		}
		g.explain(p)
	}
	g.fail(p)
}

// checkPorts ends a run that got its ports at the last moment, after Muster had chosen others
// for the group: players would be sent to those. A run of another version is ended anyway.
func (g *group) checkPorts() {
	if g.running != nil && g.ports != nil && g.killed == "" && g.labels.Definition == g.desired.Definition && !slices.Equal(g.ports, hostPorts(g.desired)) {
		g.killed = codeStopped
	}
}
