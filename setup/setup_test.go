package setup

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
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
	if plan := Compare(s, s, true); len(plan) > 0 {
		t.Errorf("a set-up differs from itself: %+v", plan)
	}
}

func TestParse_Mistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ from, to, want string }{
		{"EC2InstanceType", "EC2InstancType", `muster.yaml:9: unknown key "EC2InstancType" in Fleets.arena; did you mean "EC2InstanceType"?`},
		{"Build: arena", "Build: areno", `muster.yaml:8: Fleets.arena.Build: "areno" is not in the file; did you mean "arena"?`},
		{"{Fleet: arena}", "{Fleet: arena, Message: gone}", `muster.yaml:22: Aliases.live must have one of Fleet, ContainerFleet and Message`},
		{"c5.large", "c5.larg", `did you mean "c5.large"?`},
		{"{Alias: live}", "{}", `: GameSessionQueues.main.Destinations[0] must have one of Fleet, ContainerFleet, Alias and DestinationArn`},
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
		plan := Compare(parse(t, strings.Replace(have, test.from, test.to, 1)), s, false)
		if err := plan.Err(); err != nil {
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
	plan := Compare(want, have, true)
	if err := plan.Err(); err != nil || len(plan) != 3 || plan[0].Op != Replace || plan[1].Op != Leave || plan[2].Op != Leave {
		t.Errorf("the plan is %+v, %v", plan, plan.Err())
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
		err := Compare(parse(t, strings.Replace(guide(t), "Version: 1", test.version, 1)), have, false).Err()
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

// Of several builds the one with the files of the file is meant, each by one key, if it is the same
// otherwise.
func TestMatching_SameFiles(t *testing.T) {
	t.Parallel()
	have := &Setup{}
	have.AddBuild("arena", &Build{Name: "arena", Content: "new", OperatingSystem: types.OperatingSystemAmazonLinux2023})
	have.AddBuild("arena#build-1", &Build{Name: "arena", Content: "old", OperatingSystem: types.OperatingSystemAmazonLinux2023})
	for _, test := range []struct {
		want map[string]*Build
		is   map[string]string
	}{
		{map[string]*Build{"arena": {Content: "new"}}, map[string]string{"arena": "arena"}},
		{map[string]*Build{"arena": {Content: "old"}}, map[string]string{"arena": "arena (another)", "arena#build-1": "arena"}},
		{map[string]*Build{"arena": {Content: "other"}}, map[string]string{"arena": "arena"}},
		{map[string]*Build{"arena": {Content: "old", OperatingSystem: types.OperatingSystemAmazonLinux2}}, map[string]string{"arena": "arena"}},
		{map[string]*Build{"a": {Name: "arena", Content: "other"}, "b": {Name: "arena", Content: "new"}}, map[string]string{"arena": "b"}},
		{map[string]*Build{"arena": {Content: "old"}, "b": {Name: "arena", Content: "new"}}, map[string]string{"arena": "b", "arena#build-1": "arena"}},
	} {
		if diff := cmp.Diff(test.is, have.Matching(&Setup{Builds: test.want})); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.want, diff)
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
	if err := s.check("", nil); err != nil {
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
		for _, a := range Compare(s, &Setup{}, true) {
			if a.Op != Create {
				t.Errorf("for an empty server the plan has %+v", a)
			}
		}
		for _, a := range Compare(&Setup{}, s, true) {
			if a.Op != Delete && !Former(a.Name) {
				t.Errorf("for an empty file the plan has %+v", a)
			}
		}
	})
}

// A fleet whose build has been deleted is not replaced for that alone. What is not known is said.
func TestCompare_BuildDeleted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to string // changes of the file
		change   func(have *Setup)
		want     string
	}{
		"the file's build is there":            {want: "leave fleet arena?"},
		"so is it, with another change":        {from: "Description: the arena", to: "Description: other", want: "update fleet arena?"},
		"the file's build is uploaded":         {change: func(have *Setup) { have.Builds = nil }, want: "create build arena; leave fleet arena?"},
		"the file does not say where it is":    {from: "    Folder: dist\n", change: func(have *Setup) { have.Builds = nil }, want: "leave build arena?; leave fleet arena?"},
		"the file has new files for the build": {change: func(have *Setup) { have.Builds["arena"].Content = "other" }, want: "replace build arena; replace fleet arena"},
		"another fleet runs on other machines": {from: "c5.large", to: "c5.xlarge", want: "replace fleet arena"},
		"a deployment was asked for":           {change: func(have *Setup) { have.ReplaceLost("arena") }, want: "replace fleet arena"},
	} {
		text := strings.Replace(guide(t), "    EC2InstanceType:", "    Description: the arena\n    EC2InstanceType:", 1)
		have, want := parse(t, text), parse(t, strings.Replace(text, test.from, test.to, 1))
		want.Builds["arena"].Content = "digest"
		have.Builds["arena"].Name, have.Builds["arena"].Content = "arena", "digest"
		have.Fleets["arena"].Build = ""
		have.LoseBuild("arena", "build-1")
		if test.change != nil {
			test.change(have)
		}
		plan := Compare(want, have, false)
		var said []string
		for _, a := range plan {
			line := string(a.Op) + " " + string(a.Kind) + " " + a.Name
			if a.Unknown != "" {
				line += "?"
			}
			said = append(said, line)
		}
		if got := strings.Join(said, "; "); got != test.want || plan.Err() != nil {
			t.Errorf("%s: the plan is %s (%v), want %s", name, got, plan.Err(), test.want)
		}
	}
}

