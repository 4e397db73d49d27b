package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A story is one behavior of client libraries, as data (clients/stories/README.md).
type story struct {
	Name  string   `json:"name"`
	Only  []string `json:"only,omitempty"` // runtimes; all if absent
	Needs needs    `json:"needs"`
	Steps []step   `json:"steps"`
}

// needs are what a story finds when it begins.
type needs struct {
	Own         bool                  `json:"own_server,omitempty"` // a server of its own, which the story may kill
	Players     map[string]any        `json:"players,omitempty"`    // the players file of the own server
	Matchmakers map[string]matchmaker `json:"matchmakers,omitempty"`
	Pools       []string              `json:"pools,omitempty"`
	Placement   int                   `json:"placement_seconds,omitempty"` // how long a placement looks for a server; default 60
	GameServers int                   `json:"game_servers,omitempty"`      // processes, each for one game session at a time
	Page        string                `json:"page,omitempty"`              // of browsers: foreign if it is a page of a site that the server does not know
}

// A matchmaker is a matchmaking configuration with teams of these sizes.
type matchmaker struct {
	Teams      []int `json:"teams"`
	Acceptance int   `json:"acceptance_seconds,omitempty"` // matches have to be accepted within this time
	Timeout    int   `json:"timeout_seconds,omitempty"`    // of tickets; default 120
	SkillGap   int   `json:"skill_gap,omitempty"`          // players' attribute skill may differ by this much
	Backfill   int   `json:"backfill,omitempty"`           // a team may have this many more players, who are found for running games
}

// A step is one of: a call (Do), the start of one (Start) and its end (Wait, Cancel), an
// event that a client reports (Event), a change at the server (Server) or on the way to it
// (Gate).
type step struct {
	Client string `json:"client,omitempty"`
	Do     string `json:"do,omitempty"`
	Start  string `json:"start,omitempty"`
	As     string `json:"as,omitempty"`
	Times  int    `json:"times,omitempty"` // of Start: as many calls at once, which end with one Wait
	Wait   string `json:"wait,omitempty"`
	Cancel string `json:"cancel,omitempty"`
	Event  string `json:"event,omitempty"`
	Server string `json:"server,omitempty"`
	Gate   string `json:"gate,omitempty"`

	With  map[string]any    `json:"with,omitempty"`
	Want  any               `json:"want,omitempty"`
	Error map[string]any    `json:"error,omitempty"`
	Save  map[string]string `json:"save,omitempty"` // JSON pointers into the result or error, by name of variable
}

// members lists the members that the argument of a verb may have; "*" stands for any: they
// are those of a schema of the player API.
type members []string

// verbs are what drivers do.
var verbs = map[string]members{
	"open": {"store", "no_push"}, "close": {},
	"loginGuest": {}, "loginProvider": {"provider", "token"}, "link": {"provider", "token"}, "unlink": {"provider"},
	"merge": {"conflict_token", "keep"}, "logout": {"all"}, "session": {},
	"me": {}, "changeMe": {"display_name"}, "deleteMe": {}, "lookUpPlayers": {"ids"}, "publicPlayer": {"player_id"},
	"getData": {"namespace", "key"}, "putData": {"namespace", "key", "value", "version"}, "deleteData": {"namespace", "key", "version"}, "allData": {"namespace"},
	"config": {}, "locations": {}, "measureLatency": {}, "reportLatency": {"latency_ms"},
	"startMatchmaking": ticketRequest, "getTicket": {"ticket_id"}, "tickets": {"active"}, "stopMatchmaking": {"ticket_id"},
	"acceptMatch": {"ticket_id", "accept"}, "findMatch": append(members{"accept"}, ticketRequest...), "followTicket": {"ticket_id"},
	"createParty": {"matchmaker", "max"}, "joinParty": {"code"}, "getParty": {"party_id"},
	"changeMember": {"party_id", "ready", "attributes", "latency_ms"}, "leaveParty": {"party_id", "player_id"},
	"listSessions": {"pool", "limit", "location", "filter", "sort"}, "getSession": {"session_id"},
	"createSession": {"pool", "name", "max_players", "properties", "latency_ms"}, "followPlacement": {"placement_id"}, "stopPlacement": {"placement_id"},
	"joinSession": {"session_id", "player_data"}, "reservations": {},
	"connectPush": {}, "disconnectPush": {},
}

var ticketRequest = members{"matchmaker", "party_id", "attributes", "latency_ms", "team"}

// events are what drivers report.
var events = []string{"ticket", "party", "partyLeft", "placement", "push", "session"}

// serverSteps change the server, gateSteps the way to it.
var (
	serverSteps = map[string]members{
		"kill": {}, "start": {"players"}, "ban": {"player_id", "minutes"}, "putData": {"player_id", "namespace", "key", "value"},
		"accept": {"player_session_id"}, "endSessions": {}, "addGameServer": {}, "await": {"ticket_id", "status"},
	}
	gateSteps = map[string]members{
		"refuse": {"method", "path", "times", "status", "retry_after"}, "cut": {"method", "path", "times"}, "loseAnswer": {"method", "path", "times"},
		"hold": {"method", "path", "times"}, "garble": {"method", "path", "times"}, "extend": {}, "admit": {}, "drop": {}, "breakPush": {}, "expire": {}, "steal": {},
		"count": {"method", "path", "status"}, "await": {"method", "path", "status", "count"},
	}
)

