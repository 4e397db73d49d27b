package flexmatch

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/cases"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// TestCases plays the written examples of matches and ticket lives on the real
// service, in virtual time: with its tables, its deadlines, its queue and game
// servers. (Package cases plays the same ones on the search alone.)
func TestCases(t *testing.T) {
	raw, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := cases.Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for i := range file.Cases {
		c := &file.Cases[i]
		if c.Kind != "match" && c.Kind != "lifecycle" {
			continue
		}
		played++
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { play(t, c) })
		})
	}
	if played < 100 {
		t.Errorf("only %d cases were played", played)
	}
}

// round is one case being played.
type round struct {
	*cell
	c      *cases.Case
	begun  time.Time
	errors map[string]string
}

func play(t *testing.T, c *cases.Case) {
	r := &round{cell: newCell(t, store.NewMemory(), Options{}), c: c, errors: map[string]string{}}
	r.begun = time.Now()
	r.set()
	r.Start(r.matches.deadlines.Run, r.places.Run, r.Sessions.Run)
	defer r.Close()
	for _, at := range r.seconds() {
		wait.Pass(time.Until(r.begun.Add(time.Duration(at * float64(time.Second)))))
		synctest.Wait()
		r.second(at)
		synctest.Wait()
	}
	r.compare()
}

// set creates the case's rule set and configuration, with a queue if it needs one.
func (r *round) set() {
	conf := r.c.Config
	made := Configuration{Mode: Mode(conf.FlexMatchMode), AcceptanceRequired: conf.AcceptanceRequired, Additional: conf.AdditionalPlayerCount}
	if made.Mode == "" {
		made.Mode = Standalone
	}
	if conf.AcceptanceTimeoutSeconds != nil {
		made.AcceptanceTimeout = time.Duration(*conf.AcceptanceTimeoutSeconds * float64(time.Second))
	} else {
		made.AcceptanceTimeout = time.Minute
	}
	if conf.RequestTimeoutSeconds != nil {
		made.RequestTimeout = time.Duration(*conf.RequestTimeoutSeconds * float64(time.Second))
	}
	processes := 8
	if r.fails() {
		processes = 0
	}
	r.hosts(processes, r.delay())
	r.configure("c", r.c.Body, made)
}

// fails reports whether the case's placements fail.
func (r *round) fails() bool {
	return r.c.Config.Placement != nil && r.c.Config.Placement.Result == "FAILED"
}

// delay returns how long the case's placements take.
func (r *round) delay() time.Duration {
	if r.c.Config.Placement == nil {
		return 0
	}
	return time.Duration(r.c.Config.Placement.DelaySeconds * float64(time.Second))
}