// A fleet in status ERROR, which it does not leave, is replaced, even by what the file described before.
func TestCompare_FailedFleet(t *testing.T) {
	t.Parallel()
	have, want := parse(t, guide(t)), parse(t, guide(t))
	have.Builds["arena"].Name = "arena"
	have.FailFleet("arena")
	plan := Compare(want, have, false)
	if len(plan) != 1 || plan[0].Op != Replace || plan[0].Kind != FleetKind || plan.Err() != nil ||
		!slices.Equal(plan[0].Changes, []Change{{Member: "Status", From: "ERROR", To: "ACTIVE"}}) {
		t.Errorf("the plan is %+v", plan)
	}
}

// A location that neither the file nor the server has is in the plan, before anything is done.
func TestCompare_LocationNowhere(t *testing.T) {
	t.Parallel()
	const file = "Fleets: {lab: {ComputeType: ANYWHERE, Locations: {custom-lab: {}, us-west-2: {}}}}\n"
	want := parse(t, file)
	plan := Compare(want, &Setup{}, false)
	if err := plan.Err(); err == nil || err.Error() != "create fleet lab: there is no location custom-lab: add it to Locations of the file" {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
	for who, with := range map[string][2]*Setup{
		"the server": {want, {Locations: map[string]*Location{"custom-lab": {}}}},
		"the file":   {parse(t, "Locations: {custom-lab: {}}\n"+file), {}},
	} {
		if plan := Compare(with[0], with[1], false); plan.Err() != nil {
			t.Errorf("%s has it: %v", who, plan.Err())
		}
	}
}

// What cannot be done is in the plan, with a remedy, beside what can.
func TestCompare_Impossible(t *testing.T) {
	t.Parallel()
	file := func(certificate, timeout, folder string) *Setup {
		return parse(t, `
Locations: {custom-lab: {}}
Builds: {game: {OperatingSystem: AMAZON_LINUX_2023`+folder+`}}
Fleets: {lab: {ComputeType: ANYWHERE, CertificateConfiguration: {CertificateType: `+certificate+`}, Locations: {custom-lab: {}}}}
Aliases: {live: {Fleet: lab}}
GameSessionQueues: {main: {TimeoutInSeconds: `+timeout+`, Destinations: [{Alias: live}]}}
`)
	}
	have := file("DISABLED", "60", "")
	have.Builds = nil
	plan := Compare(file("GENERATED", "90", ""), have, false)
	var can, cannot []string
	for _, a := range plan {
		if a.Impossible == "" {
			can = append(can, a.Name)
		} else {
			cannot = append(cannot, a.Name+": "+a.Impossible)
		}
	}
	if len(can) != 1 || can[0] != "main" || len(cannot) != 2 || !strings.Contains(cannot[0], "game: ") || !strings.Contains(cannot[0], "add one of them") ||
		!strings.Contains(cannot[1], "lab: CertificateConfiguration.CertificateType cannot be changed") || !strings.Contains(cannot[1], "Give the new one another name") {
		t.Errorf("can %q, cannot %q", can, cannot)
	}
	if err := plan.Err(); err == nil || strings.Count(err.Error(), "\n") != 1 || !plan.Doable() {
		t.Errorf("the error is %v, doable %v", err, plan.Doable())
	}
	if plan := Compare(file("DISABLED", "60", ", Folder: dist"), have, false); plan.Err() != nil || len(plan) != 1 {
		t.Errorf("with a folder the plan is %+v", plan)
	}
}

// An action needs what it leads to from then on; what is deleted must have lost its users.
func TestCompare_Needs(t *testing.T) {
	t.Parallel()
	const text = `
Locations: {custom-lab: {}}
Fleets: {lab: {ComputeType: ANYWHERE, Locations: {custom-lab: {}}}, other: {ComputeType: ANYWHERE, Locations: {custom-lab: {}}}}
Aliases: {live: {Fleet: lab}}
GameSessionQueues: {main: {TimeoutInSeconds: 60, Destinations: [{Alias: live}, {Fleet: other}]}}
`
	needs := func(plan Plan) map[string]string {
		all := map[string]string{}
		for _, a := range plan {
			var names []string
			for _, r := range a.Needs {
				names = append(names, r.Name)
			}
			all[string(a.Op)+" "+a.Name] = strings.Join(names, " ")
		}
		return all
	}
	whole := parse(t, text)
	for name, test := range map[string]struct{ got, want map[string]string }{
		"created": {needs(Compare(whole, &Setup{}, false)), map[string]string{
			"create custom-lab": "", "create lab": "custom-lab", "create other": "custom-lab", "create live": "lab", "create main": "live other",
		}},
		"another timeout": {needs(Compare(parse(t, strings.Replace(text, "60", "90", 1)), whole, false)), map[string]string{"update main": ""}},
		"another fleet":   {needs(Compare(parse(t, strings.Replace(text, "{Fleet: lab}", "{Fleet: other}", 1)), whole, false)), map[string]string{"update live": "other"}},
		"deleted": {needs(Compare(&Setup{}, whole, true)), map[string]string{
			"delete main": "", "delete live": "main", "delete lab": "live", "delete other": "main", "delete custom-lab": "lab other",
		}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
