package hosts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/hosts"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// visitors is a yard whose server lets visitors open shells. They name themselves, the
// fleet and the compute in headers.
type visitors struct {
	*yard
	revoked atomic.Bool
	facts   protocol.Facts
}

func openShells(t *testing.T, change func(*hosts.ShellOptions)) *visitors {
	t.Helper()
	v := &visitors{facts: facts}
	v.facts.Shells = &protocol.ShellOffer{Offered: true}
	v.yard = openWith(t, func(o *hosts.Options, _ *yard) {
		o.Shells = &hosts.ShellOptions{Authenticate: func(r *http.Request) (hosts.ShellVisit, error) {
			if r.Header.Get("Visitor") == "" {
				return hosts.ShellVisit{}, fault.New(fault.MissingAuthentication, "who are you?")
			}
			return hosts.ShellVisit{
				Caller: auth.Caller{KeyID: r.Header.Get("Visitor")}, FleetID: r.Header.Get("Fleet"), ComputeName: r.Header.Get("Compute"),
				Still: func() error {
					if v.revoked.Load() {
						return errors.New("you may not any more")
					}
					return nil
				},
			}, nil
		}}
		if change != nil {
			change(o.Shells)
		}
	})
	return v
}

// dial opens the WebSocket of a visitor; if that is refused, it returns the message.
func (v *visitors) dial(who string, d protocol.Desired) (ws *websocket.Conn, status int, message string) {
	v.Helper()
	header := http.Header{"Visitor": {who}, "Fleet": {d.FleetID}, "Compute": {d.Compute}}
	ws, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(v.url, "http")+protocol.PathShell, header)
	if err == nil {
		v.t.Cleanup(func() { ws.Close() })
		return ws, answer.StatusCode, ""
	}
	if answer == nil {
		v.Fatalf("no answer: %v", err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	var refusal protocol.Refusal
	v.Must(json.Unmarshal(text, &refusal))
	return nil, answer.StatusCode, refusal.Message
}

// start sends the first frame of a visitor.
func (v *visitors) start(ws *websocket.Conn) {
	v.Helper()
	first, err := protocol.ShellCommand{Command: []string{"ls"}}.Frame()
	v.Must(err)
	v.Must(ws.WriteMessage(websocket.BinaryMessage, first.Bytes()))
}

// arrive connects the agent of a host for the next shell that it is sent.
func (v *visitors) arrive(a *agent) *websocket.Conn {
	v.Helper()
	m := a.await("a shell", func(m protocol.Message) bool { return m.Shell != nil })
	ws, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(v.url, "http")+protocol.PathShells+m.Shell.ID, credential(a.JoinResponse))
	v.Must(err)
	answer.Body.Close()
	v.t.Cleanup(func() { ws.Close() })
	if f := v.frame(ws); f.Op != protocol.ShellStart {
		v.Fatalf("the first frame is %v", f)
	}
	return ws
}

// frame reads a frame.
func (v *visitors) frame(ws *websocket.Conn) protocol.ShellFrame {
	v.Helper()
	v.Must(ws.SetReadDeadline(time.Now().Add(wait.Patience())))
	_, message, err := ws.ReadMessage()
	v.Must(err)
	f, err := protocol.ParseShellFrame(message)
	v.Must(err)
	return f
}

// end reads frames until the last one.
func (v *visitors) end(ws *websocket.Conn) protocol.ShellEnd {
	v.Helper()
	for {
		f := v.frame(ws)
		if f.Op != protocol.ShellExit {
			continue
		}
		e, err := f.End()
		v.Must(err)
		ws.Close()
		return e
	}
}

// open opens a shell, to the point where both ends are connected.
func (v *visitors) open(who string, a *agent, d protocol.Desired) (visitor, host *websocket.Conn) {
	v.Helper()
	visitor, status, message := v.dial(who, d)
	if visitor == nil {
		v.Fatalf("refused: %d %s", status, message)
	}
	v.start(visitor)
	return visitor, v.arrive(a)
}

// instance connects a host with an instance of a new fleet.
func (v *visitors) instance() (*agent, protocol.Desired) {
	v.Helper()
	a := v.connectAs(v.join(), v.facts)
	a.assigned(0)
	v.managed()
	return a, a.assigned(1)[0]
}

// Data passes in both directions, and the visitor reads how the program ended.
func TestShell(t *testing.T) {
	v := openShells(t, nil)
	a, d := v.instance()
	visitor, host := v.open("ada", a, d)
	input := protocol.ShellFrame{Op: protocol.ShellInput, Payload: []byte("in")}
	v.Must(visitor.WriteMessage(websocket.BinaryMessage, input.Bytes()))
	if f := v.frame(host); f.Op != input.Op || string(f.Payload) != "in" {
		t.Errorf("the host gets %v", f)
	}
	for _, f := range []protocol.ShellFrame{protocol.ShellAcknowledged(2), {Op: protocol.ShellErrors, Payload: []byte("out")}} {
		v.Must(host.WriteMessage(websocket.BinaryMessage, f.Bytes()))
		if got := v.frame(visitor); got.Op != f.Op || string(got.Payload) != string(f.Payload) {
			t.Errorf("the visitor gets %v, want %v", got, f)
		}
	}
	v.Must(host.WriteMessage(websocket.BinaryMessage, protocol.ShellEnd{Code: 7, Signal: "x"}.Frame().Bytes()))
	if e := v.end(visitor); e.Code != 7 || e.Signal != "x" || e.Problem != "" {
		t.Errorf("ended with %+v", e)
	}
}

