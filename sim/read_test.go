package sim_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/sim"
)

func TestReadSpec_Refuses(t *testing.T) {
	for text, want := range map[string]string{
		"populations: [{}]":                                                            "populations[0].tickets_per_minute is required",
		"populations: [{tickets_per_minute: [1, 2]}]":                                  "a list of 24 numbers",
		"populations: [{tickets_per_minute: 1, parties: {12: 1}}]":                     `"12" is no number of players from 1 to 10`,
		"populations: [{tickets_per_minute: 1, accept: 0.8, reject: 0.5}]":             "shares",
		"populations: [{tickets_per_minute: 1, attributes: {a: {}}}]":                  ".attributes.a: one of number",
		"populations: [{tickets_per_minute: 1, attributes: {a: {string: {x: 0}}}}]":    "at least one weight",
		"populations: [{tickets_per_minute: 1, latency_ms: {eu: {uniform: [2, 1]}}}]":  ".latency_ms.eu: uniform",
		"populations: [{tickets_per_minute: 1, patience_seconds: {normal: {sd: -1}}}]": "patience_seconds: a deviation",
		"matchmaking: {backfill: SOMETIMES}":                                           "matchmaking.backfill",
		"matchmaking: {pass_interval_seconds: 100}":                                    "pass_interval_seconds",
		"matches: {length: 5}":                                                         `unknown field "length"`,
		"matches: {length_seconds: {constant: 1, uniform: [1, 2]}}":                    "one of constant",
		"start_hour: [": "read players",
	} {
		_, err := sim.ReadSpec([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

func TestReadTrace_TableAndLinesAreOne(t *testing.T) {
	table := `at,ticket,player,population,N:skill,S:mode,SL:maps,SDM:prefs,ms:eu-west-1
2,b,p3,,5,,,,
0.5,a,p1,eu,1500,ctf,x|y,x=1|y=2.5,30
0.5,a,p2,eu,1400,,,,
`
	fromTable, err := sim.ReadTraceCSV(strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	lines := `{"at":0.5,"TicketId":"a","Players":[{"PlayerId":"p1","PlayerAttributes":{"maps":{"SL":["x","y"]},"mode":{"S":"ctf"},"prefs":{"SDM":{"x":1,"y":2.5}},"skill":{"N":1500}},"LatencyInMs":{"eu-west-1":30}},{"PlayerId":"p2","PlayerAttributes":{"skill":{"N":1400}}}],"population":"eu"}
{"at":2,"TicketId":"b","Players":[{"PlayerId":"p3","PlayerAttributes":{"skill":{"N":5}}}]}
`
	fromLines, err := sim.ReadTrace(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromLines, fromTable); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	if err := fromTable.Write(&out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestReadTrace_Refuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"at":1}`: "line 1: TicketId is required",
		"\n{\"at\":1,\"TicketId\":\"a\",\"Players\":[]}":                                                "line 2: ticket a has 0 players",
		`{"at":1,"TicketId":"a","Players":[{"PlayerId":"p","PlayerAttributes":{"x":{"N":1,"S":"y"}}}]}`: "attribute x: exactly one",
		`{"at":1,"TicketId":"a","players":1,"Level":2}`:                                                 "line 1: json",
		`{`: "line 1",
	} {
		if _, err := sim.ReadTrace(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                "EOF",
		"at,ticket\n":                     `no column "player"`,
		"at,ticket,player,skill\n":        `column "skill"`,
		"at,ticket,player,N:x\n0,a,b,c":   "row 2: column N:x",
		"at,ticket,player,SDM:x\n0,a,b,c": "not key=number",
	} {
		if _, err := sim.ReadTraceCSV(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

// FuzzRead reads foreign bytes as players and as traces: what is accepted must be
// written and read again as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte("populations: [{tickets_per_minute: 1}]"))
	f.Add([]byte(`{"at":1,"TicketId":"a","Players":[{"PlayerId":"p","PlayerAttributes":{"x":{"SL":["y"]}}}]}`))
	f.Add([]byte("at,ticket,player,N:x,SDM:y\n0,a,b,1,k=2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sim.ReadSpec(data)
		for _, read := range []func() (*sim.Trace, error){
			func() (*sim.Trace, error) { return sim.ReadTrace(bytes.NewReader(data)) },
			func() (*sim.Trace, error) { return sim.ReadTraceCSV(bytes.NewReader(data)) },
		} {
			trace, err := read()
			if err != nil {
				continue
			}
			var first, second bytes.Buffer
			if err := trace.Write(&first); err != nil {
				continue // numbers that JSON does not have
			}
			again, err := sim.ReadTrace(bytes.NewReader(first.Bytes()))
			if err != nil {
				t.Fatalf("what was written cannot be read: %v\n%s", err, first.Bytes())
			}
			if again.Write(&second); first.String() != second.String() {
				t.Fatalf("%s became %s", first.String(), second.String())
			}
		}
	})
}
