package conformance

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/shape"
	"github.com/musterhq/muster/test/node"
)

// unaudited keeps refused requests out of the audit log, which is part of the state.
func unaudited(o *app.Options) { o.Audit.Level = audit.Off }

// state returns everything that a refused request might have changed: the rows, and
// the event log.
func state(t *testing.T, a *app.App) string {
	t.Helper()
	response := node.Must(http.Get(a.URL() + "/console/api/events?after=0"))(t)
	defer response.Body.Close()
	events := node.Must(io.ReadAll(response.Body))(t)
	return a.Digest() + "\n" + string(events)
}

// Each rule of the API's description, broken alone, causes a refusal that names the
// member and the rule, and changes nothing.
func TestBadInput_Rules(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, unaudited)
	node.NewPlace(t, node.Client(a.URL()))
	g := generator{gamelift.API()}
	before, tried := state(t, a), 0
	for _, op := range g.api.Operations {
		if !available(t, a.URL(), op) {
			continue
		}
		digest := a.Digest()
		for i, v := range g.violations(op) {
			tried++
			p := protocols[i%len(protocols)]
			answer := p.call(t, a.URL(), op.Name, v.in)
			text := string(answer.body)
			if answer.status != 400 || !strings.Contains(text, "InvalidRequestException") || !strings.Contains(text, " at '"+v.path+"' failed to satisfy constraint: "+v.rule) {
				t.Errorf("%s, %s, %v: %d %q", op.Name, p.name, v, answer.status, text)
			}
		}
		if a.Digest() != digest {
			t.Errorf("%s: a refused request changed the state", op.Name)
		}
	}
	if state(t, a) != before {
		t.Error("refused requests changed the state or told of events")
	}
	if tried < 300 {
		t.Errorf("tried only %d violations: the generator is broken", tried)
	}
	t.Logf("%d violations", tried)
}

// available reports whether Muster implements an operation.
func available(t testing.TB, url string, op shape.Operation) bool {
	t.Helper()
	a := protocols[0].call(t, url, op.Name, map[string]any{})
	return !strings.Contains(string(a.body), "is not available in this version of Muster")
}

// A member of the wrong type is refused before anything reads it.
func TestBadInput_Types(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, unaudited)
	before := state(t, a)
	for _, op := range gamelift.API().Operations {
		if !available(t, a.URL(), op) {
			continue
		}
		for _, m := range op.Input {
			for _, p := range protocols {
				answer := p.call(t, a.URL(), op.Name, map[string]any{m.Name: wrongType(m.Type)})
				if answer.status != 400 || !strings.Contains(string(answer.body), "SerializationException") {
					t.Errorf("%s, %s, %s: %d %q", op.Name, p.name, m.Name, answer.status, answer.body)
				}
			}
		}
	}
	if state(t, a) != before {
		t.Error("refused requests changed the state or told of events")
	}
}

func wrongType(t shape.Type) any {
	switch t.Kind {
	case shape.String, shape.Boolean:
		return []any{1}
	case shape.Blob:
		return true
	case shape.List, shape.Map, shape.Struct:
		return "text"
	}
	return "many"
}
