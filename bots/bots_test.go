package bots

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/flexmatch/ruleset"
)

func TestRuleSet_IsValidForEverySize(t *testing.T) {
	t.Parallel()
	for size := 1; size <= 40; size++ {
		body, err := ruleSet(size)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ruleset.Parse(body); err != nil {
			t.Errorf("games of %d: %v\n%s", size, err, body)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	outcomes := []Outcome{{Attempts: 2, Lost: 1, Games: 1, Waited: 3 * time.Second}, {Attempts: 1, Failure: "it was closed"}}
	for i := range 99 {
		outcomes = append(outcomes, Outcome{Attempts: 1, Games: 1, Waited: time.Duration(i) * 10 * time.Millisecond})
	}
	r := report(outcomes, 5*time.Second)
	if r.Players != 101 || r.Played != 100 || r.Failed != 1 || r.Attempts != 102 || r.Lost != 1 || r.Failures["it was closed"] != 1 {
		t.Errorf("got %+v", r)
	}
	if want := (Wait{P50: 490, P95: 940, P99: 980, Max: 3000}); r.Wait != want {
		t.Errorf("got waits %+v, want %+v", r.Wait, want)
	}
	var text bytes.Buffer
	r.Write(&text)
	if !strings.Contains(text.String(), "100 of 101 bots played, in 5s") || !strings.Contains(text.String(), "1 failed: it was closed") {
		t.Errorf("got %s", &text)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Players: 10001}, {Players: 1, MatchSize: 41}, {Players: 1, Via: "tunnel"}, {Players: 1, Via: Sessions, Matchmaker: "duel"}} {
		o.Game = "arena"
		if _, err := o.withDefaults(); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := (Options{Players: 1}).withDefaults(); err == nil {
		t.Error("bots without a game were taken")
	}
	o, err := Options{Players: 50, Game: "arena"}.withDefaults()
	if err != nil || o.Over != 500*time.Millisecond || o.Via != Players || o.Games != 1 {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestStages_Line(t *testing.T) {
	t.Parallel()
	var s stages
	s.enter(coming)
	s.enter(coming)
	s.move(coming, playing)
	if got, want := s.line(), "coming 1  entering 0  asking 0  waiting 0  connecting 0  playing 1  done 0  failed 0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRun_NobodyThere(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), Options{Players: 1, Fleet: "demo", Game: "arena", Server: client.Client{Endpoint: "http://127.0.0.1:1"}})
	if err == nil || errors.Is(err, t.Context().Err()) {
		t.Errorf("got %v, want to hear that nobody answers", err)
	}
}
