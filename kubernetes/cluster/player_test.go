package cluster_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"
)

// player plays in one game session, by the program of the demo game, until told to leave.
type player struct {
	orders io.WriteCloser
	cmd    *exec.Cmd
	joined chan struct{} // closed when it is let in
	heard  atomic.Int64  // rises with each snapshot of the game
	over   chan struct{} // closed when ending is set
	ending string
}

// silence is how long neither players nor game servers miss each other: the machine may be
// busy with other tests.
const silence = 3 * time.Minute

// join has a player join the game at an address, and returns when it is let in.
func join(t *testing.T, address, playerSessionID string) *player {
	t.Helper()
	p := &player{cmd: exec.Command(os.Getenv("ARENA_BIN"), "bots"), joined: make(chan struct{}), over: make(chan struct{})}
	var err error
	if p.orders, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	answers, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(answers)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.over
		_ = p.cmd.Wait() // it was killed, or has said how it ended
	})
	p.order(t, map[string]any{
		"bot": 1, "address": address, "player_session_id": playerSessionID, "act_ms": 1000, "silent_ms": silence.Milliseconds(), "progress_ms": 100,
	})
	select {
	case <-p.joined:
	case <-p.over:
		t.Fatalf("the player at %s: %s", address, p.ending)
	}
	return p
}

// follow reads the answers of the program until it has ended.
func (p *player) follow(answers io.Reader) {
	defer close(p.over)
	for lines := json.NewDecoder(answers); ; {
		var a struct {
			State, Reason string
			Progress      int64
		}
		if err := lines.Decode(&a); err != nil {
			if p.ending == "" {
				p.ending = fmt.Sprintf("the program has ended: %v", err)
			}
			return
		}
		switch a.State {
		case "joined":
			close(p.joined)
		case "progress":
			p.heard.Store(a.Progress)
		default:
			p.ending = a.State + a.Reason
			p.orders.Close() // the program ends
		}
	}
}

func (p *player) order(t *testing.T, order map[string]any) {
	t.Helper()
	text, err := json.Marshal(order)
	if err == nil {
		_, err = p.orders.Write(append(text, '\n'))
	}
	if err != nil {
		t.Error(err)
	}
}

// hears waits for the next snapshot of the game.
func (p *player) hears(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for before := p.heard.Load(); p.heard.Load() == before; {
		select {
		case <-p.over:
			t.Fatalf("the player has lost the game: %s", p.ending)
		case <-tick.C:
		}
	}
}

// leave has the player leave, and fails the test unless it has played until then.
func (p *player) leave(t *testing.T) {
	t.Helper()
	select {
	case <-p.over:
		t.Fatalf("the player has lost the game: %s", p.ending)
	default:
	}
	p.order(t, map[string]any{"bot": 1, "leave": true})
	if <-p.over; p.ending != "played" {
		t.Errorf("the player: %s", p.ending)
	}
}
