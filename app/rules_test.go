package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const labRules = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
"teams": [{"name": "duel", "minPlayers": 1, "maxPlayers": 1, "quantity": 2}],
"rules": [{"name": "Close", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 50}]}`

// Who may read matchmaking may check and simulate rule sets, from the console's own pages;
// nobody else may.
func TestConsole_Rules(t *testing.T) {
	t.Parallel()
	a, keys, _ := serve(t, "read-only", "game-server")
	quoted := must(json.Marshal(labRules))(t)
	body := `{"body":` + string(quoted) + `}`
	simulation := func(more string) string {
		return `{"a":` + string(quoted) + `,"b":` + strings.Replace(string(quoted), `: 50`, `: 500`, 1) + `,"minutes":5,"runs":2,"seed":1,` + more +
			`"players":{"populations":[{"tickets_per_minute":30,"attributes":{"skill":{"number":{"normal":{"mean":1500,"sd":300},"min":0}}}}]}}`
	}
	b := newBrowser(t, a.URL())
	try := func(what string, want int, path, body, text string, header map[string]string) string {
		t.Helper()
		status, got := b.send(http.MethodPost, path, body, header)
		if status != want || !strings.Contains(got, text) {
			t.Errorf("%s: %d %.300s, want %d %s", what, status, got, want, text)
		}
		return got
	}
	try("nobody", http.StatusUnauthorized, "/console/api/rules/check", body, "", asJSON)
	try("nobody", http.StatusUnauthorized, "/console/api/simulations", simulation(""), "", asJSON)
	b.logIn(keys["read-only"].Credentials)
	try("a login", http.StatusOK, "/console/api/rules/check", body, `"valid":true`, asJSON)
	proof := b.csrf
	b.csrf = ""
	try("without the proof of a page", http.StatusForbidden, "/console/api/simulations", simulation(""), "", asJSON)
	b.csrf = proof
	try("a configuration that does not exist", http.StatusNotFound, "/console/api/simulations", simulation(`"configuration":"no","since":"2026-01-02T03:04:05Z",`), "no does not exist", asJSON)
	try("runs", http.StatusBadRequest, "/console/api/simulations", strings.Replace(simulation(""), `"runs":2`, `"runs":0`, 1), "runs: must be from 1 to 20", asJSON)
	text := try("a simulation", http.StatusOK, "/console/api/simulations", simulation(""), `"result"`, asJSON)
	var last struct {
		Result struct {
			Runs int
			Rows []struct {
				Name  string
				A, B  float64
				Is    string                       `json:"b_is"`
				Range *struct{ Low, High float64 } `json:"delta_interval"`
			}
		}
	}
	for line := range strings.Lines(text) {
		check(t, json.Unmarshal([]byte(line), &last))
	}
	if r := last.Result; r.Runs != 2 || len(r.Rows) < 8 || r.Rows[0].Name != "tickets matched" || r.Rows[0].B <= r.Rows[0].A || r.Rows[0].Range == nil {
		t.Errorf("%+v", r)
	}
	host := newBrowser(t, a.URL()).logIn(keys["game-server"].Credentials)
	if status, got := host.send(http.MethodPost, "/console/api/rules/check", body, asJSON); status != http.StatusForbidden {
		t.Errorf("a role that may not read matchmaking: %d %s", status, got)
	}
	for who, want := range map[*browser]int{newBrowser(t, a.URL()): http.StatusUnauthorized, host: http.StatusForbidden, b: http.StatusOK} {
		if status, got := who.send(http.MethodGet, "/console/api/rules/templates", "", nil); status != want || want == http.StatusOK && !strings.Contains(got, `"kind":"duel"`) {
			t.Errorf("templates: %d %.300s, want %d", status, got, want)
		}
	}
}
