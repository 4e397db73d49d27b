//go:build linux

package wrap

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/agent/gamequery"
)

// Where no agent says how a program ended, the wrapper does: the code or signal, and its last words.
func TestEnd_Crash(t *testing.T) {
	t.Parallel()
	for order, want := range map[string]string{
		"exit 3":                               "exited with code 3",
		fmt.Sprintf("die %d", syscall.SIGSEGV): "was ended by signal SIGSEGV",
		fmt.Sprintf("die %d", syscall.SIGKILL): "was ended by signal SIGKILL",
	} {
		p := puppetry(t, Options{})
		p.do("say the map fell apart")
		p.do(order)
		r := p.next("TerminateServerProcess")
		text, _ := r["Crash"].(string)
		if !strings.Contains(text, want) || !strings.Contains(text, `its last words on stdout: "the map fell apart"`) {
			t.Errorf("%s: it crashed as %q", order, text)
		}
		if code := <-p.ended; code == 0 {
			t.Errorf("%s: the code is 0", order)
		}
	}
}

// Muster hears how many players the program says there are: more at once, fewer once that is
// confirmed.
func TestCount(t *testing.T) {
	t.Parallel()
	p := puppetry(t, Options{Ports: map[string]int{"query": 0}, Args: []string{"{{.Port.query}}"}, Query: Query{Protocol: "a2s", Port: "query", Every: 20 * time.Millisecond}})
	p.do("udp " + p.args)
	p.do(fmt.Sprintf("tcp %d", p.port))
	p.next("ActivateGameSession")
	for _, n := range []int{3, 5, 2, 0} {
		p.do(fmt.Sprintf("players %d", n))
		for {
			r := p.next("ReportPlayers")
			if r["GameSessionId"] != "arn:g" {
				t.Fatalf("it reports %v", r)
			}
			if r["Players"] == float64(n) {
				break
			}
		}
	}
}

// Players who are away for a moment stay.
func TestTally(t *testing.T) {
	t.Parallel()
	var seen tally
	for n, step := range []struct{ says, want int }{{4, 4}, {0, 4}, {4, 4}, {0, 4}, {0, 4}, {0, 0}, {6, 6}, {5, 6}, {5, 6}, {5, 5}} {
		if got := seen.add(step.says); got != step.want {
			t.Errorf("answer %d: %d players, want %d", n, got, step.want)
		}
	}
}

// An unknown protocol, and the name of a port that there is not, are refused before anything is started.
func TestRun_RefusesQueries(t *testing.T) {
	t.Parallel()
	for _, q := range []Query{{Protocol: "a2c"}, {Protocol: gamequery.Protocols()[0], Port: "query"}} {
		if _, err := Run(t.Context(), Options{Port: 1, Query: q}); err == nil {
			t.Errorf("%+v is accepted", q)
		}
	}
}
