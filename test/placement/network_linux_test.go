package placement

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/test/node"
)

// network is sites with network namespaces of their own, which reach each other only through a
// router in this process: it delays packets, loses some, and loses all where a path is cut.
// The namespaces have no names, and the interfaces are TUN devices of this process: the
// kernel removes them when the processes in them have ended, however that happens.
type network struct {
	t      *testing.T
	prefix netip.Prefix

	mu    sync.Mutex
	sites []*site
	paths map[[2]*site]*path
	traps []*blackout
	holds []*hold
}

// site is a place of the network. The first one is this process itself.
type site struct {
	*network
	name    string
	address netip.Addr
	space   *os.File // its network namespace; nil: that of this process
	tun     *os.File
}

// path is one direction between two sites.
type path struct {
	delay time.Duration
	loss  float64 // share of packets
	cut   bool
	queue chan packet
}

type packet struct {
	bytes []byte
	due   time.Time
}

// blackout is a request at which the network fails, once.
type blackout struct {
	from, to  *site
	operation string
	carried   bool // the request arrives, and its answer is lost; otherwise nothing arrives
	sprung    chan struct{}
}

// hold loses requests for an operation. The kernel of their sender sends them again and again, and so
// they arrive after its end, even if the sender itself has given up since.
type hold struct {
	from, to  *site
	operation string
}

// newNetwork returns a network with this process as its only site. It skips the test where there
// can be none.
func newNetwork(t *testing.T) *network {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("the sites are network namespaces, and only root can make those: run this as root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip is missing (Debian package iproute2): it sets the addresses of network namespaces")
	}
	n := &network{t: t, prefix: unusedNetwork(t), paths: map[[2]*site]*path{}}
	n.site(fmt.Sprintf("mu%x", os.Getpid()), nil)
	return n
}

// unusedNetwork returns a private network that this machine does not use.
func unusedNetwork(t *testing.T) netip.Prefix {
	t.Helper()
	known, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for n := range 256 {
		at := netip.AddrFrom4([4]byte{10, 232, byte(os.Getpid() + n), 0})
		if !slices.ContainsFunc(known, func(a net.Addr) bool { return a.(*net.IPNet).Contains(at.AsSlice()) }) {
			return netip.PrefixFrom(at, 24)
		}
	}
	t.Skip("all networks of 10.232.0.0/16 are in use on this machine")
	return netip.Prefix{}
}

// add adds a site in a namespace of its own.
func (n *network) add(name string) *site {
	n.t.Helper()
	var space *os.File
	err := locked(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		var err error
		space, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		n.t.Skipf("this system makes no network namespace: %v", err)
	}
	n.t.Cleanup(func() { space.Close() })
	return n.site(name, space)
}

// site adds a site with the next address.
func (n *network) site(name string, space *os.File) *site {
	n.t.Helper()
	at := n.prefix.Addr().As4()
	at[3] = byte(len(n.sites) + 1)
	s := &site{network: n, name: name, address: netip.AddrFrom4(at), space: space}
	device := "wan0"
	if space == nil {
		device = name
	}
	err := s.do(func() (err error) {
		if s.tun, err = openTUN(device); err != nil {
			return err
		}
		for _, args := range [][]string{
			{"link", "set", "lo", "up"}, {"addr", "add", s.address.String() + "/24", "dev", device}, {"link", "set", device, "up", "mtu", "1400"},
		} {
			if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
				return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
			}
		}
		return nil
	})
	if err != nil {
		n.t.Skipf("this system makes no TUN device with an address: %v", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, other := range n.sites {
		for _, pair := range [][2]*site{{s, other}, {other, s}} {
			p := &path{queue: make(chan packet, 1<<12)}
			n.paths[pair] = p
			go p.deliver(pair[1].tun)
		}
	}
	n.sites = append(n.sites, s)
	go s.read()
	n.t.Cleanup(func() { s.tun.Close() })
	return s
}

// locked runs a function on a thread that ends with it, since the function changes the thread.
func locked(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// do runs a function in the namespace of the site. What it starts stays there.
func (s *site) do(f func() error) error {
	return locked(func() error {
		if s.space != nil {
			if err := unix.Setns(int(s.space.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
		}
		return f()
	})
}

// openTUN creates an interface whose packets are those of the returned file.
func openTUN(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("create interface %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil
}

// start starts a Muster at the site, which ends with the test.
func (s *site) start(t *testing.T, args ...string) *node.Process {
	t.Helper()
	path := node.Path(t)
	var p *node.Process
	err := s.do(func() (err error) {
		p, err = node.Run(path, append([]string{"local", "--demo=false"}, args...)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", s.name, p.Log())
		}
	})
	return p
}

// between changes both directions between two sites.
func (n *network) between(a, b *site, change func(*path)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n.paths[[2]*site{a, b}])
	change(n.paths[[2]*site{b, a}])
}

// at makes the network between two sites fail at the next request for an operation.
func (n *network) at(from, to *site, operation string, carried bool) *blackout {
	b := &blackout{from, to, operation, carried, make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.traps = append(n.traps, b)
	return b
}

// read routes what a site sends.
func (s *site) read() {
	buffer := make([]byte, 1<<16)
	for {
		size, err := s.tun.Read(buffer)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil || size < 20 || buffer[0]>>4 != 4 { // IPv4 only
			continue
		}
		s.route(s, netip.AddrFrom4([4]byte(buffer[16:20])), bytes.Clone(buffer[:size]))
	}
}

func (n *network) route(from *site, address netip.Addr, data []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.sites, func(s *site) bool { return s.address == address })
	if i < 0 || n.sites[i] == from {
		return
	}
	to := n.sites[i]
	p := n.paths[[2]*site{from, to}]
	if p.cut || n.springs(from, to, data) || n.held(from, to, data) || rand.Float64() < p.loss {
		return
	}
	select {
	case p.queue <- packet{data, time.Now().Add(p.delay)}:
	default: // a full queue loses packets, as routers do
	}
}

// springs cuts the network if a packet has a request for which there is a blackout, and reports
// whether the packet is lost. n.mu must be held.
func (n *network) springs(from, to *site, data []byte) bool {
	for i, b := range n.traps {
		if b.from != from || b.to != to || !asks(data, b.operation) {
			continue
		}
		n.traps = slices.Delete(n.traps, i, i+1)
		n.paths[[2]*site{to, from}].cut = true
		n.paths[[2]*site{from, to}].cut = !b.carried
		close(b.sprung)
		return !b.carried
	}
	return false
}

// hold begins to hold requests for an operation between two sites back.
func (n *network) hold(from, to *site, operation string) *hold {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := &hold{from: from, to: to, operation: operation}
	n.holds = append(n.holds, h)
	return h
}

// release ends a hold.
func (n *network) release(h *hold) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.holds = slices.DeleteFunc(n.holds, func(other *hold) bool { return other == h })
}

// held reports whether a packet has a request that is held back. n.mu must be held.
func (n *network) held(from, to *site, data []byte) bool {
	return slices.ContainsFunc(n.holds, func(h *hold) bool { return h.from == from && h.to == to && asks(data, h.operation) })
}

// asks reports whether a packet has the beginning of a request for an operation.
func asks(data []byte, operation string) bool {
	return bytes.Contains(data, []byte("/operation/"+operation+" HTTP/1.1"))
}

// deliver delivers packets in their order, until the process ends.
func (p *path) deliver(to *os.File) {
	for next := range p.queue {
		time.Sleep(time.Until(next.due)) // the distance
		if _, err := to.Write(next.bytes); errors.Is(err, os.ErrClosed) {
			return
		}
	}
}
