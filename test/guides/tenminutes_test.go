package guides

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// The tutorial, and the same game in other languages.
const (
	tenMinutes = "docs/ten-minutes.md"
	others     = "docs/languages.md"
)

// languages are the sections of the guide in which a game is played, with the programs that
// its commands need.
var languages = map[string]string{
	"Python":  "python3",
	"Node.js": "node",
	"C#":      "mcs mono",
	"Godot 3": "godot3-server",
	"C++":     "g++",
}

// part is what a section of the guide says to type.
type part struct {
	builds  []string // before everything else
	server  string   // in the first terminal
	player  string   // in each of two others
	pages   string   // or in the second one: what serves the page
	inspect []string // after the game
}

// parts returns the sections of the guide with commands. The line before a block says to the
// reader, and here, where it is typed.
func parts(t *testing.T) map[string]*part {
	t.Helper()
	all := map[string]*part{}
	for _, block := range append(document.Blocks(t, tenMinutes), document.Blocks(t, others)...) {
		if block.Language != "sh" {
			continue
		}
		if block.Section == "Play" {
			block.Section = "Python"
		}
		p := all[block.Section]
		if p == nil {
			p = &part{}
			all[block.Section] = p
		}
		switch block.Lead {
		case "**Terminal 1:**":
			p.server = block.Text
		case "**Terminals 2 and 3:**":
			p.player = block.Text
		case "**Terminal 2:**":
			p.pages = block.Text
		case "**Afterwards:**":
			p.inspect = append(p.inspect, block.Text)
		case "**Once:**":
			p.builds = append(p.builds, block.Text)
		default:
			t.Fatalf("%s:%d: the line before the block does not say where it is typed: %q", tenMinutes, block.Line, block.Lead)
		}
	}
	return all
}

// needs skips the test if a program is missing.
func needs(t *testing.T, programs string) {
	t.Helper()
	for program := range strings.FieldsSeq(programs) {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: install it to type these commands of %s", program, tenMinutes)
		}
	}
}

// Every section is typed from its beginning to its end: two players of its language play on
// its game server until one has won. Then the game session has ended, and another game server
// is ready. What Muster shows of the game of the tutorial is what the tutorial says.
func TestTenMinutes(t *testing.T) {
	all := parts(t)
	for section, p := range all {
		programs, known := languages[section]
		if section == firstSection || section == lastSection || section == pageSection || section == unitySection {
			continue // other tests
		}
		t.Run(section, func(t *testing.T) {
			if !known || p.server == "" || p.player == "" {
				t.Fatalf("section %q of %s: what its commands are for is not known to this test", section, tenMinutes)
			}
			t.Parallel()
			needs(t, programs)
			d := newDesk(t)
			d.build(p)
			seen := d.server(p.server)
			d.play(p.player, p.player)
			orderly(t, seen)
			if section != "Python" {
				return
			}
			shown := ""
			for _, text := range all[lastSection].inspect {
				shown += d.run(text)
			}
			for _, want := range []string{"TERMINATED", "GAME_SESSION_ACTIVATED", "PLAYER_SESSION_ACCEPTED", "PLAYER_SESSION_REMOVED", "SERVER_PROCESS_ENDED"} {
				if !strings.Contains(shown, want) {
					t.Errorf("no word of %s in\n%s", want, shown)
				}
			}
		})
	}
	for section := range languages {
		if all[section] == nil {
			t.Errorf("%s has no section %q", tenMinutes, section)
		}
	}
}

// orderly waits until a game of two players has ended in order: both were let in and have left,
// the process has said that it ends, and another game server is ready.
func orderly(t *testing.T, seen *node.Events) {
	t.Helper()
	count := map[string]int{}
	seen.Until(t, "SERVER_PROCESS_ENDED", func(e node.Event) bool {
		count[e.Code]++
		return e.Code == "SERVER_PROCESS_ENDED"
	})
	if count["PLAYER_SESSION_ACCEPTED"] != 2 || count["PLAYER_SESSION_REMOVED"] != 2 {
		t.Errorf("of two players %d were let in and %d have left", count["PLAYER_SESSION_ACCEPTED"], count["PLAYER_SESSION_REMOVED"])
	}
	seen.Code(t, "GAME_SESSION_TERMINATED")
	seen.Code(t, "SERVER_PROCESS_ACTIVE")
}

const (
	firstSection = "Get Muster"
	pageSection  = "Browser"
	unitySection = "Unity"
	lastSection  = "What has happened"
)

// Players of every language play with each other, on a game server of another one.
func TestTenMinutes_Mixed(t *testing.T) {
	t.Parallel()
	all := parts(t)
	for _, programs := range languages {
		needs(t, programs)
	}
	for server, players := range map[string][]string{"Python": {"C#", "C++"}, "C++": {"Python", "Godot 3"}, "C#": {"Node.js", "Python"}} {
		d := newDesk(t)
		var blocks []string
		for _, section := range append(players, server) {
			d.build(all[section])
			blocks = append(blocks, all[section].player)
		}
		d.server(all[server].server)
		d.play(blocks[:len(players)]...)
	}
}

// The scripts for Unity compile against the shape of what they use of it, and a dedicated server
// that is started as the guide says is played. In place of Unity's build there is what its
// script runs, by Mono.
func TestTenMinutes_Unity(t *testing.T) {
	t.Parallel()
	needs(t, languages["C#"])
	all := parts(t)
	d := newDesk(t)
	d.run("mcs -langversion:7.2 -warnaserror -define:UNITY_5_3_OR_NEWER -target:library -out:bin/unity.dll -r:System.Net.Http.dll " +
		"clients/csharp/Tests~/UnityStubs.cs -recurse:'clients/csharp/Runtime/*.cs' examples/ten-minutes/csharp/*.cs examples/ten-minutes/unity/*.cs")
	d.build(all["C#"])
	d.run("printf '#!/bin/sh\nexec mono bin/Server.exe \"$@\"\n' > bin/MyGame.x86_64 && chmod +x bin/MyGame.x86_64")
	d.server(all[unitySection].server)
	d.play(all["C#"].player, all["C#"].player)
}

// The first commands are those by which this Muster was built: the target of the Makefile that
// comes before these tests.
func TestTenMinutes_Build(t *testing.T) {
	t.Parallel()
	needs(t, "make")
	d := &desk{T: t, dir: document.Top(t)}
	for _, text := range parts(t)[firstSection].builds {
		for line := range strings.Lines(text) {
			target, is := strings.CutPrefix(strings.TrimSpace(line), "make ")
			if !is {
				t.Fatalf("%q is typed by no test", line)
			}
			if shown := d.run("make --dry-run " + target); !strings.Contains(shown, "-o bin/muster ./cmd/muster") {
				t.Errorf("make %s makes no bin/muster:\n%s", target, shown)
			}
		}
	}
}
