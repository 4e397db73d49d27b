package pages

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/placement"
)

const duel = `{"name":"duel","ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`

// furnish creates the fleet and the queue "q" without game servers, whose placements time
// out after a minute, and the matchmaking configuration "duel" of two players.
func (s *studio) furnish() (fleetID string) {
	s.Helper()
	f := s.Anywhere("f", "custom-home")
	_, err := s.queues.Queues.Create.Do(s.Ctx, placement.QueueInput{Queue: placement.Queue{Name: "q", Timeout: time.Minute, Destinations: []string{s.Fleets.Home().Of("fleet", f.ID)}}})
	s.Must(err)
	_, err = s.matches.RuleSets.Create(s.Ctx, flexmatch.RuleSetInput{Name: "duel", Body: duel})
	s.Must(err)
	_, err = s.matches.Configurations.Create(s.Ctx, flexmatch.ConfigurationInput{Configuration: flexmatch.Configuration{
		Name: "duel", RuleSet: "duel", Mode: flexmatch.Standalone, RequestTimeout: time.Minute,
	}})
	s.Must(err)
	return f.ID
}

// place starts a placement that will time out.
func (s *studio) place(id string) {
	s.Helper()
	_, err := s.queues.Start(s.Ctx, placement.StartInput{Queue: "q", Request: placement.Request{ID: id, MaxPlayers: 2}})
	s.Must(err)
}

// match lets two players meet.
func (s *studio) match(a, b string) {
	s.Helper()
	for _, player := range []string{a, b} {
		_, _, err := s.matches.Start(s.Ctx, flexmatch.StartInput{Configuration: "duel", Players: []flexmatch.Player{{ID: player}}})
		s.Must(err)
	}
}

// What is recorded of deleted queues, configurations and fleets is forgotten, and that of
// others stays.
func TestRecorder_Forget(t *testing.T) {
	t.Parallel()
	inStudio(t, store.NewMemory(), func(s *studio) {
		id := s.furnish()
		s.place("one")
		s.match("anna", "bert")
		wait.Pass(2 * time.Minute)
		synctest.Wait()
		r := s.pages.recorder
		names := func() string {
			r.mu.Lock()
			defer r.mu.Unlock()
			return fmt.Sprint(len(r.queues), len(r.configurations), len(r.fleets))
		}
		if counts, _ := r.queue("q").in(time.Now(), Hour); counts["placement TIMED_OUT"] != 1 {
			t.Errorf("the queue has %v", counts)
		}
		if counts, took := r.configuration("duel").in(time.Now(), Hour); counts["created"] != 2 || counts[string(life.Completed)] != 2 || len(took) != 1 || counts[string(flexmatch.Matching)] != 2 {
			t.Errorf("the configuration has %v, waits %v", counts, took)
		}
		if got := names(); got != "1 1 1" {
			t.Fatalf("%s are remembered", got)
		}
		s.Must(s.matches.Configurations.Delete.Do(s.Ctx, "duel"))
		wait.Pass(10 * time.Second)
		synctest.Wait()
		if got := names(); got != "1 0 1" {
			t.Errorf("without the configuration %s are remembered", got)
		}
		s.Must(s.queues.Queues.Delete.Do(s.Ctx, "q"))
		err := s.Fleets.Delete.Do(s.Ctx, id)
		s.Must(err)
		wait.Pass(10 * time.Second)
		synctest.Wait()
		if got := names(); got != "0 0 0" {
			t.Errorf("without queue and fleet %s are remembered", got)
		}
		if counts, _ := r.whole.in(time.Now(), Hour); counts["placement TIMED_OUT"] != 1 {
			t.Errorf("the cell has %v", counts)
		}
	})
}