// Shells end with what they need, and the host's end is disconnected then.
func TestShell_Ends(t *testing.T) {
	for name, c := range map[string]struct {
		options func(*hosts.ShellOptions)
		cause   func(v *visitors, a *agent, d protocol.Desired, visitor, host *websocket.Conn)
		text    string
	}{
		"revoked": {nil, func(v *visitors, _ *agent, _ protocol.Desired, _, _ *websocket.Conn) { v.revoked.Store(true) }, "you may not any more"},
		"idle":    {func(o *hosts.ShellOptions) { o.Idle = time.Nanosecond }, nil, "nothing was sent"},
		"old":     {func(o *hosts.ShellOptions) { o.Longest = time.Nanosecond }, nil, "which is the limit"},
		"instance": {nil, func(v *visitors, a *agent, d protocol.Desired, _, _ *websocket.Conn) {
			for _, phase := range []protocol.Phase{protocol.Downloading, protocol.Validating, protocol.Building} {
				a.status(d, phase)
			}
			a.status(d, protocol.Activating, "p")
			a.ready(d, "p")
			_, err := v.Fleets.Capacities.Update.Do(v.Ctx, fleet.CapacityInput{FleetID: d.FleetID, Desired: new(0)})
			v.Must(err)
			a.status(d, protocol.Gone)
		}, "the instance has ended"},
		"host": {nil, func(_ *visitors, _ *agent, _ protocol.Desired, _, host *websocket.Conn) { host.Close() }, "broke"},
		"host cheats": {nil, func(v *visitors, _ *agent, _ protocol.Desired, _, host *websocket.Conn) {
			v.Must(host.WriteMessage(websocket.BinaryMessage, protocol.ShellSize{}.Frame().Bytes()))
		}, "broke"},
	} {
		t.Run(name, func(t *testing.T) {
			v := openShells(t, c.options)
			a, d := v.instance()
			visitor, host := v.open("ada", a, d)
			if c.cause != nil {
				c.cause(v, a, d, visitor, host)
			}
			if e := v.end(visitor); e.Code != 255 || !strings.Contains(e.Problem, c.text) {
				t.Errorf("ended with %+v, want %q", e, c.text)
			}
			v.disconnected(host)
		})
	}
}

// disconnected waits for the end of a connection.
func (v *visitors) disconnected(ws *websocket.Conn) {
	v.Helper()
	if ws.SetReadDeadline(time.Now().Add(wait.Patience())) != nil {
		return // it was closed here
	}
	for {
		_, _, err := ws.ReadMessage()
		var late interface{ Timeout() bool }
		if errors.As(err, &late) && late.Timeout() {
			v.Fatalf("it is not disconnected")
		}
		if err != nil {
			return
		}
	}
}

// The host's end is disconnected when the visitor goes, or sends what only hosts send.
func TestShell_VisitorEnds(t *testing.T) {
	for name, f := range map[string]func(v *visitors, ws *websocket.Conn){
		"goes": func(_ *visitors, ws *websocket.Conn) { ws.Close() },
		"cheats": func(v *visitors, ws *websocket.Conn) {
			v.Must(ws.WriteMessage(websocket.BinaryMessage, protocol.ShellEnd{}.Frame().Bytes()))
		},
		"starts again": func(v *visitors, ws *websocket.Conn) { v.start(ws) },
	} {
		t.Run(name, func(t *testing.T) {
			v := openShells(t, nil)
			a, d := v.instance()
			visitor, host := v.open("ada", a, d)
			f(v, visitor)
			v.disconnected(host)
		})
	}
}

func TestShell_Limits(t *testing.T) {
	v := openShells(t, func(o *hosts.ShellOptions) { o.Host, o.Caller, o.All = 3, 2, 4 })
	a, d := v.instance()
	b, other := v.instance()
	first, _ := v.open("ada", a, d)
	v.open("ada", a, d)
	refused := func(who string, d protocol.Desired, text string) {
		t.Helper()
		if ws, status, message := v.dial(who, d); ws != nil || status != http.StatusTooManyRequests || !strings.Contains(message, text) {
			t.Errorf("%s: %d %q, want %q", who, status, message, text)
		}
	}
	refused("ada", other, "access key ada has 2")
	v.open("bob", a, d)
	refused("eve", d, "has 3 remote shells")
	v.open("eve", b, other)
	refused("joe", other, "this server has 4")
	first.Close()
	wait.For(t, "the place of the one that ended is free", func() error {
		ws, status, message := v.dial("joe", other)
		if ws == nil {
			return fmt.Errorf("%d %q", status, message)
		}
		return nil
	})
}

