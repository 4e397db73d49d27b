package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var top = filepath.Join("..", "..", "..")

func playerAPI(t *testing.T) *model {
	t.Helper()
	m, err := readFolder(filepath.Join(top, "backend"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The committed file of each language is what the descriptions give.
func TestEmitters_FilesAreUpToDate(t *testing.T) {
	t.Parallel()
	m := playerAPI(t)
	for _, e := range emitters {
		t.Run(e.Lang, func(t *testing.T) {
			t.Parallel()
			want, err := e.Emit(m)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(e.File)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), string(want)); diff != "" {
				t.Errorf("run go generate ./backend (-there +described):\n%s", diff)
			}
		})
	}
}

// What the emitters rely on, shown by one operation and message of each sort.
func TestReadModel_PlayerAPI(t *testing.T) {
	t.Parallel()
	m := playerAPI(t)
	operation := func(id string) *operation {
		i := slices.IndexFunc(m.Operations, func(o *operation) bool { return o.ID == id })
		if i < 0 {
			t.Fatalf("there is no operation %s", id)
		}
		return m.Operations[i]
	}
	for _, o := range m.forClients() {
		if o.Doc == "" || o.Access == byOperator || strings.Count(o.Path, "{") != len(o.InPath) {
			t.Errorf("%s %s: %q, access %s, %d members of the path", o.Method, o.Path, o.Doc, o.Access, len(o.InPath))
		}
	}
	get := operation("getTicket")
	if !get.Waits || !get.Repeatable || get.Access != byPlayer || get.Status != 200 || get.Answer.Object.Name != "Ticket" || get.InPath[0].Name != "ticket" {
		t.Errorf("getTicket is %+v", get)
	}
	start := operation("startMatchmaking")
	if start.Repeatable != start.IdempotencyKey || start.Body.Object != m.schema("TicketRequest") || start.Status != 201 {
		t.Errorf("startMatchmaking is %+v", start)
	}
	if put := operation("putData"); put.Body == nil || put.Body.Kind != anyJSON || len(put.Headers) != 2 || len(put.InPath) != 2 {
		t.Errorf("putData is %+v", put)
	}
	if guest := operation("createGuest"); guest.Access != byAnybody || guest.Body != nil {
		t.Errorf("createGuest is %+v", guest)
	}
	if left := operation("deleteMe"); left.Answer != nil || left.Status != 204 {
		t.Errorf("deleteMe is %+v", left)
	}
	if ticket := m.schema("Ticket"); ticket.FromClient || !ticket.FromServer {
		t.Errorf("Ticket comes from the client: %t, from the server: %t", ticket.FromClient, ticket.FromServer)
	}
	if request := m.schema("TicketRequest"); !request.FromClient || request.FromServer {
		t.Errorf("TicketRequest comes from the client: %t, from the server: %t", request.FromClient, request.FromServer)
	}
	var sent, received []string
	for _, msg := range m.Messages {
		if msg.FromClient {
			sent = append(sent, msg.Name)
		}
		if msg.FromServer && msg.Cursor {
			received = append(received, msg.Name)
		}
	}
	if diff := cmp.Diff([]string{"auth", "ping", "match.start", "match.cancel", "match.accept"}, sent); diff != "" {
		t.Errorf("messages of clients (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"match.ticket", "party", "party.left", "placement"}, received); diff != "" {
		t.Errorf("messages to resume from (-want +got):\n%s", diff)
	}
	if m.Version != "1" || m.Subproto != "muster.player.v1" || !slices.Contains(m.Problems, problemCode{"ticket-active", 409}) {
		t.Errorf("version %q, subprotocol %q, problems %v", m.Version, m.Subproto, m.Problems)
	}
}

func TestReadModel_Refuses(t *testing.T) {
	t.Parallel()
	const push = "components: {messages: {}}"
	for _, c := range []struct{ requests, push, want string }{
		{"components: {schemas: {A: {properties: {b: {type: tuple}}}}}", push, "A: b: type"},
		{"components: {schemas: {A: {properties: {b: {type: array}}}}}", push, "A: b: type"},
		{"components: {schemas: {A: {properties: {b: {$ref: '#/components/schemas/B'}}}}}", push, "there is no #/components/schemas/B"},
		{"components: [", push, "OpenAPI: "},
		{"paths: {/a: {get: {operationId: a, responses: {}}}}", push, "/a: get: an operationId"},
		{"paths: {/a: {get: {operationId: a, parameters: [{name: c, in: cookie}], responses: {'200': {}}}}}", push, "c: a parameter in"},
		{"paths: {}", "components: {messages: {m: {payload: {properties: {data: {type: tuple}}}}}}", "AsyncAPI: m: type"},
	} {
		if m, err := readModel([]byte(c.requests), []byte(c.push)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, %v; want an error with %q", c.requests, c.push, m, err, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][3]string{
		"ticket_id":        {"ticketId", "TicketId", "ticket_id"},
		"If-None-Match":    {"ifNoneMatch", "IfNoneMatch", "if_none_match"},
		"match.ticket":     {"matchTicket", "MatchTicket", "match_ticket"},
		"startMatchmaking": {"startMatchmaking", "StartMatchmaking", "start_matchmaking"},
		"SocketTicketID":   {"socketTicketId", "SocketTicketId", "socket_ticket_id"},
		"lookUpPlayers":    {"lookUpPlayers", "LookUpPlayers", "look_up_players"},
		"ACTIVE":           {"active", "Active", "active"},
	} {
		if got := [3]string{camel(name), pascal(name), snake(name)}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
