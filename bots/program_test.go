package bots

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// gameVariable makes the test program a game's Program of some kind.
const gameVariable = "MUSTER_TEST_GAME"

func TestMain(m *testing.M) {
	if kind := os.Getenv(gameVariable); kind != "" {
		playAs(kind)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// playAs answers orders on standard input: the address says how the game goes.
func playAs(kind string) {
	switch kind {
	case "mute":
		os.Exit(3)
	case "noisy":
		fmt.Println("listening on port 1")
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			panic(err)
		}
		say := func(a answer) {
			a.Bot = o.Bot
			line, _ := json.Marshal(a)
			fmt.Printf("%s\n", line)
		}
		switch {
		case o.Leave:
			say(answer{State: string(Played), Reason: "left"})
		case o.Address == "refuses":
			say(answer{State: string(Refused), Reason: "full"})
		case o.Address == "dies":
			os.Exit(4)
		default:
			say(answer{State: "joined"})
			for n := range 20 {
				say(answer{State: "progress", Progress: n})
			}
			if o.Address == "ends" {
				say(answer{State: string(Played)})
			}
		}
	}
}

func start(t *testing.T, kind string) *Program {
	t.Helper()
	t.Setenv(gameVariable, kind)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := StartProgram(t.Context(), self)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProgram(t *testing.T) {
	p := start(t, "good")
	joined, progress := false, 0
	ending, _, err := p.Play(t.Context(), Game{Address: "ends", Joined: func() { joined = true }, Progress: func(int) { progress++ }})
	if err != nil || ending != Played || !joined || progress == 0 {
		t.Errorf("got %s, %v, joined %v, progress %d times", ending, err, joined, progress)
	}
	if ending, reason, err := p.Play(t.Context(), Game{Address: "refuses"}); err != nil || ending != Refused || reason != "full" {
		t.Errorf("got %s %q, %v", ending, reason, err)
	}
	ctx, leave := context.WithCancel(t.Context())
	if ending, reason, err := p.Play(ctx, Game{Address: "goes on", Joined: leave}); err != nil || ending != Played || reason != "left" {
		t.Errorf("a bot that left: got %s %q, %v", ending, reason, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := p.Play(t.Context(), Game{}); err == nil {
		t.Error("a program that has ended still plays")
	}
}

func TestProgram_Fails(t *testing.T) {
	for kind, want := range map[string]string{"good": "exit status 4", "mute": "exit status 3", "noisy": "listening on port 1"} {
		p := start(t, kind)
		if _, _, err := p.Play(t.Context(), Game{Address: "dies"}); err == nil {
			t.Errorf("%s: a game was played", kind)
		}
		if err := p.Close(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error that names %q", kind, err, want)
		}
	}
	if _, err := StartProgram(t.Context(), "./none"); err == nil {
		t.Error("a program that does not exist was started")
	}
}