// A shell needs an agent that offers it, and answers say what would help.
func TestShell_NotOffered(t *testing.T) {
	for name, c := range map[string]struct {
		offer *protocol.ShellOffer
		text  string
	}{
		"an older agent":     {nil, "older"},
		"an agent that says": {&protocol.ShellOffer{Why: "\x1b[2Jbecause"}, "refuses remote shells: [2Jbecause"},
		"one that does not":  {&protocol.ShellOffer{}, "does not say why"},
	} {
		t.Run(name, func(t *testing.T) {
			v := openShells(t, nil)
			v.facts.Shells = c.offer
			v.facts.ContainerShells = &protocol.ShellOffer{Offered: true}
			a, d := v.instance()
			var shown protocol.Host
			v.operate(http.MethodGet, protocol.PathHosts+"/"+a.HostID, &shown)
			if (shown.Shells == nil) != (c.offer == nil) || shown.ContainerShells == nil || !shown.ContainerShells.Offered {
				t.Errorf("operators are shown %+v and in containers %+v", shown.Shells, shown.ContainerShells)
			}
			if ws, status, message := v.dial("ada", d); ws != nil || status != http.StatusBadRequest || !strings.Contains(message, c.text) {
				t.Errorf("%d %q, want %q", status, message, c.text)
			}
		})
	}
	t.Run("an agent that is away", func(t *testing.T) {
		v := openShells(t, nil)
		a, d := v.instance()
		a.ws.Close()
		wait.For(t, "the agent counts as away", func() error {
			ws, status, message := v.dial("ada", d)
			if ws != nil {
				ws.Close()
				return errors.New("the shell is connected")
			}
			if !strings.Contains(message, "not connected") {
				return fmt.Errorf("%d %q", status, message)
			}
			return nil
		})
	})
	t.Run("not enabled", func(t *testing.T) {
		v := &visitors{yard: open(t), facts: facts}
		_, d := v.instance()
		if _, status, message := v.dial("ada", d); status != http.StatusBadRequest || !strings.Contains(message, "--remote-access") {
			t.Errorf("%d %q", status, message)
		}
	})
}

// Nobody takes part in a shell who is not its visitor or its host.
func TestShell_Others(t *testing.T) {
	v := openShells(t, nil)
	a, d := v.instance()
	if _, status, _ := v.dial("", d); status != http.StatusBadRequest && status != http.StatusForbidden && status != http.StatusUnauthorized {
		t.Errorf("without credentials: %d", status)
	}
	if _, status, _ := v.dial("ada", protocol.Desired{FleetID: d.FleetID, Compute: "i-other"}); status != http.StatusNotFound && status != http.StatusBadRequest {
		t.Errorf("on a compute that does not exist: %d", status)
	}
	visitor, _, _ := v.dial("ada", d)
	v.start(visitor)
	id := a.await("a shell", func(m protocol.Message) bool { return m.Shell != nil }).Shell.ID
	other := v.join()
	refused := func(what string, header http.Header, path string) {
		t.Helper()
		ws, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(v.url, "http")+path, header)
		if err == nil {
			ws.Close()
			t.Errorf("%s takes part", what)
			return
		}
		answer.Body.Close()
	}
	refused("another host", credential(other), protocol.PathShells+id)
	refused("a stranger", http.Header{}, protocol.PathShells+id)
	refused("the host of no shell", credential(a.JoinResponse), protocol.PathShells+"other")
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(v.url, "http")+protocol.PathShells+id, credential(a.JoinResponse))
	v.Must(err)
	defer ws.Close()
	v.frame(ws)
	second, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(v.url, "http")+protocol.PathShells+id, credential(a.JoinResponse))
	v.Must(err)
	v.disconnected(second)
	v.Must(ws.WriteMessage(websocket.BinaryMessage, protocol.ShellEnd{Code: 1}.Frame().Bytes()))
	if e := v.end(visitor); e.Code != 1 {
		t.Errorf("ended with %+v", e)
	}
}

// A first frame that is no command ends the shell before the host hears of it.
func TestShell_NoCommand(t *testing.T) {
	v := openShells(t, nil)
	_, d := v.instance()
	for _, first := range []string{"", "x", "\x01{", "\x02input", "\x01{\"Command\":[\"\"]}", "\x01{\"Command\":[\"a\\u0000b\"]}", "\x01{\"Terminal\":{\"Type\":\"a=b\"}}"} {
		ws, _, _ := v.dial("ada", d)
		v.Must(ws.WriteMessage(websocket.BinaryMessage, []byte(first)))
		if e := v.end(ws); e.Code != 255 || e.Problem == "" {
			t.Errorf("%q: ended with %+v", first, e)
		}
	}
}
