package main

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A model is what the descriptions of the player API say, in their order, with every
// reference resolved. It is the same for every language.
type model struct {
	Version    string // of the API
	Subproto   string // of the WebSocket
	Schemas    []*schema
	Operations []*operation
	Messages   []*message
	Problems   []problemCode // kinds of problems, in the order of their status
}

// A schema is an object with members.
type schema struct {
	Name    string // as in the description: TicketRequest
	Doc     string // a sentence
	Members []*member

	// FromClient and FromServer report whether clients send it or receive it, by HTTP or
	// push: a language can leave out what converts the other way.
	FromClient, FromServer bool
}

// A member is a member of a schema or a parameter of an operation.
type member struct {
	Name     string // on the wire: ticket_id, If-None-Match
	Doc      string // words without a period
	Required bool
	Type     *typ
}

type kind int

// The kinds of types.
const (
	anyJSON kind = iota
	boolean
	integer
	number
	text
	moment     // text with a time, RFC 3339 in UTC
	choice     // text, one of Values
	list       // of Of
	dictionary // object whose members are Of
	object     // Object
)

// A typ is the type of a member, body or answer.
type typ struct {
	Kind     kind
	Nullable bool     // null is a value of its own, besides absence
	Of       *typ     // of list and dictionary
	Object   *schema  // of object
	Values   []string // of choice
	Schema   *schema  // of choice: the schema and the name of the member that it belongs to,
	Member   string   // by which a language names the type
}

// Access says who may call an operation.
type access string

// Values of access.
const (
	byAnybody  access = "open"     // no token
	byPlayer   access = "player"   // an access token as bearer
	byOperator access = "operator" // signed by an operator's backend: no game client calls it
)

// An operation is a request by HTTP.
type operation struct {
	ID      string // startMatchmaking
	Doc     string // words without a period
	Method  string // POST
	Path    string // /player/v1/matchmaking/tickets/{ticket}
	Access  access
	InPath  []*member // in the order of the path
	Query   []*member
	Headers []*member
	Body    *typ // nil for none
	Answer  *typ // nil for none
	Status  int  // of success

	// Repeatable reports whether a request without answer may be made again: GET, PUT,
	// DELETE, and what takes an idempotency key.
	Repeatable bool
	// IdempotencyKey reports whether the operation takes the header Idempotency-Key.
	IdempotencyKey bool
	// Waits reports whether it is a long poll: it takes wait and If-None-Match, and answers
	// 304 where nothing changed.
	Waits bool
}

// A message is a text frame of the WebSocket.
type message struct {
	Name       string // its type: match.ticket
	Doc        string // words without a period
	Data       *typ   // nil for none
	FromClient bool
	FromServer bool
	Cursor     bool // the message may have a cursor to resume from
}

// A problemCode is a kind of problem.
type problemCode struct {
	Code   string
	Status int
}

// schema returns the schema of a name.
func (m *model) schema(name string) *schema {
	i := slices.IndexFunc(m.Schemas, func(s *schema) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return m.Schemas[i]
}

// forClients returns the operations that game clients call with JSON: not those of
// operators, the upgrade to a WebSocket and the descriptions themselves.
func (m *model) forClients() []*operation {
	var all []*operation
	for _, o := range m.Operations {
		documents := []string{"description", "pushDescription", "discovery", "keySet"}
		if o.Access != byOperator && o.Status != 101 && !slices.Contains(documents, o.ID) {
			all = append(all, o)
		}
	}
	return all
}

// readModel reads the descriptions: OpenAPI of the requests, AsyncAPI of the messages.
func readModel(requests, push []byte) (*model, error) {
	m := &model{}
	if err := m.readRequests(requests); err != nil {
		return nil, fmt.Errorf("OpenAPI: %w", err)
	}
	if err := m.readPush(push); err != nil {
		return nil, fmt.Errorf("AsyncAPI: %w", err)
	}
	m.markDirections()
	return m, nil
}

// entry is one entry of a mapping.
type entry struct {
	name  string
	value *yaml.Node
}

// entries returns a mapping's entries in the order of the document.
func entries(n *yaml.Node) []entry {
	var all []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		all = append(all, entry{n.Content[i].Value, n.Content[i+1]})
	}
	return all
}

// markDirections sets FromClient and FromServer of the schemas.
func (m *model) markDirections() {
	for _, o := range m.Operations {
		if o.Access != byOperator {
			mark(o.Body, func(s *schema) *bool { return &s.FromClient })
			mark(o.Answer, func(s *schema) *bool { return &s.FromServer })
		}
	}
	for _, msg := range m.Messages {
		if msg.FromClient {
			mark(msg.Data, func(s *schema) *bool { return &s.FromClient })
		}
		if msg.FromServer {
			mark(msg.Data, func(s *schema) *bool { return &s.FromServer })
		}
	}
	if problem := m.schema("Problem"); problem != nil {
		problem.FromServer = true
	}
}

func mark(t *typ, which func(*schema) *bool) {
	if t == nil {
		return
	}
	mark(t.Of, which)
	if t.Object == nil || *which(t.Object) {
		return
	}
	*which(t.Object) = true
	for _, f := range t.Object.Members {
		mark(f.Type, which)
	}
}

// words splits a name at what is not a letter or digit, and before capitals: ticket_id,
// If-None-Match, match.ticket and startMatchmaking are two or three words each, in lower
// case.
func words(name string) []string {
	var all []string
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune("_-./ {}", r) }) {
		from := 0
		for i := 1; i < len(part); i++ {
			if isUpper(part[i]) && !isUpper(part[i-1]) {
				all, from = append(all, strings.ToLower(part[from:i])), i
			}
		}
		all = append(all, strings.ToLower(part[from:]))
	}
	return all
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// camel joins the words of a name as in ticketId, pascal as in TicketId, snake as in
// ticket_id.
func camel(name string) string {
	p := pascal(name)
	return strings.ToLower(p[:1]) + p[1:]
}

func pascal(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

func snake(name string) string { return strings.Join(words(name), "_") }
