package terraform

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// exchange is a request of the provider and the response. Ids created by Muster are
// replaced with ${1}, ${2} and so on, in the order in which responses first contained
// them.
type exchange struct {
	Operation string            `json:"operation,omitempty"` // of the API; "" for a request for a file
	Body      json.RawMessage   `json:"body,omitempty"`      // of an operation
	Method    string            `json:"method,omitempty"`    // this and the following are for files
	Path      string            `json:"path,omitempty"`      // with the query
	Header    map[string]string `json:"header,omitempty"`
	Content   []byte            `json:"content,omitempty"`
	Answer    answer            `json:"answer"`
}

// answer is a response. A null in its body stands for a value that may differ.
type answer struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"` // of files
	Body   any               `json:"body,omitempty"`
}

func (e exchange) String() string {
	return strings.TrimSpace(e.Operation + " " + e.Method + " " + e.Path + " " + string(e.Body))
}

// question returns a text that identifies the request of an exchange.
func (e exchange) question() string { return e.String() + fmt.Sprint(e.Header, e.Content) }

// passing are headers that are not recorded: they concern the connection or the time,
// identify the client, or are for browsers.
var passing = []string{
	"Accept-Encoding", "Accept-Ranges", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "Authorization", "Connection", "Content-Length",
	"Content-Security-Policy", "Cross-Origin-Resource-Policy", "Date", "Last-Modified", "Server", "User-Agent", "X-Amz-Date", "X-Amz-Request-Id",
	"X-Amz-Security-Token", "X-Content-Type-Options",
}

func kept(h http.Header) map[string]string {
	all := map[string]string{}
	for name := range h {
		if !slices.Contains(passing, name) {
			all[name] = h.Get(name)
		}
	}
	return all
}

// s3Code matches the code in an error of S3. The rest of the error is for people.
var s3Code = regexp.MustCompile(`<Code>(\w+)</Code>`)

// read returns a response as an answer.
func read(operation string, status int, header http.Header, body []byte) (answer, error) {
	a := answer{Status: status}
	if operation != "" {
		if len(body) == 0 {
			return a, nil
		}
		if err := json.Unmarshal(body, &a.Body); err != nil {
			return a, fmt.Errorf("%s was answered %q: %w", operation, body, err)
		}
		return a, nil
	}
	a.Header = kept(header)
	a.Body = string(body)
	if code := s3Code.FindSubmatch(body); code != nil {
		a.Body = string(code[1])
	}
	return a, nil
}

// fleeting reports whether a member differs each time: times, and lists of events.
func fleeting(member string) bool { return strings.HasSuffix(member, "Time") || member == "Events" }

// forget replaces fleeting members with null.
func forget(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if v[name] = forget(value); fleeting(name) {
				v[name] = nil
			}
		}
	case []any:
		for i := range v {
			v[i] = forget(v[i])
		}
	}
	return v
}

// moving reports whether a body has a status that will change by itself.
func moving(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		status, _ := v["Status"].(string)
		return slices.Contains([]string{"INITIALIZED", "NEW", "DOWNLOADING", "VALIDATING", "BUILDING", "ACTIVATING", "DELETING"}, status) ||
			slices.ContainsFunc(slices.Collect(maps.Values(v)), moving)
	case []any:
		return slices.ContainsFunc(v, moving)
	}
	return false
}

// changes reports whether the request changes something.
func (e exchange) changes() bool {
	if e.Operation == "" {
		return e.Method != http.MethodGet && e.Method != http.MethodHead
	}
	return !strings.HasPrefix(e.Operation, "Describe") && !strings.HasPrefix(e.Operation, "List")
}

// id is a pattern of the end of Muster's ids.
const id = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	anID   = regexp.MustCompile(id)
	aPlace = regexp.MustCompile(`\$\{\d+\}`)
)

// ids maps ids to places in a recording, and places to ids in a replay.
type ids map[string]string

// hide replaces known ids with their places.
func (m ids) hide(text string) string {
	return anID.ReplaceAllStringFunc(text, func(id string) string {
		if place, ok := m[id]; ok {
			return place
		}
		return id
	})
}

// learn assigns places to the ids in a response.
func (m ids) learn(text string) {
	for _, id := range anID.FindAllString(text, -1) {
		if m[id] == "" {
			m[id] = fmt.Sprintf("${%d}", len(m)+1)
		}
	}
}

// show replaces places with their ids.
func (m ids) show(text string) string {
	return aPlace.ReplaceAllStringFunc(text, func(place string) string { return m[place] })
}

// match compares a response with the recorded one, and returns the first difference, or
// "". It learns the ids of places that occur for the first time.
func (m ids) match(at string, want, got any) string {
	switch want := want.(type) {
	case nil:
		return ""
	case map[string]any:
		return m.matchMembers(at, want, got)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s is %v, want %v", at, got, m.known(want))
		}
		for i := range want {
			if difference := m.match(fmt.Sprintf("%s[%d]", at, i), want[i], list[i]); difference != "" {
				return difference
			}
		}
		return ""
	case string:
		if text, ok := got.(string); ok && m.matchText(want, text) {
			return ""
		}
		return fmt.Sprintf("%s is %v, want %s", at, got, m.known(want))
	}
	if got != want {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}

func (m ids) matchMembers(at string, want map[string]any, got any) string {
	members, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s is %v, want %v", at, got, m.known(want))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, ok := members[name]
		if !ok {
			return fmt.Sprintf("%s has no %s, want %v", at, name, m.known(want[name]))
		}
		if difference := m.match(at+"."+name, want[name], value); difference != "" {
			return difference
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, ok := want[name]; !ok {
			return fmt.Sprintf("%s has %s, which is %v; want none", at, name, members[name])
		}
	}
	return ""
}

// matchText reports whether a text with places matches one with ids in their stead.
func (m ids) matchText(want, got string) bool {
	places := aPlace.FindAllString(want, -1)
	pattern := aPlace.ReplaceAllLiteralString(regexp.QuoteMeta(aPlace.ReplaceAllLiteralString(want, "\x00")), "")
	pattern = strings.ReplaceAll(pattern, "\x00", "("+id+")")
	found := regexp.MustCompile("^(?s:" + pattern + ")$").FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, place := range places {
		if m[place] == "" {
			m[place] = found[i+1]
		}
		if m[place] != found[i+1] {
			return false
		}
	}
	return true
}

// known returns a recorded value with the known ids in it, for messages.
func (m ids) known(want any) string {
	return aPlace.ReplaceAllStringFunc(fmt.Sprint(want), func(place string) string {
		if m[place] == "" {
			return "an id"
		}
		return m[place]
	})
}
