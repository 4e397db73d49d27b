package awsrpc

import (
	"math"
	"strings"
	"testing"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/fault"
)

func newTestServer(t testing.TB) *Server {
	t.Helper()
	s, err := New(Options{API: gamelift.API()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCheck(t *testing.T) {
	s := newTestServer(t)
	long := func(n int) *string { return new(strings.Repeat("é", n)) }
	player := func(p gamelift.Player) *gamelift.StartMatchmakingInput {
		return &gamelift.StartMatchmakingInput{ConfigurationName: new("c"), Players: []gamelift.Player{p}}
	}
	for _, c := range []struct {
		name      string
		operation string
		in        any
		want      string // "" is valid
	}{
		{"valid", "DescribeAlias", &gamelift.DescribeAliasInput{AliasId: new("alias-1")}, ""},
		{"required", "DescribeAlias", &gamelift.DescribeAliasInput{}, "AliasId: is required"},
		{"pattern", "DescribeAlias", &gamelift.DescribeAliasInput{AliasId: new("fleet-1")},
			`AliasId: must match ^alias-\S+|^arn:.*:alias\/alias-\S+`},
		{"pattern is for the whole string", "CreateGameSessionQueue", &gamelift.CreateGameSessionQueueInput{Name: new("a b")},
			"Name: must match [a-zA-Z0-9-]+"},
		{"at most, in code points", "CreateAlias", &gamelift.CreateAliasInput{Name: long(1024), RoutingStrategy: &gamelift.RoutingStrategy{}}, ""},
		{"too long", "CreateAlias", &gamelift.CreateAliasInput{Name: long(1025), RoutingStrategy: &gamelift.RoutingStrategy{}},
			"Name: must have 1 to 1024 characters"},
		{"empty", "CreateAlias", &gamelift.CreateAliasInput{Name: new(""), RoutingStrategy: &gamelift.RoutingStrategy{}},
			`Name: must have 1 to 1024 characters; Name: must match .*\S.*`},
		{"nested enum", "CreateAlias", &gamelift.CreateAliasInput{Name: new("n"), RoutingStrategy: &gamelift.RoutingStrategy{Type: new("X")}},
			"RoutingStrategy.Type: must be one of SIMPLE, TERMINAL"},
		{"several", "CreateAlias", &gamelift.CreateAliasInput{RoutingStrategy: &gamelift.RoutingStrategy{Type: new("X")}},
			"Name: is required; RoutingStrategy.Type: must be one of SIMPLE, TERMINAL"},
		{"number", "ListAliases", &gamelift.ListAliasesInput{Limit: new(int32(0))}, "Limit: must be at least 1"},
		{"fraction", "CreateContainerGroupDefinition", &gamelift.CreateContainerGroupDefinitionInput{
			Name: new("n"), TotalMemoryLimitMebibytes: new(int32(5)), TotalVcpuLimit: new(0.1), OperatingSystem: new("AMAZON_LINUX_2023")},
			"TotalVcpuLimit: must be 0.125 to 10"},
		{"list", "CreateGameSession", &gamelift.CreateGameSessionInput{MaximumPlayerSessionCount: new(int32(2)),
			GameProperties: make([]gamelift.GameProperty, 1)},
			"GameProperties[0].Key: is required; GameProperties[0].Value: is required"},
		{"empty list", "AcceptMatch", &gamelift.AcceptMatchInput{TicketId: new("t"), AcceptanceType: new("ACCEPT"), PlayerIds: []string{}}, ""},
		{"list of strings", "AcceptMatch", &gamelift.AcceptMatchInput{TicketId: new("t"), AcceptanceType: new("ACCEPT"), PlayerIds: []string{"a", ""}},
			"PlayerIds[1]: must have 1 to 1024 characters"},
		{"map value", "StartMatchmaking", player(gamelift.Player{LatencyInMs: map[string]int32{"us-east-1": 0}}),
			`Players[0].LatencyInMs["us-east-1"]: must be at least 1`},
		{"map key", "StartMatchmaking", player(gamelift.Player{LatencyInMs: map[string]int32{"": 5}}),
			`Players[0].LatencyInMs[""]: must have at least 1 character`},
		{"map of structures", "StartMatchmaking", player(gamelift.Player{PlayerAttributes: map[string]gamelift.AttributeValue{
			"skill": {N: new(math.NaN())}}}), `Players[0].PlayerAttributes["skill"].N: must be a finite number`},
		{"blob", "CreateScript", &gamelift.CreateScriptInput{ZipFile: make([]byte, 5000001)}, "ZipFile: must have at most 5000000 bytes"},
		{"large enum", "CreateFleet", &gamelift.CreateFleetInput{Name: new("f"), EC2InstanceType: new("x")},
			"EC2InstanceType: must be one of the API's 505 values, like t2.micro"},
	} {
		got := ""
		if err := new(checker).check(s.operations[c.operation].input, c.in); err != nil {
			f, ok := fault.As(err)
			if !ok || f.Kind != fault.InvalidRequest {
				t.Errorf("%s: %v is no InvalidRequestException", c.name, err)
				continue
			}
			got = f.Message
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A refusal stays readable however much is wrong.
func TestCheck_ManyViolations(t *testing.T) {
	s := newTestServer(t)
	in := &gamelift.AcceptMatchInput{TicketId: new("t"), AcceptanceType: new("ACCEPT"), PlayerIds: make([]string, 500)}
	err := new(checker).check(s.operations["AcceptMatch"].input, in)
	if f, _ := fault.As(err); f == nil || !strings.HasSuffix(f.Message, "; and 490 more") || len(f.Message) > 1000 {
		t.Errorf("got %v", err)
	}
}

func TestCheck_AllocatesNothingWhenValid(t *testing.T) {
	s := newTestServer(t)
	in := sampleStart()
	op := s.operations["StartGameSessionPlacement"]
	c := new(checker)
	if err := c.check(op.input, in); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(200, func() { _ = c.check(op.input, in) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		source, s string
		want      bool
	}{
		{`[a-zA-Z0-9-\.]+`, "a-b.c", true},
		{`[a-zA-Z0-9-\.]+`, "", false},
		{`[a-zA-Z0-9-\.]+`, "é", false},
		{`[a-zA-Z0-9-\.]*`, "", true},
		{`^alias-\S+|^arn:.*:alias\/alias-\S+`, "arn:aws:gamelift:us-east-1::alias/alias-1", true},
		{`^alias-\S+|^arn:.*:alias\/alias-\S+`, "alias-é", true},
		{`^alias-\S+|^arn:.*:alias\/alias-\S+`, "alias-a b", false},
		{`^[a-z]*fleet-[a-zA-Z0-9\-]+$`, "containerfleet-1", true},
		{`^[a-z]*fleet-[a-zA-Z0-9\-]+$`, "fleet-1", true},
		{`^[a-z]*fleet-[a-zA-Z0-9\-]+$`, "fleet-1\n", false},
		{`.*\S.*`, "  ", false},
		{`.*\S.*`, " x ", true},
		{`.*\S.*`, "x\ny", false},
		{`[\s\S]*`, "x\ny é", true},
		{`^[\u0031-\u0039][\u0030-\u0039]{0,2}$`, "100", true},
		{`^[\u0031-\u0039][\u0030-\u0039]{0,2}$`, "010", false},
		{`[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*`, "a\té😀", true},
		{`[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*`, "\x01", false},
		{`[a-zA-Z0-9:_/-]*(.fifo)?`, "arn:aws:sns:us-east-1:000000000000:t.fifo", true},
	} {
		p, err := newPattern(c.source)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.match(c.s); got != c.want {
			t.Errorf("%s matches %q: %v, want %v", c.source, c.s, got, c.want)
		}
	}
}

// The quick form never accepts what the regular expression does not.
func FuzzPattern(f *testing.F) {
	s := newTestServer(f)
	patterns := map[string]*pattern{}
	var collect func(r *rule, depth int)
	collect = func(r *rule, depth int) {
		if r == nil || depth > 8 {
			return
		}
		if r.pattern != nil {
			patterns[r.pattern.source] = r.pattern
		}
		collect(r.key, depth+1)
		collect(r.elem, depth+1)
		for _, m := range r.members {
			collect(m.rule, depth+1)
		}
	}
	for _, op := range s.operations {
		collect(op.input, 0)
	}
	if len(patterns) < 40 {
		f.Fatalf("only %d patterns", len(patterns))
	}
	for _, seed := range []string{"", "alias-1", "arn:aws:gamelift:us-east-1::alias/alias-1", "fleet-1", "a.b", "\n", "é", "x y", "t.fifo", "/a/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for source, p := range patterns {
			if p.match(text) != p.re.MatchString(text) {
				t.Fatalf("%s and %q: the quick form says %v", source, text, p.match(text))
			}
		}
	})
}
