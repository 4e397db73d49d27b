package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/sim"
)

const (
	simPlayers = "../../sim/testdata/evening.yaml"
	simRules   = "../../sim/testdata/five-against-five.json"
	simPatient = "../../sim/testdata/five-against-five-patient.json"
)

// simulate runs the command and returns what it wrote to stdout and stderr.
func simulate(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	return typed(t, t.Context(), append([]string{"simulate"}, args...)...)
}

func TestSimulate_JSON(t *testing.T) {
	code, first, note := simulate(t, "--ruleset", simRules, "--players", simPlayers, "--for", "2m", "--seed", "7", "-o", "json")
	if code != 0 || !strings.Contains(note, "player-minutes simulated in") {
		t.Fatalf("exit %d: %s", code, note)
	}
	var r sim.Report
	if err := json.Unmarshal([]byte(first), &r); err != nil {
		t.Fatal(err)
	}
	if r.For != 120 || r.Seed != 7 || r.RuleSet != "five-against-five" || r.Tickets.Matched == 0 {
		t.Errorf("report %+v", r)
	}
	if _, again, _ := simulate(t, "--ruleset", simRules, "--players", simPlayers, "--for", "2m", "--seed", "7", "-o", "json"); again != first {
		t.Error("the same seed gave another report")
	}
	if _, other, _ := simulate(t, "--ruleset", simRules, "--players", simPlayers, "--for", "2m", "--seed", "8", "-o", "json"); other == first {
		t.Error("another seed gave the same report")
	}
}

func TestSimulate_CompareHTML(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	if code, _, note := simulate(t, "--compare", simRules, simPatient, "--players", simPlayers, "--for", "2m", "--format", "html", "--out", file); code != 0 {
		t.Fatal(note)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<!doctype html>", "five-against-five-patient", "<svg", "</html>"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Several seeds give means with intervals; the old name of the flag still works.
func TestSimulate_Seeds(t *testing.T) {
	for _, flag := range []string{"--seeds", "--runs"} {
		code, out, note := simulate(t, "--ruleset", simRules, "--players", simPlayers, "--for", "1m", flag, "2", "-o", "json")
		var r sim.Report
		if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil || r.Seeds == nil || r.Seeds.Runs != 2 || r.Seeds.Figures[0].Interval == nil {
			t.Errorf("%s: exit %d, %v, %+v, %s", flag, code, err, r.Seeds, note)
		}
	}
	if code, _, note := simulate(t, "--ruleset", simRules, "--players", simPlayers, "--seeds", "101"); code != 1 || !strings.Contains(note, "--seeds must be from 1 to 100") {
		t.Errorf("too many seeds: %d %s", code, note)
	}
}

// A signal ends a simulation: its report is of what was played.
func TestSimulate_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, note := typed(t, ctx, "simulate", "--ruleset", simRules, "--players", simPlayers, "--for", "24h")
	if code != 130 || !strings.Contains(note, "of 24h0m0s\nmuster: interrupted") || !strings.Contains(out, "Outcomes") {
		t.Errorf("exit %d, %s\n%s", code, note, out)
	}
}

func TestSimulate_Trace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.csv")
	table := "at,ticket,player,N:skill,S:mode,ms:eu-west-1\n"
	for _, id := range strings.Split("abcdefghij", "") {
		table += "1," + id + ",p" + id + ",1500,arena,30\n"
	}
	if err := os.WriteFile(file, []byte(table+"5,alone,p,1500,arena,500\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, note := simulate(t, "--ruleset", simRules, "--trace", file)
	if code != 0 {
		t.Fatal(note)
	}
	for _, want := range []string{"1 matches: 1 new game sessions", "breaks rule Near by itself", "2m6s of play"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}

// Tickets time out as --request-timeout says.
func TestSimulate_RequestTimeout(t *testing.T) {
	players := write(t, "populations: [{tickets_per_minute: 1}]") // too few for a match
	for timeout, want := range map[string]float64{"20s": 20, "50s": 50} {
		code, out, note := simulate(t, "--ruleset", simRules, "--players", players, "--for", "5m", "--request-timeout", timeout, "-o", "json")
		var report struct {
			Off struct{ Mean float64 } `json:"waited_off"`
		}
		if err := json.Unmarshal([]byte(out), &report); code != 0 || err != nil || report.Off.Mean < want || report.Off.Mean > want+1 {
			t.Errorf("exit %d, %v, %s: those unmatched waited %v on average, want %v", code, err, note, report.Off.Mean, want)
		}
	}
}

// What is likely a mistake in the players is said beside the report.
func TestSimulate_Doubts(t *testing.T) {
	players := write(t, "populations: [{name: eu, tickets_per_minute: 1, attributes: {skil: {number: {constant: 1}}}}]")
	want := filepath.Base(simRules) + `: population eu: the rule set does not declare the attribute skil, so no rule reads it (did you mean "skill"?)`
	for _, of := range [][]string{{"--ruleset", simRules}, {"--compare", simRules, simPatient, "--seeds", "2"}} {
		if code, _, note := simulate(t, append(of, "--players", players, "--for", "1m")...); code != 0 || !strings.Contains(note, want) {
			t.Errorf("%v: exit %d, %q; want %q", of, code, note, want)
		}
	}
}

func TestSimulate_Refuses(t *testing.T) {
	for want, args := range map[string][]string{
		"one of --ruleset FILE and --compare A B is required": {"--players", simPlayers},
		"--players SPEC or --trace FILE is required":          {"--ruleset", simRules},
		"attribute mode is a number":                          {"--ruleset", simRules, "--players", write(t, "populations: [{tickets_per_minute: 1, attributes: {mode: {number: 1}}}]")},
		"no populations":                                      {"--ruleset", simRules, "--players", write(t, "name: nobody")},
		"--request-timeout must be from 1s to 12h":            {"--ruleset", simRules, "--players", simPlayers, "--request-timeout", "13h"},
		"is no rule set":                                      {"--ruleset", simPlayers, "--players", simPlayers},
	} {
		if code, _, note := simulate(t, args...); code != 1 || !strings.Contains(note, want) {
			t.Errorf("%v: exit %d, %q; want 1, %q", args, code, note, want)
		}
	}
}
