package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/musterhq/muster/app"
)

// unknown are counters of the dashboards whose labels are known only once something happened.
var unknown = []string{
	"muster_matchmaking_rule_evaluations_total",        // the rules of a match
	"muster_player_requests_total",                     // the statuses of a route
	`muster_game_server_messages_total{status!~"2.."}`, // why a message was refused
}

var (
	selector = regexp.MustCompile(`(muster_[a-z_]+_total)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)=~?"([^"]*)"`)
)

// Each counter of the alerts and the dashboards exists on a server on which nothing has
// happened yet, with each of the labels that they name.
func TestCounters_BeforeFirstEvent(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.Store, o.EventsArchive = "sqlite", t.TempDir() })
	call(t, a, "CreateGameSessionQueue", map[string]any{"Name": "duels"})
	call(t, a, "CreateMatchmakingRuleSet", map[string]any{"Name": "pairs", "RuleSetBody": `{"name": "pairs", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 2}]}`})
	call(t, a, "CreateMatchmakingConfiguration", map[string]any{
		"Name": "pairs", "RuleSetName": "pairs", "RequestTimeoutSeconds": 60, "AcceptanceRequired": false, "FlexMatchMode": "STANDALONE",
	})
	anywhere(t, at(a), "quiet")
	_, text := get(t, a.URL()+"/metrics")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families := must(parser.TextToMetricFamilies(strings.NewReader(text + "\n")))(t)
	files, err := filepath.Glob("../deploy/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dashboards: %v", err)
	}
	n := 0
	for _, file := range append(files, "../deploy/prometheus/muster-rules.yml") {
		query := must(os.ReadFile(file))(t)
		for _, m := range selector.FindAllStringSubmatch(strings.ReplaceAll(string(query), `\"`, `"`), -1) {
			if slices.Contains(unknown, m[0]) || slices.Contains(unknown, m[1]) {
				continue
			}
			n++
			for _, labels := range alternatives(m[2]) {
				if !slices.ContainsFunc(families[m[1]].GetMetric(), func(c *dto.Metric) bool { return has(c, labels) }) {
					t.Errorf("%s: a server on which nothing has happened has no %s%v", file, m[1], labels)
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("the alerts and dashboards use %d counters, want 20 and more", n)
	}
	for _, want := range []string{
		`muster_limited_total{limit="game-backend"} 0`, `muster_limited_total{limit="credentials"} 0`,
		`muster_api_requests_total{code="InternalServiceException",operation="CreateFleet",protocol="json"} 0`,
		`muster_api_requests_total{code="InternalServiceException",operation="CreateFleet",protocol="cbor"} 0`,
		`muster_game_server_heartbeats_total{healthy="false"} 0`, `muster_game_server_pushes_total{action="CreateGameSession"} 0`,
		`muster_hosts_process_exits_total{reason="SERVER_PROCESS_CRASHED"} 0`,
		`muster_queue_events_total{metric="PlacementsFailed",queue_name="duels"} 0`,
		`muster_matchmaking_events_total{configuration_name="pairs",metric="TicketsTimedOut"} 0`,
		`muster_player_limited_total{limit="lockout"} 0`, `muster_store_refused_total{yields="false"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("a server on which nothing has happened has no %s", want)
		}
	}
}

// alternatives returns the labels that the matchers of a selector name: one set for each of
// the values that they list. What a variable of Grafana or a pattern stands for is left out.
func alternatives(matchers string) []map[string]string {
	all := []map[string]string{{}}
	for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
		if strings.ContainsAny(m[2], "$*.") {
			continue
		}
		var next []map[string]string
		for _, value := range strings.Split(m[2], "|") {
			for _, labels := range all {
				with := map[string]string{m[1]: value}
				for k, v := range labels {
					with[k] = v
				}
				next = append(next, with)
			}
		}
		all = next
	}
	return all
}

// has reports whether a counter has labels.
func has(c *dto.Metric, labels map[string]string) bool {
	n := 0
	for _, l := range c.GetLabel() {
		if value, ok := labels[l.GetName()]; ok && value == l.GetValue() {
			n++
		}
	}
	return n == len(labels)
}
