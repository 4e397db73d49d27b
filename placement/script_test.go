package placement

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// TestScripts runs testdata/*.txt, in the language described in testdata/README.md. Each
// story in a file, headed "== name", has its own cell.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts found: %v", err)
	}
	for _, path := range paths {
		for _, story := range readStories(t, path) {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt")+"/"+story.name, func(t *testing.T) {
				inCell(t, Options{}, func(c *cell) {
					s := &script{cell: c, fleets: map[string]*fleet.Fleet{}, aliases: map[string]*fleet.Alias{}}
					for _, step := range story.steps {
						s.at = fmt.Sprintf("%s:%d: %s", filepath.Base(path), step.line, strings.Join(step.words, " "))
						s.play(step)
					}
				})
			})
		}
	}
}

type story struct {
	name  string
	steps []step
}

// step is one line at the margin and the indented lines below it.
type step struct {
	line  int
	words []string
	body  [][]string
}

func readStories(t *testing.T, path string) []story {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []story
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if words[0] == "==" {
			all = append(all, story{name: strings.Join(words[1:], " ")})
			continue
		}
		if len(all) == 0 {
			t.Fatalf("%s:%d: a story begins with == and its name", path, n)
		}
		last := &all[len(all)-1]
		if text[0] == ' ' && len(last.steps) > 0 {
			above := &last.steps[len(last.steps)-1]
			above.body = append(above.body, words)
			continue
		}
		last.steps = append(last.steps, step{line: n, words: words})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// script plays the steps of one story.
type script struct {
	*cell
	at      string
	fleets  map[string]*fleet.Fleet
	aliases map[string]*fleet.Alias
}

// fail reports a failure with the line of the script.
func (s *script) fail(format string, args ...any) {
	s.Helper()
	s.Fatalf("%s: %s", s.at, fmt.Sprintf(format, args...))
}

func (s *script) ok(err error) {
	if err != nil {
		s.Helper()
		s.fail("%v", err)
	}
}

func (s *script) play(at step) {
	s.Helper()
	verbs := map[string]func([]string, [][]string){
		"fleet": s.makeFleet, "alias": s.setAlias, "delete": s.delete, "remove": s.remove,
		"queue": s.makeQueue, "change": s.changeQueue, "free": s.free,
		"place": s.place, "cancel": s.cancel, "terminate": s.terminate,
		"activate": s.activate, "crash": s.crash, "deny": s.deny,
		"advance": s.advance, "expect": s.expect, "explain": s.explain,
	}
	do := verbs[at.words[0]]
	if do == nil {
		s.fail("unknown verb")
	}
	do(at.words[1:], at.body)
	wait.Settle(0)
}

// locations adds the prefix of custom locations to names.
func locations(names []string) []string {
	var all []string
	for _, n := range names {
		all = append(all, location(n))
	}
	return all
}

func location(name string) string { return "custom-" + name }

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	s.ok(err)
	return n
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	s.ok(err)
	return d
}

func (s *script) makeFleet(words []string, body [][]string) {
	in := fleet.CreateInput{Name: words[0], Locations: locations(words[2:])}
	for _, b := range body {
		switch b[0] {
		case "cost":
			in.Cost = b[1]
		case "activations":
			in.Runtime.MaxActivations = s.number(b[1])
		case "activation-timeout":
			in.Runtime.ActivationTimeout = s.duration(b[1])
		default:
			s.fail("unknown option %q", b[0])
		}
	}
	s.fleets[words[0]] = s.fleet(in)
}

func (s *script) setAlias(words []string, _ [][]string) {
	routing, fleetID, message := fleet.Terminal, "", "closed"
	if words[1] == "to" {
		routing, fleetID, message = fleet.Simple, s.fleets[words[2]].ID, ""
	}
	var err error
	if a := s.aliases[words[0]]; a != nil {
		_, err = s.cell.Fleets.Aliases.Update.Do(s.Ctx, fleet.AliasUpdate{AliasID: a.ID, Routing: routing, FleetID: fleetID, Message: message})
	} else {
		s.aliases[words[0]], err = s.cell.Fleets.Aliases.Create.Do(s.Ctx, fleet.AliasInput{Name: words[0], Routing: routing, FleetID: fleetID, Message: message})
	}
	s.ok(err)
}

func (s *script) delete(words []string, _ [][]string) {
	switch words[0] {
	case "fleet":
		s.ok(s.cell.Fleets.Delete.Do(s.Ctx, s.fleets[words[1]].ID))
	case "alias":
		s.ok(s.cell.Fleets.Aliases.Delete.Do(s.Ctx, s.aliases[words[1]].ID))
	case "queue":
		s.ok(s.places.Queues.Delete.Do(s.Ctx, words[1]))
	default:
		s.fail("delete what?")
	}
}

