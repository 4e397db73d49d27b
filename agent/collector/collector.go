// Package collector is the metrics collector and crash reporter that AWS's Server SDKs
// expect on their own machine: it receives StatsD datagrams on one loopback port, and on
// another the three HTTP calls with which a process says that it runs, what it hosts,
// and that it ends. Without them the C++ SDK's metrics wait half a minute at each start
// of a process.
package collector

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/handover"
)

// The default ports of the SDKs.
const (
	StatsDPort = 8125
	CrashPort  = 8126
)

// Limits on what any program on this machine can make the collector keep.
const (
	maxSeries   = 20000
	maxDatagram = 64 << 10
	maxTags     = 64
)

// Collector keeps what processes report. Use Listen to create one.
type Collector struct {
	log    *slog.Logger
	statsd *net.UDPConn
	crash  *handover.Listener
	server *http.Server
	done   sync.WaitGroup

	mu     sync.Mutex
	gauges map[string]map[string]float64 // by process id, then name
	series int
}

// Listen opens both ports on the loopback interface; 0 picks one. sockets has those of a
// former agent, and gets them for the next one.
func Listen(statsd, crash uint16, sockets *handover.Sockets, log *slog.Logger) (*Collector, error) {
	local := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	udp, err := sockets.ListenUDP(netip.AddrPortFrom(local, statsd))
	if err != nil {
		return nil, fmt.Errorf("collect metrics: %w", err)
	}
	at := netip.AddrPortFrom(local, crash)
	tcp, err := sockets.Listen(at, func() (net.Listener, error) { return net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(at)) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("report crashes: %w", err), udp.Close())
	}
	c := &Collector{log: log, statsd: udp, crash: tcp, gauges: map[string]map[string]float64{}}
	mux := http.NewServeMux()
	for _, path := range []string{"register", "update", "deregister"} {
		mux.HandleFunc("GET /"+path, hear)
	}
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ConnState: handover.State}
	c.done.Go(c.receive)
	c.done.Go(func() { c.server.Serve(tcp) })
	return c, nil
}

// Ports returns the ports, for callers that passed 0.
func (c *Collector) Ports() (statsd, crash int) {
	return c.statsd.LocalAddr().(*net.UDPAddr).Port, c.crash.Addr().(*net.TCPAddr).Port
}

// closing is how long Close waits for requests to be answered.
const closing = time.Second

// Close closes the ports here.
func (c *Collector) Close() error {
	handover.Drain(closing, c.crash)
	err := errors.Join(c.statsd.Close(), c.server.Close())
	c.done.Wait()
	return err
}

// Metrics returns the last values that a process reported, by name.
func (c *Collector) Metrics(processID string) map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.gauges[processID])
}

// Forget deletes the metrics of a process that has ended.
func (c *Collector) Forget(processID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.series -= len(c.gauges[processID])
	delete(c.gauges, processID)
}

func (c *Collector) receive() {
	buf := make([]byte, maxDatagram)
	for {
		n, _, err := c.statsd.ReadFromUDPAddrPort(buf)
		if err != nil {
			return // closed
		}
		text := bytes.TrimRight(buf[:n], "\x00") // the C++ SDK ends each datagram with one
		for line := range bytes.Lines(text) {
			if s, ok := parse(strings.TrimSpace(string(line))); ok {
				c.keep(s)
			}
		}
	}
}

// sample is one line: name:value|type|#tag:value,…
type sample struct {
	process string
	name    string
	value   float64
	delta   bool // added to the previous value
}

func parse(line string) (s sample, ok bool) {
	parts := strings.Split(line, "|")
	if len(parts) < 2 || len(line) > 4096 {
		return s, false
	}
	name, text, ok := strings.Cut(parts[0], ":")
	value, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil || name == "" {
		return s, false
	}
	s = sample{name: name, value: value}
	switch parts[1] {
	case "g":
		s.delta = text[0] == '+' || text[0] == '-'
	case "c":
		s.delta = true
	case "ms", "h", "d":
	default:
		return s, false
	}
	for _, part := range parts[2:] {
		tags, found := strings.CutPrefix(part, "#")
		if !found {
			continue
		}
		for n, tag := range strings.Split(tags, ",") {
			if id, found := strings.CutPrefix(tag, "gamelift_process_id:"); found && n < maxTags {
				s.process = id
			}
		}
	}
	return s, s.process != ""
}

func (c *Collector) keep(s sample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.gauges[s.process]
	if _, there := of[s.name]; !there {
		if c.series >= maxSeries {
			return
		}
		c.series++
	}
	if of == nil {
		of = map[string]float64{}
		c.gauges[s.process] = of
	}
	if s.delta {
		s.value += of[s.name]
	}
	of[s.name] = s.value
}

// hear answers a process that says that it runs, what it hosts, or that it ends.
// Nothing is kept: the agent itself sees its processes end.
func hear(w http.ResponseWriter, r *http.Request) {
	if pid, err := strconv.Atoi(r.URL.Query().Get("process_pid")); err != nil || pid <= 0 {
		http.Error(w, "process_pid: must be a process number", http.StatusBadRequest)
	}
}
