//go:build linux

package wrap

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// stop is TerminateProcess, with a minute for the end.
func (p *puppet) stop() {
	p.ws.say(map[string]any{"Action": "TerminateProcess", "TerminationTime": time.Now().Add(time.Minute).UnixMilli()})
}

// A program is asked to end by a line on its standard input, which is open until then. One that
// does not end in time gets SIGTERM.
func TestStop_Line(t *testing.T) {
	t.Parallel()
	for _, obeys := range []bool{true, false} {
		o := Options{Stop: Stop{Line: "save-all and quit", Within: time.Hour}}
		if !obeys {
			o.Stop.Within = time.Millisecond
		}
		p := puppetry(t, o)
		p.do(fmt.Sprintf("udp %d", p.port))
		p.next("ActivateGameSession")
		p.stop()
		if obeys {
			if said := p.hear(); said != "stdin: save-all and quit" {
				t.Errorf("the program hears %q", said)
			}
			p.do("exit 0")
		}
		if r := p.next("TerminateServerProcess"); r["Crash"] != nil {
			t.Errorf("the end counts as a crash: %v", r)
		}
		if code := <-p.ended; code != 0 {
			t.Errorf("it ends with code %d", code)
		}
	}
}

// A program is asked to end by Source RCON, with the password that it was given.
func TestStop_RCON(t *testing.T) {
	t.Parallel()
	p := puppetry(t, Options{Args: []string{"{{.Port.rcon}}", "{{.RCONPassword}}"}, Ports: map[string]int{"rcon": 0}, Stop: Stop{RCON: "quit now", Port: "rcon", Within: time.Hour}})
	port, password, _ := strings.Cut(p.args, " ")
	if len(password) < 20 {
		t.Errorf("the password is %q", password)
	}
	p.do("rcon " + port)
	p.do(fmt.Sprintf("udp %d", p.port))
	p.next("ActivateGameSession")
	p.stop()
	if said := p.hear(); said != "rcon 2: quit now" {
		t.Errorf("the program hears %q", said)
	}
	p.do("exit 0")
	p.next("TerminateServerProcess")
	if code := <-p.ended; code != 0 {
		t.Errorf("it ends with code %d", code)
	}
}

// A program that cannot be asked by its command gets SIGTERM at once.
func TestStop_Unasked(t *testing.T) {
	t.Parallel()
	p := puppetry(t, Options{Ports: map[string]int{"rcon": 0}, Stop: Stop{RCON: "quit", Port: "rcon", Within: time.Hour}})
	p.do(fmt.Sprintf("udp %d", p.port))
	p.next("ActivateGameSession")
	p.stop()
	p.next("TerminateServerProcess")
	p.logged("was not asked to end by its stop command")
}

// A program always gets SIGTERM before it is killed, and not before its time is over unless it is
// killed soon.
func TestStop_Patience(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		within := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "within"))
		s := Stop{Within: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "patience"))}
		got := s.patience(within)
		if got < 0 || got > s.Within || within > 0 && got >= within {
			t.Fatalf("SIGTERM after %v, killed after %v", got, within)
		}
		if within >= s.Within+lastMoment && got != s.Within {
			t.Fatalf("SIGTERM after %v though there is time", got)
		}
	})
}

// A port is a number, or a name that the process was given.
func TestOptions_Ports(t *testing.T) {
	t.Parallel()
	game, named, err := ports([]string{"GAME_PORT=7777", "GAME_PORT_QUERY=27015", "GAME_PORT_=1", "GAME_PORT_a=2", "GAME_PORTS=3", "GAME_PORT_RCON=", "A=b"})
	if err != nil || game != 7777 || len(named) != 1 || named["query"] != 27015 {
		t.Fatalf("ports %d, %v, %v", game, named, err)
	}
	if _, _, err := ports([]string{"GAME_PORT_QUERY=65536"}); err == nil {
		t.Error("65536 is a port")
	}
	o := Options{Port: game, Ports: named}
	for text, want := range map[string]string{"": "7777", "query": "27015", "5": "5"} {
		if got, err := o.port(text); err != nil || got != want {
			t.Errorf("%q is port %q, %v", text, got, err)
		}
	}
	if _, err := o.port("rcon"); err == nil || !strings.Contains(err.Error(), "GAME_PORT_RCON") {
		t.Errorf("an unknown name: %v", err)
	}
}
