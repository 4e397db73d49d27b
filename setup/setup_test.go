package setup

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// guide returns the file in docs/deploying.md.
func guide(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../docs/deploying.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	file, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/deploying.md has no file")
	}
	return file
}

func parse(t *testing.T, text string) *Setup {
	t.Helper()
	s, err := Parse("muster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The file of the guide is read, and is the same when it is written and read again.
func TestParse_Guide(t *testing.T) {
	t.Parallel()
	s := parse(t, guide(t))
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, parse(t, string(text)), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	s.Builds["arena"].Name = "arena" // as a server shows it
	if plan, err := Compare(s, s, true); err != nil || len(plan) > 0 {
		t.Errorf("a set-up differs from itself: %+v, %v", plan, err)
	}
}

func TestParse_Mistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ from, to, want string }{
		{"EC2InstanceType", "EC2InstancType", `muster.yaml:9: unknown key "EC2InstancType" in Fleets.arena; did you mean "EC2InstanceType"?`},
		{"Build: arena", "Build: areno", `muster.yaml: Fleets.arena.Build: "areno" is not in the file; did you mean "arena"?`},
		{"{Fleet: arena}", "{Fleet: arena, Message: gone}", `muster.yaml: Aliases.live must have one of Fleet, ContainerFleet and Message`},
		{"c5.large", "c5.larg", `did you mean "c5.large"?`},
		{"{Alias: live}", "{}", `GameSessionQueues.main.Destinations[0] must have one of Fleet, ContainerFleet, Alias and DestinationArn`},
	} {
		_, err := Parse("muster.yaml", []byte(strings.Replace(guide(t), test.from, test.to, 1)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("with %s the error is %v, want %s", test.to, err, test.want)
		}
	}
}

// What a change of the file means for the server.
func TestCompare(t *testing.T) {
	t.Parallel()
	have := guide(t)
	for _, test := range []struct{ name, from, to, want string }{
		{"queue", "TimeoutInSeconds: 60", "TimeoutInSeconds: 90", "update queue main TimeoutInSeconds 60>90"},
		{"left out", "    TimeoutInSeconds: 60\n", "", ""},
		{"instance type", "c5.large", "c5.xlarge", "replace fleet arena EC2InstanceType c5.large>c5.xlarge"},
		{"scaled", "DesiredInstances: 2", "DesiredInstances: 3", ""},
		{"build", "Version: 1", "Version: 2", "create build arena Version >\"2\" OperatingSystem >AMAZON_LINUX_2023; replace fleet arena Build arena@1 (another)>arena; leave build arena@1 (another)"},
		{"alias", "live: {Fleet: arena}", "live: {Message: closed}", "update alias live Message >closed"},
		{"rules", "four: {RuleSetFile: four.json}", "four: {RuleSetBody: '{}'}", "replace rule set four RuleSetBody >'{}'"},
		{"policy", "spare:", "more:", "update fleet arena ScalingPolicies.more >{PolicyType: TargetBased, MetricName: PercentAvailableGameSessions, TargetConfiguration: {TargetValue: 20}} ScalingPolicies.spare {PolicyType: TargetBased, MetricName: PercentAvailableGameSessions, TargetConfiguration: {TargetValue: 20}}>"},
	} {
		s := parse(t, have)
		for key, b := range s.Builds { // as a server shows them
			b.Name = key
		}
		plan, err := Compare(parse(t, strings.Replace(have, test.from, test.to, 1)), s, false)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, a := range plan {
			line := []string{string(a.Op), string(a.Kind), a.Name}
			for _, c := range a.Changes {
				line = append(line, c.Member, c.From+">"+c.To)
			}
			said = append(said, strings.Join(line, " "))
		}
		if got := strings.ReplaceAll(strings.Join(said, "; "), "'2'", `"2"`); got != test.want {
			t.Errorf("%s: the plan is\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// A replacement that stopped when the new fleet had no name yet goes on.
func TestCompare_Resumes(t *testing.T) {
	t.Parallel()
	want, have := parse(t, guide(t)), parse(t, guide(t))
	have.Builds["arena"].Name = "arena"
	have.Fleets[NextName("arena")] = have.Fleets["arena"]
	have.Fleets[PreviousName("arena")] = have.Fleets["arena"]
	delete(have.Fleets, "arena")
	plan, err := Compare(want, have, true)
	if err != nil || len(plan) != 3 || plan[0].Op != Replace || plan[1].Op != Leave || plan[2].Op != Leave {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
}

// A rollback that stopped is finished before another fleet takes the place.
func TestCompare_RollbackStopped(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fleets  []string
		version string
		refused bool
	}{
		"before it took the place":        {[]string{"arena", ReturningName("arena")}, "Version: 2", true},
		"while it took the place":         {[]string{PreviousName("arena"), ReturningName("arena")}, "Version: 1", true},
		"and the file says what is there": {[]string{"arena", ReturningName("arena")}, "Version: 1", false},
	} {
		have := parse(t, guide(t))
		have.Builds["arena"].Name = "arena"
		fleet := have.Fleets["arena"]
		have.Fleets = map[string]*Fleet{}
		for _, name := range test.fleets {
			have.Fleets[name] = fleet
		}
		_, err := Compare(parse(t, strings.Replace(guide(t), "Version: 1", test.version, 1)), have, false)
		if refused := err != nil && strings.Contains(err.Error(), "muster deploy --rollback --fleet arena"); refused != test.refused || err != nil && !refused {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// A build without a version is the newest one of its name.
func TestMatching_Newest(t *testing.T) {
	t.Parallel()
	have := &Setup{}
	for _, version := range []string{"10", "9", "1"} {
		have.AddBuild("arena@"+version, &Build{Name: "arena", Version: &version})
	}
	nine := "9"
	for want, b := range map[string]*Build{"arena@10": {}, "arena@9": {Version: &nine}} {
		got := have.Matching(&Setup{Builds: map[string]*Build{"arena": b}})
		if len(got) != 1 || got[want] != "arena" {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

// A set-up for others has no fleets of deployments, and nothing that leads to them.
func TestSettled(t *testing.T) {
	t.Parallel()
	s := parse(t, guide(t))
	for _, name := range []string{NextName("arena"), PreviousName("arena"), ReturningName("arena"), PreviousName("other")} {
		s.Fleets[name] = s.Fleets["arena"]
	}
	s.Aliases["former"] = &Alias{Fleet: PreviousName("arena")}
	queue := s.GameSessionQueues["main"]
	queue.Destinations = append([]Destination{{Fleet: NextName("arena")}, {Alias: "former"}, {DestinationArn: "arn"}}, queue.Destinations...)
	notes := s.Settled()
	if len(notes) != 6 || len(s.Fleets) != 2 || s.Fleets["arena"] == nil || s.Fleets[PreviousName("other")] == nil || len(s.Aliases) != 1 || len(queue.Destinations) != 2 {
		t.Errorf("the fleets are %v, the aliases %v, the destinations %+v, the notes %q", s.Fleets, s.Aliases, queue.Destinations, notes)
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
}

// FuzzParse holds Parse to its bounds, and what it takes to be comparable.
func FuzzParse(f *testing.F) {
	f.Add(guide(f))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("file", []byte(text))
		if err != nil {
			return
		}
		if _, err := s.Text(); err != nil {
			t.Error(err)
		}
		if _, err := Compare(s, &Setup{}, true); err == nil {
			if _, err := Compare(&Setup{}, s, true); err != nil {
				t.Error(err)
			}
		}
	})
}