// Where servers are missing, matching is not slow: the wait until matched has ended when the match
// was formed, though its placement goes on, and that has a figure of its own.
func TestRecorder_Stages(t *testing.T) {
	t.Parallel()
	inStudio(t, store.NewMemory(), func(s *studio) {
		s.furnish()
		_, err := s.matches.Configurations.Create(s.Ctx, flexmatch.ConfigurationInput{Configuration: flexmatch.Configuration{
			Name: "placed", RuleSet: "duel", Mode: flexmatch.WithQueue, Queues: []string{s.queues.Queues.ARN("q")}, RequestTimeout: time.Minute,
			AcceptanceRequired: true, AcceptanceTimeout: time.Minute,
		}})
		s.Must(err)
		var ids []string
		for _, player := range []string{"anna", "bert"} {
			t, _, err := s.matches.Start(s.Ctx, flexmatch.StartInput{Configuration: "placed", Players: []flexmatch.Player{{ID: player}}})
			s.Must(err)
			ids = append(ids, t.ID)
		}
		wait.Settle(20 * time.Second)
		for i, player := range []string{"anna", "bert"} {
			s.Must(s.matches.Answer(s.Ctx, flexmatch.AcceptInput{TicketID: ids[i], PlayerIDs: []string{player}, Answer: flexmatch.Accept}))
		}
		wait.Settle(20 * time.Second)
		page, err := s.pages.Matchmaker("placed", Hour)
		s.Must(err)
		match, accept, place := page.Match.Quantiles["p90"], page.Accept.Quantiles["p90"], page.Place.Quantiles["p90"]
		if match == nil || *match > 1 || accept == nil || *accept < 15 || *accept > 25 || place != nil || page.Counts["PLACING"] != 2 {
			t.Errorf("matched within %v s, accepted within %v s, placed within %v s; counts %v", match, accept, place, page.Counts)
		}
		lights := s.pages.Now(Hour).Lights
		if l := lights[0]; l.State != Well || !strings.HasPrefix(l.Text, "9 of 10 are matched within ") {
			t.Errorf("matching is %+v", l)
		}
		s.pages.placementEnded(&placement.Placement{Queue: "q", Status: placement.Fulfilled, Started: time.Now().Add(-3 * time.Second), Ended: time.Now()})
		if l := s.pages.Now(Hour).Lights[1]; l.State != Warn || l.Text != "9 of 10 are placed within 3.0 s; 1 wait, and no process is free" {
			t.Errorf("placement is %+v", l)
		}
	})
}

// What can be named without bound is not remembered without bound.
func TestRecorder_Bounded(t *testing.T) {
	t.Parallel()
	inStudio(t, store.NewMemory(), func(s *studio) {
		r := s.pages.recorder
		for i := range most + 10 {
			name := fmt.Sprint("name-", i)
			r.placementEnded(&placement.Placement{Queue: name, Status: placement.Failed, Ended: time.Now()})
			r.ticketChanged(&life.Ticket{Configuration: name, Status: life.Failed, Ended: time.Now()})
			if h := r.fleet(name); (h == nil) != (i >= most) {
				t.Fatalf("fleet %d: %v", i, h)
			}
		}
		if len(r.queues) != most || len(r.configurations) != most || len(r.fleets) != most {
			t.Errorf("%d queues, %d configurations, %d fleets", len(r.queues), len(r.configurations), len(r.fleets))
		}
	})
}

// shape returns what is known of a series of the last 15 minutes: a letter for every run of
// steps, - for unknown, 0 for nothing, + for more.
func shape(values []*float64) string {
	var out strings.Builder
	last := ""
	for _, v := range values {
		is := "-"
		if v != nil {
			is = map[bool]string{true: "0", false: "+"}[*v == 0]
		}
		if is != last {
			out.WriteString(is)
		}
		last = is
	}
	return out.String()
}

