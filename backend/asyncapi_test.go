package backend

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// asyncDescription is the part of the AsyncAPI description that is tested.
type asyncDescription struct {
	Channels map[string]struct {
		Address  string
		Messages map[string]reference
	}
	Operations map[string]struct {
		Action   string
		Messages []reference
		Reply    struct{ Messages []reference }
	}
	Components struct {
		Messages map[string]struct {
			Payload struct {
				Required   []string
				Properties map[string]struct {
					Const string
					Ref   string `yaml:"$ref"`
				}
			}
			Examples []struct{ Payload map[string]any }
		}
	}
}

type reference struct {
	Ref string `yaml:"$ref"`
}

// named returns the names that references end with, sorted.
func named(all []reference) []string {
	var names []string
	for _, r := range all {
		names = append(names, r.Ref[strings.LastIndexByte(r.Ref, '/')+1:])
	}
	return slices.Sorted(slices.Values(names))
}

// read reads a description.
func read(t *testing.T, description []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(description, into); err != nil {
		t.Fatal(err)
	}
}

// dataOf has the Go type of each message's data; nil for any and for none.
var dataOf = map[string]any{
	protocol.MessageAuth: protocol.SocketAuth{}, protocol.MessageReady: protocol.SocketReady{},
	protocol.MessagePing: nil, protocol.MessagePong: nil,
	protocol.MessageStart: protocol.TicketRequest{}, protocol.MessageCancel: protocol.SocketTicketID{}, protocol.MessageAccept: protocol.SocketTicketID{},
	protocol.MessageTicket: protocol.Ticket{}, protocol.MessageParty: protocol.Party{}, protocol.MessagePartyLeft: nil,
	protocol.MessagePlacement: protocol.Placement{}, protocol.MessageExpiring: protocol.SocketExpiring{}, protocol.MessageError: protocol.Problem{},
}

// The messages that the server reads and sends are those of the description, each with the
// data that its Go type has and with examples that decode.
func TestPushDescription_IsTheProtocol(t *testing.T) {
	t.Parallel()
	var d asyncDescription
	read(t, PushDescription, &d)
	if got, want := slices.Sorted(maps.Keys(d.Components.Messages)), slices.Sorted(maps.Keys(dataOf)); !slices.Equal(got, want) {
		t.Errorf("described are %q, want %q", got, want)
	}
	if push := d.Channels["push"]; push.Address != protocol.Base+"/ws" || len(push.Messages) != len(dataOf) {
		t.Errorf("the channel is %s with %d messages", push.Address, len(push.Messages))
	}
	if diff := cmp.Diff(strings.Split(clientMessages, ", "), named(d.Operations["fromClient"].Messages), cmp.Transformer("sorted", func(s []string) string {
		return fmt.Sprint(slices.Sorted(slices.Values(s)))
	})); diff != "" {
		t.Errorf("messages of clients (-served +described):\n%s", diff)
	}
	sent := map[string]bool{}
	for _, name := range slices.Concat(named(d.Operations["toClient"].Messages), named(d.Operations["fromClient"].Reply.Messages), strings.Split(clientMessages, ", ")) {
		sent[name] = true
	}
	for name, m := range d.Components.Messages {
		if !sent[name] {
			t.Errorf("%s: no operation has it", name)
		}
		if m.Payload.Properties["type"].Const != name {
			t.Errorf("%s: its type is %q", name, m.Payload.Properties["type"].Const)
		}
		wantRef := ""
		if typ := reflect.TypeOf(dataOf[name]); typ != nil {
			wantRef = "openapi.yaml#/components/schemas/" + typ.Name()
		}
		if got := m.Payload.Properties["data"].Ref; got != wantRef {
			t.Errorf("%s: its data is %q, want %q", name, got, wantRef)
		}
		if len(m.Examples) == 0 {
			t.Errorf("%s has no example", name)
		}
		for _, e := range m.Examples {
			text, err := json.Marshal(e.Payload)
			if err != nil {
				t.Fatal(err)
			}
			var is protocol.Message
			if err := decodeText(text, &is, ""); err != nil || is.Type != name {
				t.Errorf("%s: the example %s: %v", name, text, err)
			}
			for _, member := range m.Payload.Required {
				if _, has := e.Payload[member]; !has {
					t.Errorf("%s: the example %s has no %s", name, text, member)
				}
			}
			if typ := reflect.TypeOf(dataOf[name]); typ != nil {
				if err := decodeText(is.Data, reflect.New(typ).Interface(), "/data"); err != nil {
					t.Errorf("%s: the example %s: %v", name, text, err)
				}
			}
		}
	}
}

