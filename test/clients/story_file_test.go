package clients

import (
	"encoding/json"
	"strings"
	"testing"
)

// A misspelled story is refused, not played in part.
func TestReadStories_Refuses(t *testing.T) {
	t.Parallel()
	const open = `{"client": "a", "do": "open"}`
	for _, c := range []struct{ text, want string }{
		{`[{"name": "s", "needs": {}, "stepz": []}]`, "unknown field"},
		{`[{"name": "s", "needs": {"pool": "p"}, "steps": [` + open + `]}]`, "unknown field"},
		{`[{"name": "s", "needs": {}, "steps": [{"client": "a", "do": "open", "expect": 1}]}]`, "unknown field"},
		{`[] []`, "more than one list"},
		{`[{"name": "", "needs": {}, "steps": [` + open + `]}]`, "names are required"},
		{`[{"name": "s", "needs": {}, "steps": [` + open + `]}, {"name": "s", "needs": {}, "steps": [` + open + `]}]`, "unique"},
		{`[{"name": "s", "needs": {}, "steps": []}]`, "no steps"},
		{`[{"name": "s", "only": ["lua"], "needs": {}, "steps": [` + open + `]}]`, `no runtime "lua"`},
		{`[{"name": "s", "needs": {"players": {}}, "steps": [` + open + `]}]`, "server of its own"},
		{`[{"name": "s", "needs": {"page": "foreign"}, "steps": [` + open + `]}]`, "only chromium has pages"},
		{`[{"name": "s", "needs": {"matchmakers": {"m": {"teams": []}}}, "steps": [` + open + `]}]`, "no teams"},
		{`[{"name": "s", "needs": {}, "steps": [{"client": "a", "do": "open", "wait": "b"}]}]`, "not 2 of them"},
		{`[{"name": "s", "needs": {}, "steps": [{"do": "open"}]}]`, "a client is named"},
		{`[{"name": "s", "needs": {}, "steps": [{"client": "a", "do": "dance"}]}]`, `no "dance"`},
		{`[{"name": "s", "needs": {}, "steps": [{"client": "a", "do": "joinParty", "with": {"cod": "x"}}]}]`, `no member "cod"`},
		{`[{"name": "s", "needs": {}, "steps": [{"client": "a", "event": "tickets"}]}]`, `no event "tickets"`},
		{`[{"name": "s", "needs": {}, "steps": [{"server": "kill"}]}]`, "only a server of its own"},
		{`[{"name": "s", "needs": {}, "steps": [{"gate": "refuse", "with": {"port": 1}}]}]`, `no member "port"`},
		{`[{"name": "s", "needs": {}, "steps": [{"client": "a", "start": "me"}]}]`, "has a name"},
		{`[{"name": "s", "needs": {}, "steps": [{"client": "a", "start": "me", "as": "x"}]}]`, "never waited for"},
		{`[{"name": "s", "needs": {}, "steps": [{"wait": "x"}]}]`, "not under way"},
		{`[{"name": "s", "needs": {}, "steps": [{"client": "a", "do": "me", "want": {}, "error": {}}]}]`, "not both"},
	} {
		if all, err := readStories(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want an error with %q", c.text, all, err, c.want)
		}
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{`{"a": 1}`, `{"a": 1, "b": 2}`, true},
		{`{"a": 1}`, `{"b": 2}`, false},
		{`{"a": {"b": [1, {"c": true}]}}`, `{"a": {"b": [1, {"c": true, "d": 1}]}}`, true},
		{`[1]`, `[1, 2]`, false},
		{`{"a": null}`, `{"a": null}`, true},
		{`{"a": null}`, `{}`, false},
		{`{"a": {"$exists": false}}`, `{}`, true},
		{`{"a": {"$exists": false}}`, `{"a": null}`, false},
		{`{"a": {"$exists": true}}`, `{"a": null}`, true},
		{`{"a": {"$match": "^x"}}`, `{"a": "xy"}`, true},
		{`{"a": {"$match": "^x"}}`, `{"a": "yx"}`, false},
		{`{"a": {"$match": "1"}}`, `{"a": 1}`, false},
		{`{"a": {"$gt": 1}}`, `{"a": 2}`, true},
		{`{"a": {"$gt": 1}}`, `{"a": 1}`, false},
		{`{"a": {"$lt": 1}}`, `{}`, false},
		{`{"$length": 2}`, `[1, 2]`, true},
		{`{"$length": 0}`, `{}`, true},
		{`{"$length": 0}`, `null`, false},
		{`{"$has": {"a": 1}}`, `[{"a": 2}, {"a": 1, "b": 1}]`, true},
		{`{"$has": {"a": 1}}`, `[{"a": 2}]`, false},
		{`{"a": {"$not": 1}}`, `{"a": 2}`, true},
		{`{"a": {"$not": 1}}`, `{"a": 1}`, false},
		{`{"a": {"$in": [1, 2]}}`, `{"a": 2}`, true},
		{`{"a": {"$in": [1, 2]}}`, `{}`, false},
		{`{"a": {"$like": 1}}`, `{"a": 1}`, false},
	} {
		var want, got any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.got), &got); err != nil {
			t.Fatal(err)
		}
		if why := differs(want, got); (why == "") != c.same {
			t.Errorf("%s of %s: %q, want the same: %t", c.want, c.got, why, c.same)
		}
	}
}
