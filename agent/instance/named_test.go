package instance

import (
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/musterhq/muster/agent/ports"
)

// consecutive returns the first of n ports that are free for UDP and TCP.
func consecutive(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		first, free := 10_000+rand.IntN(9_000), 0
		for port := first; port < first+n; port++ {
			if l, err := net.ListenTCP("tcp4", &net.TCPAddr{Port: port}); err == nil {
				l.Close()
				free++
			}
		}
		if free == n {
			return first
		}
	}
	t.Fatalf("no %d ports in a row are free", n)
	return 0
}

// Ports of a name come from the machine's range for it, which all instances share, others from the
// instance's, and what a process had is free once it has ended.
func TestNamed(t *testing.T) {
	t.Parallel()
	first := consecutive(t, 6)
	named := NamedRanges{}
	if err := named.Add("query", first, first+1); err != nil {
		t.Fatal(err)
	}
	if err := named.Apart(first+2, first+5); err != nil {
		t.Fatal(err)
	}
	m := &Machine{Named: named}
	instance := func(from, to int) *launcher {
		l := &launcher{m: m, named: map[string]map[string]int{}}
		var err error
		if l.ports, err = ports.New(from, to); err != nil {
			t.Fatal(err)
		}
		return l
	}
	one, two := instance(first+2, first+3), instance(first+4, first+5)
	texts := []string{"-q {{.Port.query}} -r {{.Port.rcon}}", "{{.Port.query}}"}
	a, err := one.takeNamed("a", texts)
	if err != nil {
		t.Fatal(err)
	}
	b, err := two.takeNamed("b", texts)
	if err != nil {
		t.Fatal(err)
	}
	query := map[int]bool{a["query"]: true, b["query"]: true}
	if len(a) != 2 || !query[first] || !query[first+1] || a["rcon"] != first+2 || b["rcon"] != first+4 {
		t.Errorf("the processes have %v and %v", a, b)
	}
	if c, err := one.takeNamed("c", texts); err == nil || !strings.Contains(err.Error(), `port "query"`) {
		t.Errorf("a third process has %v, %v", c, err)
	}
	one.releaseNamed("a")
	one.releaseNamed("c")
	if len(one.named) != 0 {
		t.Errorf("ports are kept of processes that have ended: %v", one.named)
	}
	next := instance(first+2, first+3) // of the next agent
	next.keepNamed("a", a)
	if d, err := next.takeNamed("d", []string{"{{.Port.rcon}}"}); err != nil || d["rcon"] == a["rcon"] {
		t.Errorf("a process of the next agent has %v, %v", d, err)
	}
}

// Ranges that share a port are refused, whichever share it.
func TestNamedRanges_Apart(t *testing.T) {
	t.Parallel()
	r := NamedRanges{}
	for name, span := range map[string][2]int{"query": {100, 199}, "rcon": {200, 299}} {
		if err := r.Add(name, span[0], span[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Apart(300, 400); err != nil {
		t.Error(err)
	}
	for _, games := range [][2]int{{1, 100}, {150, 160}, {299, 300}, {1, 1000}} {
		if r.Apart(games[0], games[1]) == nil {
			t.Errorf("games take %v", games)
		}
	}
	if err := r.Add("web", 250, 250); err != nil || r.Apart(300, 400) == nil {
		t.Error("two names share a port")
	}
	if r.Add("Query", 1, 2) == nil || r.Add("x", 2, 1) == nil {
		t.Error("a bad name or range is taken")
	}
}