// Every example of a schema decodes into its Go type, and every schema that a description
// refers to exists.
func TestDescription_Examples(t *testing.T) {
	t.Parallel()
	var d struct {
		Components struct {
			Schemas map[string]struct{ Examples []any }
		}
	}
	read(t, Description, &d)
	types := map[string]any{"TicketRequest": &protocol.TicketRequest{}, "Connection": &protocol.Connection{}}
	seen := 0
	for name, s := range d.Components.Schemas {
		for _, e := range s.Examples {
			seen++
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if err := decodeText(text, types[name], ""); err != nil {
				t.Errorf("%s: the example %s: %v", name, text, err)
			}
		}
	}
	if seen == 0 {
		t.Error("there is no example")
	}
	for line := range strings.SplitSeq(string(Description)+string(PushDescription), "\n") {
		for rest := line; ; {
			_, after, found := strings.Cut(rest, "#/components/schemas/")
			if !found {
				break
			}
			name, _, _ := strings.Cut(after, `"`)
			if _, known := d.Components.Schemas[name]; !known {
				t.Errorf("there is no schema %q", name)
			}
			rest = after
		}
	}
}

// Each close code that the server uses is explained.
func TestPushDescription_CloseCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []int{websocket.CloseGoingAway, protocol.CloseBadMessage, protocol.CloseUnauthorized, protocol.CloseAuthTimeout, protocol.CloseReplaced, protocol.CloseRate} {
		if !strings.Contains(string(PushDescription), fmt.Sprint(code)) {
			t.Errorf("%d is not explained", code)
		}
	}
}

// A refused message says which member is wrong and what it must be; an unknown type says
// which there are, whatever its data is.
func TestSocket_ExplainsRefusals(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		_, token := h.guest()
		l := h.dial(token)
		defer l.ws.Close()
		next := func() (m protocol.Message, p protocol.Problem) {
			_, text, err := l.ws.ReadMessage()
			h.Must(err)
			h.Must(json.Unmarshal(text, &m))
			if m.Type == protocol.MessageError {
				h.Must(json.Unmarshal(m.Data, &p))
			}
			return m, p
		}
		if m, _ := next(); m.Type != protocol.MessageReady {
			t.Fatalf("the greeting is %s", m.Type)
		}
		for _, c := range []struct{ sent, re, code, detail string }{
			{`{"type":"match.begin","id":"1","data":{"matchmaker":"alone"}}`, "1", "invalid-parameter", `/type: "match.begin" is no message of a client; those are auth, ping, match.start, match.cancel, match.accept`},
			{`{"type":"match.start","id":"2"}`, "2", "malformed-json", "/data: match.start needs data"},
			{`{"type":"match.start","id":"3","data":{"matchmakr":"alone"}}`, "3", "unknown-field", "/data/matchmakr: there is no such member here"},
			{`{"type":"match.start","id":"4","data":{"matchmaker":7}}`, "4", "malformed-json", "/data/matchmaker: must be a string"},
			{`{"type":"match.start","id":"5","data":{"matchmaker":"alone","latency_ms":{"us-east-1":"34"}}}`, "5", "malformed-json", "/data/latency_ms/us-east-1: must be a number"},
			{`{"type":"match.accept","id":"6","data":{"ticket_id":"t","accept":"yes"}}`, "6", "malformed-json", "/data/accept: must be true or false"},
			{`{"type":"match.start","id":"7","data":[]}`, "7", "malformed-json", "/data: must be an object"},
			{`{"type":"ping","ident":1}`, "", "unknown-field", "/ident: there is no such member here"},
			{`nonsense`, "", "malformed-json", "what was sent: is no JSON"},
		} {
			h.Must(l.ws.WriteMessage(websocket.TextMessage, []byte(c.sent)))
			if m, p := next(); m.Re != c.re || p.Code != c.code || p.Detail != c.detail {
				t.Errorf("%s: got re %q, %s: %q", c.sent, m.Re, p.Code, p.Detail)
			}
		}
	})
}

// What is refused never shows the server's own types.
func FuzzDecodeText(f *testing.F) {
	for _, text := range []string{`{"matchmaker":1}`, `{"attributes":[]}`, `{"x":1}`, `[`, `{"latency_ms":{"a~/b":"x"}}`, `{"matchmaker":"\ud800"}`, `{"a":1,"a":2}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := decodeText([]byte(text), new(protocol.TicketRequest), "/data")
		if err == nil {
			return
		}
		r, ok := refusalOf(err)
		if !ok || !strings.HasPrefix(r.Message, "/data") || strings.Contains(r.Message, "protocol.") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
