package trace_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/trace"
)

func TestRead_TableAndLinesAreOne(t *testing.T) {
	table := `at,ticket,player,population,N:skill,S:mode,SL:maps,SDM:prefs,ms:eu-west-1
2,b,p3,,5,,,,
0.5,a,p1,eu,1500,ctf,x|y,x=1|y=2.5,30
0.5,a,p2,eu,1400,,,,
`
	fromTable, err := trace.ReadTable(strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	lines := `{"at":0.5,"TicketId":"a","Players":[{"PlayerId":"p1","PlayerAttributes":{"maps":{"SL":["x","y"]},"mode":{"S":"ctf"},"prefs":{"SDM":{"x":1,"y":2.5}},"skill":{"N":1500}},"LatencyInMs":{"eu-west-1":30}},{"PlayerId":"p2","PlayerAttributes":{"skill":{"N":1400}}}],"population":"eu"}
{"at":2,"TicketId":"b","Players":[{"PlayerId":"p3","PlayerAttributes":{"skill":{"N":5}}}]}
`
	fromLines, err := trace.Read(strings.NewReader(lines))
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

func TestRead_Refuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"at":1}`: "line 1: TicketId is required",
		"\n{\"at\":1,\"TicketId\":\"a\",\"Players\":[]}":                                                "line 2: ticket a has 0 players",
		`{"at":1,"TicketId":"a","Players":[{"PlayerId":"p","PlayerAttributes":{"x":{"N":1,"S":"y"}}}]}`: "attribute x: exactly one",
		`{"at":1,"TicketId":"a","players":1,"Level":2}`:                                                 "line 1: json",
		`{`: "line 1",
	} {
		if _, err := trace.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                    "EOF",
		"at,ticket\n":                         `no column "player"`,
		"at,ticket,player,skill\n":            `column "skill"`,
		"at,ticket,player,N:x\n0,a,b,c":       "row 2: column N:x",
		"at,ticket,player,SDM:x\n0,a,b,c":     "not key=number",
		"at,ticket,player\nNaN,a,b":           `"NaN" is no number`,
		"at,ticket,player,SDM:x\n0,a,b,c=inf": `"inf" is no number`,
	} {
		if _, err := trace.ReadTable(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

// A trace reads back as it was written, including empty lists and maps.
func TestWrite_IsReadAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		want := &trace.Trace{}
		for at := range 1 + r.IntN(5) {
			want.Tickets = append(want.Tickets, randomTicket(r, at))
		}
		var out bytes.Buffer
		if err := want.Write(&out); err != nil {
			t.Fatal(err)
		}
		got, err := trace.Read(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

func randomTicket(r *rand.Rand, at int) trace.Ticket {
	ticket := trace.Ticket{At: float64(at) + r.Float64(), TicketID: fmt.Sprint("t", at), Patience: float64(r.IntN(3)), Population: []string{"", "eu"}[r.IntN(2)]}
	for p := range 1 + r.IntN(3) {
		number, text := r.NormFloat64(), "a \"b\"\n"
		player := trace.Player{PlayerID: fmt.Sprint("p", p)}
		if r.IntN(2) == 0 {
			player.Latency = map[string]float64{"eu-west-1": r.Float64()}
			player.Attributes = map[string]trace.Attribute{"n": {N: &number}, "s": {S: &text},
				"sl": {SL: []string{"x", "y"}[:r.IntN(3)]}, "sdm": {SDM: map[string]float64{}}}
		}
		ticket.Players = append(ticket.Players, player)
	}
	return ticket
}

// FuzzRead reads arbitrary bytes. A trace that is accepted must survive writing and
// reading unchanged.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"at":1,"TicketId":"a","Players":[{"PlayerId":"p","PlayerAttributes":{"x":{"SL":["y"]}}}]}`))
	f.Add([]byte("at,ticket,player,N:x,SDM:y\n0,a,b,1,k=2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func() (*trace.Trace, error){
			func() (*trace.Trace, error) { return trace.Read(bytes.NewReader(data)) },
			func() (*trace.Trace, error) { return trace.ReadTable(bytes.NewReader(data)) },
		} {
			tickets, err := read()
			if err != nil {
				continue
			}
			var first, second bytes.Buffer
			if err := tickets.Write(&first); err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
			again, err := trace.Read(bytes.NewReader(first.Bytes()))
			if err != nil {
				t.Fatalf("what was written cannot be read: %v\n%s", err, first.Bytes())
			}
			if again.Write(&second); first.String() != second.String() {
				t.Fatalf("%s became %s", first.String(), second.String())
			}
		}
	})
}
