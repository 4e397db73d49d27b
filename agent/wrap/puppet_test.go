//go:build linux

package wrap

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/musterhq/muster/internal/wait"
)

// puppetAt is the variable that makes this test binary a game server program, which obeys what comes
// to that address.
const puppetAt = "MUSTER_TEST_PUPPET"

func TestMain(m *testing.M) {
	if at := os.Getenv(puppetAt); at != "" {
		if err := bePuppet(at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(9)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// bePuppet obeys orders, one a line, and answers each with its number of words.
func bePuppet(at string) error {
	conn, err := net.Dial("tcp", at)
	if err != nil {
		return err
	}
	fmt.Fprintln(conn, strings.Join(os.Args[1:], " "))
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Fprintln(conn, "stdin:", in.Text())
		}
	}()
	players := new(atomic.Int32)
	for in := bufio.NewScanner(conn); in.Scan(); {
		order, rest, _ := strings.Cut(in.Text(), " ")
		n, _ := strconv.Atoi(rest)
		switch order {
		case "udp":
			door, err := net.ListenUDP("udp", &net.UDPAddr{Port: n})
			if err != nil {
				return err
			}
			go answerA2S(door, players)
		case "tcp":
			if _, err := net.Listen("tcp", ":"+rest); err != nil {
				return err
			}
		case "rcon":
			door, err := net.Listen("tcp", ":"+rest)
			if err != nil {
				return err
			}
			go answerRCON(door, conn)
		case "players":
			players.Store(int32(n))
		case "say":
			fmt.Println(rest)
		case "cry":
			fmt.Fprintln(os.Stderr, rest)
		case "exit":
			os.Exit(n)
		case "die":
			signal := syscall.Signal(n)
			(&Signaled{signal}).Die()
		}
	}
	return io.EOF // the test is over
}

// answerA2S answers A2S_INFO with the number of players.
func answerA2S(door *net.UDPConn, players *atomic.Int32) {
	buf := make([]byte, 1500)
	for {
		_, from, err := door.ReadFromUDP(buf)
		if err != nil {
			return
		}
		door.WriteToUDP(fmt.Appendf(nil, "\xff\xff\xff\xffI\x11a\x00b\x00c\x00d\x00\x01\x02%c\x10\x00dl", players.Load()), from) // asked again otherwise
	}
}

// answerRCON accepts the password in its environment, and passes a command on.
func answerRCON(door net.Listener, to io.Writer) {
	conn, err := door.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil || n < 14 {
			return
		}
		body := string(bytes.TrimRight(buf[12:n], "\x00"))
		kind := buf[8]
		if kind == 3 && body == os.Getenv(PasswordVariable) {
			conn.Write([]byte("\x0a\x00\x00\x00" + string(buf[4:8]) + "\x02\x00\x00\x00\x00\x00"))
			continue
		}
		fmt.Fprintf(to, "rcon %d: %s\n", kind, body)
		return
	}
}

// puppet is a game server program that a test commands, under a wrapper.
type puppet struct {
	*muster
	ws    *peer
	conn  net.Conn
	says  *bufio.Reader
	args  string // of the program
	port  int
	ended chan int
	log   *screen
}

// puppetry starts a wrapper, and its program by a game session. The ports of the options that are
// -1 become free ones.
func puppetry(t *testing.T, o Options) *puppet {
	t.Helper()
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { control.Close() })
	p := &puppet{muster: play(t), port: freePort(t), log: &screen{}}
	for name := range o.Ports {
		o.Ports[name] = freePort(t)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// env sets the variable for the program alone: tests run at once.
	o.Program, o.Args = "/usr/bin/env", append([]string{puppetAt + "=" + control.Addr().String(), self}, o.Args...)
	o.Port, o.Log = p.port, slog.New(slog.NewTextHandler(p.log, nil))
	p.ended = runWrapper(t, p.muster, o)
	p.ws = <-p.conns
	p.ws.say(json.RawMessage(game))
	if p.conn, err = control.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.conn.Close() })
	p.says = bufio.NewReader(p.conn)
	p.args = p.hear()
	return p
}

// freePort returns a port that is free for UDP and TCP.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// do sends the program an order.
func (p *puppet) do(order string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.conn, order); err != nil {
		p.t.Fatal(err)
	}
}

// hear returns the next line of the program.
func (p *puppet) hear() string {
	p.t.Helper()
	line, err := p.says.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the program is gone: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// logged waits for a text in the wrapper's log.
func (p *puppet) logged(text string) {
	p.t.Helper()
	wait.For(p.t, "the wrapper's log has "+strconv.Quote(text), func() error {
		if log := p.log.String(); !strings.Contains(log, text) {
			return fmt.Errorf("the log is:\n%s", log)
		}
		return nil
	})
}

// silent fails the test if Muster has heard a request.
func (p *puppet) silent(action string) {
	p.t.Helper()
	for len(p.heard) > 0 {
		if r := <-p.heard; r["Action"] == action {
			p.t.Errorf("%s came too early: %v", action, r)
		}
	}
}
