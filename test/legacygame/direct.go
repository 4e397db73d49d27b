package legacygame

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Directed is a game server that a test directs.
type Directed struct {
	t testing.TB
	c net.Conn
	r *bufio.Reader
}

// Direct connects to a game server.
func Direct(t testing.TB, host string, port int) *Directed {
	t.Helper()
	c, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &Directed{t, c, bufio.NewReader(c)}
}

// Say sends a line, and returns the line that answers it.
func (d *Directed) Say(line string) string {
	d.t.Helper()
	fmt.Fprintln(d.c, line)
	d.c.SetReadDeadline(time.Now().Add(time.Minute))
	answer, err := d.r.ReadString('\n')
	if err != nil {
		d.t.Fatalf("%s: %v", line, err)
	}
	return strings.TrimSuffix(answer, "\n")
}

// Call makes a request, which succeeds or not, and returns its answer.
func (d *Directed) Call(want bool, name string, body Message) (answer map[string]any) {
	d.t.Helper()
	text := d.Say("call " + name + " " + hex.EncodeToString(body))
	ok, rest, _ := strings.Cut(text, " ")
	if ok != fmt.Sprint(want) {
		d.t.Errorf("%s: %s, want %v", name, text, want)
	}
	if err := json.Unmarshal([]byte(rest), &answer); err != nil {
		d.t.Errorf("%s: the answer %s is no JSON", name, rest)
	}
	if status := answer["status"]; !want && status != "ERROR_400" {
		d.t.Errorf("%s: the status is %v, want ERROR_400", name, status)
	}
	return answer
}

// Pushed waits for the nth push of a name, and returns it.
func (d *Directed) Pushed(name string, n int) map[string]any {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		var all []map[string]any
		if err := json.Unmarshal([]byte(d.Say("pushes")), &all); err != nil {
			d.t.Fatal(err)
		}
		left := n
		for _, p := range all {
			if p["push"] == name {
				if left--; left == 0 {
					return p
				}
			}
		}
	}
	d.t.Fatalf("there was no %s", name)
	return nil
}