// readStories decodes and checks a file of stories.
func readStories(r io.Reader) ([]story, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var all []story
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("there is more than one list")
	}
	seen := map[string]bool{}
	for _, s := range all {
		if s.Name == "" || seen[s.Name] || strings.TrimSpace(s.Name) != s.Name {
			return nil, fmt.Errorf("story %q: names are required and unique", s.Name)
		}
		seen[s.Name] = true
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("story %q: %w", s.Name, err)
		}
	}
	return all, nil
}

func (s *story) check() error {
	if len(s.Steps) == 0 {
		return fmt.Errorf("it has no steps")
	}
	for _, name := range s.Only {
		if !slices.ContainsFunc(runtimes, func(r runtimeRow) bool { return r.name == name }) {
			return fmt.Errorf("there is no runtime %q", name)
		}
	}
	for name, m := range s.Needs.Matchmakers {
		if len(m.Teams) == 0 {
			return fmt.Errorf("matchmaker %q has no teams", name)
		}
	}
	if s.Needs.Page != "" && (s.Needs.Page != foreignPage || !slices.Equal(s.Only, []string{"chromium"})) {
		return fmt.Errorf("page %q: only chromium has pages, and they are foreign or not named", s.Needs.Page)
	}
	if s.Needs.Players != nil && !s.Needs.Own {
		return fmt.Errorf("only a server of its own has a players file of its own")
	}
	started := map[string]bool{}
	for i := range s.Steps {
		if err := s.Steps[i].check(&s.Needs, started); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	for name, waits := range started {
		if waits {
			return fmt.Errorf("%q is started and never waited for", name)
		}
	}
	return nil
}

// check checks one step; started has the calls that were started, and whether they have not
// been waited for.
func (s *step) check(n *needs, started map[string]bool) error {
	kinds := map[string]string{"do": s.Do, "start": s.Start, "wait": s.Wait, "cancel": s.Cancel, "event": s.Event, "server": s.Server, "gate": s.Gate}
	maps.DeleteFunc(kinds, func(_, v string) bool { return v == "" })
	if len(kinds) != 1 {
		return fmt.Errorf("a step is one of do, start, wait, cancel, event, server and gate, not %d of them", len(kinds))
	}
	for kind, name := range kinds {
		if client := kind == "do" || kind == "start" || kind == "event"; client != (s.Client != "") {
			return fmt.Errorf("%s %s: a client is named with do, start and event, and with nothing else", kind, name)
		}
		table := map[string]map[string]members{"do": verbs, "start": verbs, "server": serverSteps, "gate": gateSteps}[kind]
		may, known := table[name]
		if table != nil && !known {
			return fmt.Errorf("%s: there is no %q", kind, name)
		}
		for member := range s.With {
			if !slices.Contains(may, member) {
				return fmt.Errorf("%s %s: there is no member %q", kind, name, member)
			}
		}
		if kind == "event" && !slices.Contains(events, name) {
			return fmt.Errorf("there is no event %q", name)
		}
		if (name == "kill" || name == "start") && kind == "server" && !n.Own {
			return fmt.Errorf("server %s: only a server of its own can be killed", name)
		}
	}
	return s.checkPending(started)
}

func (s *step) checkPending(started map[string]bool) error {
	switch {
	case (s.Start != "") != (s.As != "") || s.Times > 0 && s.Start == "":
		return fmt.Errorf("start has a name (as), and alone has times")
	case s.Start != "" && (s.Want != nil || s.Error != nil || s.Save != nil):
		return fmt.Errorf("what start %s ends with is said by wait", s.As)
	case s.Want != nil && s.Error != nil:
		return fmt.Errorf("a call has a result or an error, not both")
	case s.Start != "":
		if started[s.As] {
			return fmt.Errorf("%q is under way already", s.As)
		}
		started[s.As] = true
	case s.Cancel != "" && !started[s.Cancel]:
		return fmt.Errorf("%q is not under way", s.Cancel)
	case s.Wait != "":
		if !started[s.Wait] {
			return fmt.Errorf("%q is not under way", s.Wait)
		}
		started[s.Wait] = false
	}
	return nil
}

// String returns the step as in the file.
func (s *step) String() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

var variable = regexp.MustCompile(`\$\{([a-zA-Z0-9_]+)\}`)

// fill replaces ${name} by variables, in all texts of a value. A text that is one variable
// alone becomes its value, of any type.
func fill(v any, variables map[string]any) (any, error) {
	switch v := v.(type) {
	case string:
		if m := variable.FindStringSubmatch(v); m != nil && m[0] == v {
			value, ok := variables[m[1]]
			if !ok {
				return nil, fmt.Errorf("nothing is saved as %q", m[1])
			}
			return value, nil
		}
		var missing error
		text := variable.ReplaceAllStringFunc(v, func(found string) string {
			name := found[2 : len(found)-1]
			value, ok := variables[name]
			if !ok {
				missing = fmt.Errorf("nothing is saved as %q", name)
			}
			return fmt.Sprint(value)
		})
		return text, missing
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = fill(v[i], variables); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			key, err := fill(name, variables)
			if err != nil {
				return nil, err
			}
			if out[fmt.Sprint(key)], err = fill(value, variables); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