func (s *script) remove(words []string, _ [][]string) {
	_, err := s.cell.Fleets.RemoveLocations.Do(s.Ctx, fleet.LocationsInput{FleetID: s.fleets[words[0]].ID, Locations: []string{location(words[1])}})
	s.ok(err)
}

// destination returns the ARN of a fleet or an alias of the script.
func (s *script) destination(name string) string {
	if f := s.fleets[name]; f != nil {
		return s.fleetARN(f)
	}
	if a := s.aliases[name]; a != nil {
		return s.cell.Fleets.Home().OfAlias(a.ID)
	}
	s.fail("no fleet or alias is called %s", name)
	return ""
}

func (s *script) destinations(names []string) []string {
	var all []string
	for _, n := range names {
		all = append(all, s.destination(n))
	}
	return all
}

func (s *script) makeQueue(words []string, body [][]string) {
	q := Queue{Name: words[0], Destinations: s.destinations(words[2:])}
	refused := s.options(&q, body)
	_, err := s.places.Queues.Create.Do(s.Ctx, QueueInput{Queue: q})
	s.answer(err, refused)
}

func (s *script) changeQueue(words []string, body [][]string) {
	var q Queue
	in := QueueUpdate{Name: words[0]}
	if len(words) > 1 {
		in.Destinations = new(s.destinations(words[2:]))
	}
	refused := s.options(&q, body)
	for _, b := range body {
		switch b[0] {
		case "timeout":
			in.Timeout = &q.Timeout
		case "cap":
			in.Policies = &q.Policies
		case "priority":
			in.Priority = &q.Priority
		case "locations":
			in.LocationOrder = &q.LocationOrder
		case "allow":
			in.AllowedLocations = &q.AllowedLocations
		}
	}
	_, err := s.places.Queues.Update.Do(s.Ctx, in)
	s.answer(err, refused)
}

// options reads the members of a queue, and the expected text of a refusal.
func (s *script) options(q *Queue, body [][]string) (refused string) {
	for _, b := range body {
		switch b[0] {
		case "timeout":
			q.Timeout = s.duration(b[1])
		case "cap": // cap 130 for 60s
			if b[1] == "none" {
				continue
			}
			p := LatencyPolicy{Max: s.number(b[1])}
			if len(b) > 2 {
				p.Duration = s.duration(b[3])
			}
			q.Policies = append(q.Policies, p)
		case "priority":
			for _, c := range b[1:] {
				q.Priority = append(q.Priority, Criterion(strings.ToUpper(c)))
			}
		case "locations":
			q.LocationOrder = locations(b[1:])
		case "allow":
			q.AllowedLocations = locations(b[1:])
		case "refused":
			refused = strings.Join(b[1:], " ")
		default:
			s.fail("unknown option %q", b[0])
		}
	}
	return refused
}

// answer compares an error with what a script expects. A refusal must leave no trace.
func (s *script) answer(err error, refused string) {
	s.Helper()
	if refused == "" {
		s.ok(err)
		return
	}
	if f, ok := fault.As(err); !ok || !strings.Contains(f.Error(), refused) {
		s.fail("got %v, want a refusal with %q", err, refused)
	}
}

func (s *script) free(words []string, _ [][]string) {
	n, acts := 1, activates
	for _, w := range words[2:] {
		if b := behaviour(w); b == silent || b == crashes {
			acts = b
		} else {
			n = s.number(w)
		}
	}
	for range n {
		s.process(s.fleets[words[0]].ID, location(words[1]), acts)
	}
}

func (s *script) place(words []string, body [][]string) {
	r := Request{ID: words[0]}
	refused := ""
	for _, b := range body {
		switch b[0] {
		case "players":
			for _, p := range b[1:] {
				r.Players = append(r.Players, session.Joining{PlayerID: p})
			}
		case "size":
			r.MaxPlayers = s.number(b[1])
		case "latency": // latency ann us-east-1 100 us-west-2 50
			for i := 2; i+1 < len(b); i += 2 {
				r.Latencies = append(r.Latencies, Latency{PlayerID: b[1], Location: location(b[i]), Millis: float32(s.number(b[i+1]))})
			}
		case "override":
			r.Override = &Override{AfterSinglePass, locations(b[1:])}
		case "only":
			r.Override = &Override{NoFallback, locations(b[1:])}
		case "refused":
			refused = strings.Join(b[1:], " ")
		default:
			s.fail("unknown option %q", b[0])
		}
	}
	before := s.Store.View().Digest()
	_, err := s.start(words[2], r)
	if s.answer(err, refused); err != nil && s.Store.View().Digest() != before {
		s.fail("the refusal changed the state")
	}
}

