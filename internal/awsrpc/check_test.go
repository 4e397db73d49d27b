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
		want      string // "" if valid
	}{
		{"valid", "DescribeAlias", &gamelift.DescribeAliasInput{AliasId: new("alias-1")}, ""},
		{"required", "DescribeAlias", &gamelift.DescribeAliasInput{}, "1 validation error detected: Value null at 'aliasId' failed to satisfy constraint: Member must not be null"},
		{"pattern", "DescribeAlias", &gamelift.DescribeAliasInput{AliasId: new("fleet-1")},
			`1 validation error detected: Value 'fleet-1' at 'aliasId' failed to satisfy constraint: Member must satisfy regular expression pattern: ^alias-\S+|^arn:.*:alias\/alias-\S+`},
		{"pattern is for the whole string", "CreateGameSessionQueue", &gamelift.CreateGameSessionQueueInput{Name: new("a b")},
			"1 validation error detected: Value 'a b' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9-]+"},
		{"at most, in code points", "CreateAlias", &gamelift.CreateAliasInput{Name: long(1024), RoutingStrategy: &gamelift.RoutingStrategy{}}, ""},
		{"too long", "CreateAlias", &gamelift.CreateAliasInput{Name: long(1025), RoutingStrategy: &gamelift.RoutingStrategy{}},
			"1 validation error detected: Value '" + *long(50) + "…' at 'name' failed to satisfy constraint: Member must have length less than or equal to 1024"},
		{"empty", "CreateAlias", &gamelift.CreateAliasInput{Name: new(""), RoutingStrategy: &gamelift.RoutingStrategy{}},
			`2 validation errors detected: Value '' at 'name' failed to satisfy constraint: Member must have length greater than or equal to 1; ` +
				`Value '' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: .*\S.*`},
		{"nested enum", "CreateAlias", &gamelift.CreateAliasInput{Name: new("n"), RoutingStrategy: &gamelift.RoutingStrategy{Type: new("X")}},
			"1 validation error detected: Value 'X' at 'routingStrategy.type' failed to satisfy constraint: Member must satisfy enum value set: [SIMPLE, TERMINAL]"},
		{"several", "CreateAlias", &gamelift.CreateAliasInput{RoutingStrategy: &gamelift.RoutingStrategy{Type: new("X")}},
			"2 validation errors detected: Value null at 'name' failed to satisfy constraint: Member must not be null; " +
				"Value 'X' at 'routingStrategy.type' failed to satisfy constraint: Member must satisfy enum value set: [SIMPLE, TERMINAL]"},
		{"number", "ListAliases", &gamelift.ListAliasesInput{Limit: new(int32(0))}, "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		{"fraction", "CreateContainerGroupDefinition", &gamelift.CreateContainerGroupDefinitionInput{
			Name: new("n"), TotalMemoryLimitMebibytes: new(int32(5)), TotalVcpuLimit: new(0.1), OperatingSystem: new("AMAZON_LINUX_2023")},
			"1 validation error detected: Value '0.1' at 'totalVcpuLimit' failed to satisfy constraint: Member must have value greater than or equal to 0.125"},
		{"list", "CreateGameSession", &gamelift.CreateGameSessionInput{MaximumPlayerSessionCount: new(int32(2)),
			GameProperties: make([]gamelift.GameProperty, 1)},
			"2 validation errors detected: Value null at 'gameProperties.1.member.key' failed to satisfy constraint: Member must not be null; " +
				"Value null at 'gameProperties.1.member.value' failed to satisfy constraint: Member must not be null"},
		{"empty list", "AcceptMatch", &gamelift.AcceptMatchInput{TicketId: new("t"), AcceptanceType: new("ACCEPT"), PlayerIds: []string{}},
			"1 validation error detected: Value at 'playerIds' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		{"list of strings", "AcceptMatch", &gamelift.AcceptMatchInput{TicketId: new("t"), AcceptanceType: new("ACCEPT"), PlayerIds: []string{"a", ""}},
			"1 validation error detected: Value at 'playerIds.2.member' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		{"map value", "StartMatchmaking", player(gamelift.Player{LatencyInMs: map[string]int32{"us-east-1": 0}}),
			"1 validation error detected: Value '0' at 'players.1.member.latencyInMs.us-east-1.member' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		{"map key", "StartMatchmaking", player(gamelift.Player{LatencyInMs: map[string]int32{"": 5}}),
			"1 validation error detected: Value '' at 'players.1.member.latencyInMs' failed to satisfy constraint: Map keys must satisfy constraint: [Member must have length greater than or equal to 1]"},
		{"map of structures", "StartMatchmaking", player(gamelift.Player{PlayerAttributes: map[string]gamelift.AttributeValue{
			"skill": {N: new(math.NaN())}}}), "1 validation error detected: Value 'NaN' at 'players.1.member.playerAttributes.skill.member.n' failed to satisfy constraint: Member must be a finite number"},
		{"blob", "CreateScript", &gamelift.CreateScriptInput{ZipFile: make([]byte, 5000001)}, "1 validation error detected: Value '[5000001 bytes]' at 'zipFile' failed to satisfy constraint: Member must have length less than or equal to 5000000"},
		{"large enum", "CreateFleet", &gamelift.CreateFleetInput{Name: new("f"), EC2InstanceType: new("x")},
			"1 validation error detected: Value 'x' at 'eC2InstanceType' failed to satisfy constraint: Member must satisfy enum value set: [" +
				strings.Join(gamelift.EC2InstanceTypeValues()[:30], ", ") + ", and 496 more]"},
		{"control characters", "DescribeAlias", &gamelift.DescribeAliasInput{AliasId: new("a\x1b[2J\n\"\\é")},
			`1 validation error detected: Value 'a\x1b[2J\n"\é' at 'aliasId' failed to satisfy constraint: Member must satisfy regular expression pattern: ^alias-\S+|^arn:.*:alias\/alias-\S+`},
		{"control characters in a key", "StartMatchmaking", player(gamelift.Player{LatencyInMs: map[string]int32{"a\x00b": 0}}),
			`1 validation error detected: Value '0' at 'players.1.member.latencyInMs.a\x00b.member' failed to satisfy constraint: Member must have value greater than or equal to 1`},
		{"sensitive", "CreatePlayerSession", &gamelift.CreatePlayerSessionInput{GameSessionId: new("arn"), PlayerId: long(1025)},
			"1 validation error detected: Value at 'playerId' failed to satisfy constraint: Member must have length less than or equal to 1024"},
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

// An error stays short however many violations there are.
func TestCheck_ManyViolations(t *testing.T) {
	s := newTestServer(t)
	in := &gamelift.AcceptMatchInput{TicketId: new("t"), AcceptanceType: new("ACCEPT"), PlayerIds: make([]string, 500)}
	err := new(checker).check(s.operations["AcceptMatch"].input, in)
	if f, _ := fault.As(err); f == nil || !strings.HasSuffix(f.Message, "; and 490 more") || len(f.Message) > 2000 {
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

// The quick form of a pattern never accepts a string that the regular expression does
// not.
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