// seconds returns every second that the case mentions, in order.
func (r *round) seconds() []float64 {
	out := slices.Concat(r.c.Passes, r.c.Timers)
	for _, t := range r.c.Tickets {
		out = append(out, t.At)
	}
	for _, a := range r.c.Actions {
		out = append(out, a.At)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// second plays one second: arrivals, actions, then the pass.
func (r *round) second(at float64) {
	for _, t := range r.c.Tickets {
		if t.At == at {
			r.arrive(t)
		}
	}
	for _, a := range r.c.Actions {
		if a.At == at {
			r.act(a)
		}
	}
	synctest.Wait() // deadlines of this second
	if !slices.Contains(r.c.Passes, at) {
		return
	}
	m := r.matches.matchers.of("c")
	if _, err := m.cycle(r.Ctx); err != nil {
		r.Fatal(err)
	}
	synctest.Wait() // placements of the matches
	if r.fails() {
		r.failPlacements()
	}
}

// failPlacements fails the placements of matches that have waited as long as the case
// says. No process takes them.
func (r *round) failPlacements() {
	for _, e := range r.published() {
		if e.Type != "PotentialMatchCreated" {
			continue
		}
		p, _, err := r.places.Get(r.Ctx, e.MatchID)
		r.Must(err)
		if p.Status == placement.Pending && time.Since(p.Started) >= r.delay() {
			_, _, err := r.places.Stop(r.Ctx, e.MatchID)
			r.Must(err)
		}
	}
}

func (r *round) arrive(t cases.Ticket) {
	in := StartInput{Configuration: "c", TicketID: t.TicketID}
	for _, p := range t.Players {
		in.Players = append(in.Players, p.Request())
	}
	if t.Backfill != nil {
		in.Backfill, in.GameSessionID = true, t.Backfill.GameSessionARN
		if in.GameSessionID != "" && r.c.Config.FlexMatchMode == string(WithQueue) {
			in.GameSessionID = r.game(in.GameSessionID, in.Players)
		}
	}
	_, _, err := r.matches.Start(r.Ctx, in)
	r.note(t.TicketID, err)
}

// game returns the game session that stands for the one named in a case, with players.
func (r *round) game(name string, players []Player) string {
	id := "game-" + name[strings.LastIndex(name, "/")+1:]
	if _, _, err := r.places.Get(r.Ctx, id); err != nil {
		request := placement.Request{ID: id, MaxPlayers: 8, MatchmakerData: "{}"}
		for _, p := range players {
			request.Players = append(request.Players, session.Joining{PlayerID: p.ID})
		}
		_, err := r.places.Start(r.Ctx, placement.StartInput{Queue: queue, Request: request})
		r.Must(err)
		synctest.Wait()
	}
	p, _, err := r.places.Get(r.Ctx, id)
	r.Must(err)
	return p.GameSessionID
}

func (r *round) act(a cases.Action) {
	var err error
	if a.Op == "StopMatchmaking" {
		err = r.matches.Stop(r.Ctx, a.TicketID)
	} else {
		err = r.matches.Answer(r.Ctx, AcceptInput{TicketID: a.TicketID, PlayerIDs: a.PlayerIDs, Answer: Answer(a.AcceptanceType)})
	}
	r.note(fmt.Sprintf("%s@%v", a.Op, a.At), err)
}

func (r *round) note(what string, err error) {
	var f *fault.Fault
	switch {
	case err == nil:
	case errors.As(err, &f):
		r.errors[what] = string(f.Kind)
	default:
		r.Fatal(err)
	}
}

func (r *round) compare() {
	want := r.c.Expect
	if want.Errors != nil || len(r.errors) > 0 && want.Tickets != nil {
		if diff := cmp.Diff(orEmpty(want.Errors), r.errors); diff != "" {
			r.Errorf("errors (-want +got):\n%s", diff)
		}
	}
	for id, t := range want.Tickets {
		got := r.ticket(id)
		if t.Status != nil && *t.Status != string(got.Status) {
			r.Errorf("ticket %s is %s, want %s", id, got.Status, *t.Status)
		}
		if t.StatusReason != nil && *t.StatusReason != got.Reason {
			r.Errorf("ticket %s has the reason %q, want %q", id, got.Reason, *t.StatusReason)
		}
	}
	r.compareWaiting()
	r.compareMatches()
	r.compareEvents()
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func (r *round) compareWaiting() {
	if r.c.Expect.Waiting == nil {
		return
	}
	got := []string{}
	for t := range r.matches.t.tickets.All(r.Store.View()) {
		if t.Status.Waits() {
			got = append(got, t.ID)
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(r.c.Expect.Waiting)), slices.Sorted(slices.Values(got))); diff != "" {
		r.Errorf("waiting (-want +got):\n%s", diff)
	}
}

// compareMatches compares the potential matches, in the order of the pass, with the
// tickets and team sizes that the case expects.
func (r *round) compareMatches() {
	if r.c.Expect.Matches == nil {
		return
	}
	var got []detail
	for _, d := range r.published() {
		if d.Type == "PotentialMatchCreated" {
			got = append(got, d)
		}
	}
	if len(got) != len(r.c.Expect.Matches) {
		r.Errorf("%d matches, want %d", len(got), len(r.c.Expect.Matches))
		return
	}
	for i, want := range r.c.Expect.Matches {
		var ids []string
		for _, t := range got[i].Tickets {
			ids = append(ids, t.ID)
		}
		if want.Tickets != nil && !slices.Equal(slices.Sorted(slices.Values(want.Tickets)), slices.Sorted(slices.Values(ids))) {
			r.Errorf("match %d has the tickets %v, want %v", i+1, ids, want.Tickets)
		}
		sizes := map[string]int{}
		for _, p := range got[i].Session.Players {
			sizes[p.Team]++
		}
		for team, n := range want.TeamSizes {
			if sizes[team] != n {
				r.Errorf("match %d has teams of %v, want %v", i+1, sizes, want.TeamSizes)
			}
		}
	}
}

func (r *round) compareEvents() {
	if r.c.Expect.Events == nil {
		return
	}
	var got, want []string
	for _, d := range r.published() {
		var ids []string
		for _, t := range d.Tickets {
			ids = append(ids, t.ID)
		}
		slices.Sort(ids)
		line := d.Type + " " + strings.Join(ids, ",")
		switch {
		case d.Acceptance != "":
			line += " " + d.Acceptance
		case d.Reason != "":
			line += " " + d.Reason
		}
		got = append(got, line)
	}
	for _, e := range r.c.Expect.Events {
		line := e.Type + " " + strings.Join(slices.Sorted(slices.Values(e.Tickets)), ",")
		if e.Acceptance != "" {
			line += " " + e.Acceptance
		}
		if e.Reason != "" {
			line += " " + e.Reason
		}
		if i := len(want); i < len(got) && e.Reason == "" && e.Acceptance == "" && strings.HasPrefix(got[i], line+" ") {
			got[i] = line // the case names no reason
		}
		want = append(want, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("events (-want +got):\n%s", diff)
	}
}