// A node that follows on another shows what that recorded, and the time between as a gap. What
// the other could not save is at most a minute.
func TestRecorder_Restart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver := store.NewMemory()
		run := func(s *studio, f func()) {
			s.Start(s.Computes.Run, s.Sessions.Run, s.queues.Run, s.matches.Run, s.pages.Run)
			synctest.Wait()
			f()
			s.Close()
		}
		first := newStudio(t, driver)
		run(first, func() {
			first.furnish()
			for i := range 5 {
				first.place(fmt.Sprint("first-", i))
			}
			first.match("anna", "bert")
			first.pages.crashes.add(Crash{At: time.Now(), Cause: event.ServerProcessCrashed, Compute: "c"})
			wait.Pass(90 * time.Second)
			first.place("cut-off")
			wait.Pass(10 * time.Second)
		})
		begun := first.pages.begun
		wait.Pass(4 * time.Minute)
		second := newStudio(t, driver)
		run(second, func() {
			wait.Pass(30 * time.Second)
			synctest.Wait()
			now := second.pages.Now(ranges["15m"])
			if got := shape(now.Series.Values["starts"]); got != "-0-0" {
				t.Errorf("starts are %s", got)
			}
			if got := shape(now.Series.Values["pending"]); !strings.HasPrefix(got, "-+0+-") {
				t.Errorf("pending placements are %s", got)
			}
			for name, r := range ranges {
				queue, err := second.pages.Queue("q", r)
				second.Must(err)
				if got := shape(queue.Series.Values["placement TIMED_OUT"]); r.in == fine && !strings.HasPrefix(got, "-0+0-") {
					t.Errorf("%s: placements that timed out are %s", name, got)
				}
				if queue.Counts["placement TIMED_OUT"] != 6 { // the last one when the second node began
					t.Errorf("%s: %v", name, queue.Counts)
				}
				c, err := second.pages.Matchmaker("duel", r)
				second.Must(err)
				if c.Counts["created"] != 2 || c.Match.Quantiles["p50"] == nil || c.Accept != nil || c.Place != nil {
					t.Errorf("%s: the configuration has %v and %v", name, c.Counts, c.Match.Quantiles)
				}
			}
			crashes := second.pages.Crashes(Hour)
			if len(crashes.Groups) != 1 || !crashes.Since.Equal(begun) {
				t.Errorf("crashes since %v are %+v, want one since %v", crashes.Since, crashes.Groups, begun)
			}
		})
	})
}

// However long it records, it saves in the same rows again.
func TestRecorder_RowsAreBounded(t *testing.T) {
	t.Parallel()
	inStudio(t, store.NewMemory(), func(s *studio) {
		const between = 25 * time.Minute
		r, begun := s.pages.recorder, time.Now()
		ids := map[string]bool{}
		for at := begun; at.Before(begun.Add(8 * 24 * time.Hour)); at = at.Add(between) {
			r.whole.count(at, "starts")
			rows, err := r.changed(at.Add(-between), at)
			s.Must(err)
			for _, row := range rows {
				ids[row.ID] = true
			}
		}
		const want = 61 + 289 + 337 + 1 // of each resolution, and of crashes
		if len(ids) != want {
			t.Errorf("there are %d rows, want %d", len(ids), want)
		}
		rows, err := r.changed(begun, begun.Add(365*24*time.Hour))
		s.Must(err)
		if len(rows) != want {
			t.Errorf("a save after a year has %d rows, want %d", len(rows), want)
		}
	})
}

// The time from start to end does not divide crashes; exit codes and signals do.
func TestAlike(t *testing.T) {
	t.Parallel()
	exit := func(e diagnose.End) string {
		e.Known = true
		return alike(diagnose.Exit(e) + "; it had called ProcessReady")
	}
	long, short := exit(diagnose.End{Code: 2, Lived: time.Hour + 3*time.Second}), exit(diagnose.End{Code: 2, Lived: 251 * time.Microsecond})
	if want := "exited with code 2, and wrote nothing to stderr"; long != want || short != want || exit(diagnose.End{Code: 2, Lived: 25200 * time.Millisecond}) != want {
		t.Errorf("%q and %q, want %q", long, short, want)
	}
	if other := exit(diagnose.End{Code: 3, Lived: time.Second}); other == short {
		t.Errorf("codes 2 and 3 are both %q", other)
	}
	if got := exit(diagnose.End{Signal: "SIGABRT", Lived: time.Minute}); !strings.HasPrefix(got, "was ended by signal SIGABRT (") || strings.Contains(got, "after") {
		t.Error(got)
	}
}

// Only ends that nobody asked for are crashes.
func TestCrashOf(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	const how = "ended by signal SIGSEGV; it had not called InitSDK"
	for why, want := range map[event.Code]bool{event.ServerProcessCrashed: true, event.ServerProcessUnhealthy: true, event.ProcessEnded: false, event.InstanceDraining: false} {
		late, ok := crashOf(&compute.Process{Why: why, Initialized: now.Add(-time.Minute)}, how, now)
		early, okEarly := earlyCrashOf(instance.Unconnected{Code: why, How: how, Lived: time.Minute}, now)
		for _, c := range []Crash{late, early} {
			if ok != want || okEarly != want || ok && (c.Cause != why || c.How != "ended by signal SIGSEGV" || c.Lived != 60_000) {
				t.Errorf("%s: %+v, %v and %v", why, c, ok, okEarly)
			}
		}
	}
}
