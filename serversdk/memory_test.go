package serversdk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/sniff"
	"github.com/musterhq/muster/serversdk"
)

// idleServer names the environment variable that makes the test binary a server for
// BenchmarkIdleConnection: the number of processes.
const idleServer = "MUSTER_TEST_IDLE_SERVER"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(idleServer)); err == nil {
		serveIdle(n)
		return
	}
	os.Exit(m.Run())
}

// memory is what a process uses, in bytes.
type memory struct{ InUse, Stack, RSS int }

// idleHello is the server's first message.
type idleHello struct {
	URL    string
	Before memory
}

type nobody struct{ compute.Link }

// serveIdle serves on loopback, plain and TLS, with n processes in its store already,
// and prints its memory use for each line that it reads.
func serveIdle(n int) {
	h := newHouse(nil, config{server: serversdk.Options{MaxConnections: n}})
	for i := range n {
		ref := h.ref(fmt.Sprint("process-", i))
		_, err := h.Computes.Connect(h.Ctx, compute.ConnectInput{Ref: ref}, nobody{})
		must(nil, err)
		must(nil, h.Computes.Ready(h.Ctx, compute.ReadyInput{Ref: ref, Port: 1}))
		must(nil, h.Computes.Hearing(h.Ctx, ref))
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must(nil, err)
	dir, err := os.MkdirTemp("", "idle")
	must(nil, err)
	defer os.RemoveAll(dir)
	certificate, err := sniff.SelfSigned(dir, []string{"127.0.0.1"}, time.Now())
	must(nil, err)
	go http.Serve(sniff.Listen(inner, sniff.Options{Config: sniff.Config(certificate)}), h.server)
	u, err := url.Parse(h.url(visit{id: "process"}))
	must(nil, err)
	u.Host = inner.Addr().String()
	out := json.NewEncoder(os.Stdout)
	must(nil, out.Encode(idleHello{u.String(), measure()}))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		must(nil, out.Encode(measure()))
	}
}

func measure() memory {
	for range 3 { // stacks shrink by half in each collection
		runtime.GC()
	}
	debug.FreeOSMemory()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return memory{int(s.HeapInuse), int(s.StackInuse), resident()}
}

// resident returns the resident set, if the system reports it.
func resident() int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(text) + " 0 0")[1])
	return pages * os.Getpagesize()
}

// BenchmarkIdleConnection measures what a connected process that sends occasional
// heartbeats costs the server, not counting its row in the store.
func BenchmarkIdleConnection(b *testing.B) {
	for _, scheme := range []string{"ws", "wss"} {
		b.Run(scheme, func(b *testing.B) { benchmarkIdle(b, scheme) })
	}
}

func benchmarkIdle(b *testing.B, scheme string) {
	const processes = 10_000
	for b.Loop() {
		s := startIdle(b, processes)
		s.connectAll(b, scheme, processes)
		after := s.measure(b)
		each := func(after, before int) float64 { return float64(after-before) / processes }
		b.ReportMetric(each(after.InUse, s.hello.Before.InUse), "heap-B/conn")
		b.ReportMetric(each(after.Stack, s.hello.Before.Stack), "stack-B/conn")
		b.ReportMetric(each(after.InUse+after.Stack, s.hello.Before.InUse+s.hello.Before.Stack), "total-B/conn")
		b.ReportMetric(each(after.RSS, s.hello.Before.RSS), "rss-B/conn")
		s.stop()
	}
}

// idle is a server process under measurement.
type idle struct {
	cmd   *exec.Cmd
	in    interface{ Write([]byte) (int, error) }
	out   *json.Decoder
	hello idleHello
	conns []*websocket.Conn
}

func startIdle(b *testing.B, processes int) *idle {
	s := &idle{cmd: exec.Command(os.Args[0])}
	s.cmd.Env = append(os.Environ(), fmt.Sprint(idleServer, "=", processes))
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	must(b, err)
	out, err := s.cmd.StdoutPipe()
	must(b, err)
	must(b, s.cmd.Start())
	s.in, s.out = in, json.NewDecoder(out)
	must(b, s.out.Decode(&s.hello))
	return s
}

// connectAll connects every process, and makes each send a heartbeat.
func (s *idle) connectAll(b *testing.B, scheme string, processes int) {
	u, err := url.Parse(s.hello.URL)
	must(b, err)
	u.Scheme = scheme
	var mu sync.Mutex
	var dialing sync.WaitGroup
	next := make(chan int)
	for range 8 {
		dialing.Go(func() {
			for i := range next {
				ws, err := connectIdle(*u, i)
				if err != nil {
					b.Errorf("process %d: %v", i, err)
					continue
				}
				mu.Lock()
				s.conns = append(s.conns, ws)
				mu.Unlock()
			}
		})
	}
	for i := range processes {
		next <- i
	}
	close(next)
	dialing.Wait()
}

func connectIdle(u url.URL, i int) (*websocket.Conn, error) {
	q := u.Query()
	q.Set("pID", fmt.Sprint("process-", i))
	u.RawQuery = q.Encode()
	dialer := websocket.Dialer{ReadBufferSize: 256, WriteBufferSize: 256, TLSClientConfig: trusting()}
	ws, _, err := dialer.DialContext(context.Background(), u.String(), nil)
	if err != nil {
		return nil, err
	}
	beat := `{"Action":"HeartbeatServerProcess","RequestId":"1b4e28ba-2fa1-11d2-883f-0016d3cca427","HealthStatus":true}`
	if err := ws.WriteMessage(websocket.TextMessage, []byte(beat)); err != nil {
		return nil, err
	}
	_, _, err = ws.ReadMessage()
	return ws, err
}

func (s *idle) measure(b *testing.B) memory {
	var m memory
	_, err := s.in.Write([]byte("\n"))
	must(b, err)
	must(b, s.out.Decode(&m))
	return m
}

func (s *idle) stop() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
	for _, ws := range s.conns {
		ws.Close()
	}
}