func (s *script) cancel(words []string, body [][]string) {
	_, _, err := s.places.Stop(s.Ctx, words[0])
	s.answer(err, s.options(&Queue{}, body))
}

func (s *script) terminate(words []string, _ [][]string) {
	_, err := s.Sessions.Terminate(s.Ctx, s.get(words[0]).GameSessionID, session.Trigger)
	s.ok(err)
	s.hostOf(words[0]).end()
}

func (s *script) activate(words []string, _ [][]string) {
	s.hostOf(words[0]).activate(s.get(words[0]).GameSessionID)
}

func (s *script) crash(words []string, _ [][]string) { s.hostOf(words[0]).end() }

func (s *script) deny(words []string, _ [][]string) {
	s.ok(s.Sessions.SetJoinPolicy(s.Ctx, s.hostOf(words[0]).ref, s.get(words[0]).GameSessionID, session.DenyAll))
}

func (s *script) advance(words []string, _ [][]string) { wait.Settle(s.duration(words[0])) }

func (s *script) expect(words []string, _ [][]string) {
	if words[0] == "order" {
		s.order(words[1:])
		return
	}
	if got, want := s.state(words[0]), strings.Join(words[1:], " "); got != want {
		s.fail("%s %s", words[0], got)
	}
}

// state describes a placement in the words of scripts.
func (s *script) state(id string) string {
	p := s.get(id)
	switch {
	case p.Trying():
		return "activates on " + s.nameOf(s.Sessions.Live(s.Store.View(), p.GameSessionID).FleetID) + " " + strings.TrimPrefix(p.Location, "custom-")
	case p.Status == Pending:
		return "waits"
	case p.Status == Fulfilled:
		_, r, err := s.places.Get(s.Ctx, id)
		s.ok(err)
		if len(p.Placed) != len(r.Players) {
			s.fail("%d player sessions for %d players", len(p.Placed), len(r.Players))
		}
		return "placed on " + s.nameOf(strings.Split(p.GameSessionID, "/")[1]) + " " + strings.TrimPrefix(p.Location, "custom-")
	case p.Status == Cancelled:
		return "is cancelled"
	case p.Status == TimedOut:
		return "times out"
	}
	return "fails"
}

func (s *script) nameOf(fleetID string) string {
	for name, f := range s.fleets {
		if f.ID == fleetID {
			return name
		}
	}
	for name := range s.aliases {
		if s.destination(name) == fleetID {
			return name
		}
	}
	for name, f := range s.fleets {
		if s.fleetARN(f) == fleetID {
			return name
		}
	}
	return fleetID
}

// order compares the order in which game sessions were created for placements.
func (s *script) order(want []string) {
	var all []*Placement
	for _, id := range want {
		p := s.get(id)
		if p.GameSessionID == "" {
			s.fail("%s is not placed", id)
		}
		all = append(all, p)
	}
	var ids []string
	for _, e := range s.Recorded(event.GameSessionCreated) {
		ids = append(ids, e.GameSessionID)
	}
	slices.SortFunc(all, func(a, b *Placement) int {
		return slices.Index(ids, a.GameSessionID) - slices.Index(ids, b.GameSessionID)
	})
	var got []string
	for _, p := range all {
		got = append(got, p.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.fail("order (-want +got):\n%s", diff)
	}
}

// explain compares the candidates of a round: the current one for a waiting placement,
// else the last decision. "round N" selects a recorded one.
func (s *script) explain(words []string, body [][]string) {
	e, err := s.places.Explain(s.Ctx, words[0])
	s.ok(err)
	round := e.Now
	switch {
	case len(words) == 3 && words[1] == "round":
		if n := s.number(words[2]); n <= len(e.Rounds) {
			round = &e.Rounds[n-1]
		} else {
			s.fail("there are %d rounds", len(e.Rounds))
		}
	case round == nil:
		round = &e.Rounds[len(e.Rounds)-1]
	}
	if len(round.Candidates) != len(body) {
		s.fail("%d candidates: %+v", len(round.Candidates), round.Candidates)
	}
	for i, want := range body {
		v := round.Candidates[i]
		where := strings.TrimPrefix(v.Place.Location, "custom-")
		if where == "" {
			where = "-"
		}
		got := s.nameOf(v.Place.FleetID) + " " + where + " " + string(v.Outcome)
		if v.Failed > 0 {
			got += fmt.Sprintf(" failed %d", v.Failed)
		}
		got += " " + strings.ReplaceAll(v.Text, "custom-", "")
		if !strings.HasPrefix(strings.TrimSpace(got)+" ", strings.Join(want, " ")+" ") {
			s.fail("candidate %d is %q, want %q", i+1, got, strings.Join(want, " "))
		}
	}
}
