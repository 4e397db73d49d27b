package app_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/test/document"
)

var update = flag.Bool("update", false, "write the references in docs anew")

// described is how Prometheus's client writes what describes a metric.
var described = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "(.*)", unit: ".*", constLabels: \{.*\}, variableLabels: \{(.*)\}\}$`)

// docs/metrics.md lists exactly the metrics that a server has.
func TestReference_Metrics(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.Store, o.EventsArchive = "sqlite", t.TempDir() })
	all := make(chan *prometheus.Desc)
	go func() {
		a.DescribeMetrics(all)
		close(all)
	}()
	rows := map[string][][]string{}
	seen := map[string]bool{}
	for d := range all {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		name, help, labels := m[1], strings.ReplaceAll(m[2], `\"`, `"`), m[3]
		if seen[name] || !strings.HasPrefix(name, "muster_") {
			continue
		}
		seen[name] = true
		if labels != "" {
			labels = "`" + strings.ReplaceAll(labels, ",", "`, `") + "`"
		}
		part := subject(name)
		rows[part] = append(rows[part], []string{"`" + name + "`", labels, help})
	}
	var b strings.Builder
	b.WriteString(metricsHead)
	for _, s := range subjects {
		part := rows[s.title]
		slices.SortFunc(part, func(x, y []string) int { return strings.Compare(x[0], y[0]) })
		if len(part) == 0 {
			t.Errorf("no metric is about %s", s.title)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s", s.title, document.Table([]string{"metric", "labels", "meaning"}, part))
	}
	document.Written(t, "metrics.md", b.String(), *update)
}

const metricsHead = `# Metrics

What each server reports to Prometheus at ` + "`/metrics`" + `. [Monitoring](monitoring.md) has dashboards and alerts that
use it, [operations](operations.md#fleets-and-metrics) what to look at first.

Generated from the running server; do not edit. Names that end in ` + "`_total`" + ` are counters: use them with
` + "`rate()`" + ` or ` + "`increase()`" + `. Those that the alerts use exist, at 0, before what they count happens for the first
time: Prometheus does not see the event with which a counter begins. With several regions, every metric also
has the label ` + "`region`" + `. What the Go runtime and the operating system count (` + "`go_…`" + `, ` + "`process_…`" + `) is there, too.
`

// subjects are the sections of docs/metrics.md, by how the names of their metrics begin. The
// last one has all others.
var subjects = []struct {
	title    string
	prefixes []string
}{
	{"Fleets and hosts", []string{"fleet_", "host", "cost_", "game_server_group"}},
	{"Game servers", []string{"game_server_", "relay"}},
	{"Placement", []string{"queue", "placement", "remote"}},
	{"Matchmaking", []string{"matchmaking"}},
	{"Players", []string{"player"}},
	{"Notifications, audit and archive", []string{"notify_", "audit_", "events_archive_"}},
	{"State", []string{"store_", "cell_", "standby_", "level"}},
	{"The server", []string{""}},
}

func subject(name string) string {
	name = strings.TrimPrefix(name, "muster_")
	for _, s := range subjects {
		if slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return s.title
		}
	}
	return ""
}

// docs/events.md lists exactly the codes of events.
func TestReference_Events(t *testing.T) {
	t.Parallel()
	var published, own [][]string
	for _, c := range document.Constants(t, "event/code.go", "Code") {
		row := []string{"`" + c.Value + "`", c.Comment, string(event.Code(c.Value).Weight())}
		if event.Code(c.Value).Published() {
			published = append(published, row)
		} else {
			own = append(own, row)
		}
	}
	heads := []string{"code", "meaning", "notable"}
	document.Written(t, "events.md", eventsHead+
		"\n## Events of the API\n\nThese DescribeFleetEvents returns, too, with the same codes as AWS.\n\n"+document.Table(heads, published)+
		"\n## Muster's own events\n\n"+document.Table(heads, own), *update)
}

const eventsHead = `# Events

What Muster records when something happens. ` + "`muster events --follow`" + ` and the page Events of the
[console](console.md) show them, and ` + "`/console/api/events`" + ` streams them as JSON lines. What other systems are
told of placements and matches is in [notifications](notifications.md).

Generated from the code; do not edit. Each event has a ` + "`code`, a `time` and a `message`" + `, and the ids that apply:
` + "`fleet_id`, `location`, `compute_name`, `process_id`, `game_session_id`, `player_session_id`, `resource`" + `. The
console's page Now keeps those that are notable in sight: a failure, a warning, a recovery or a change.
`

// docs/errors.md lists exactly the exceptions of the API and the codes of the player API.
func TestReference_Errors(t *testing.T) {
	t.Parallel()
	var exceptions [][]string
	for _, c := range document.Constants(t, "internal/fault/fault.go", "Kind") {
		exceptions = append(exceptions, []string{"`" + c.Value + "`", c.Comment})
	}
	document.Written(t, "errors.md", errorsHead+document.Table([]string{"exception", "meaning"}, exceptions)+
		playerErrorsHead+document.Table([]string{"code", "status", "meaning"}, playerCodes(t)), *update)
}

// playerCode is a code in the description of the player API, with its status and meaning.
var playerCode = regexp.MustCompile(`(?m)^ {12}([a-z-]+): (\d{3})(?: # (.*))?$`)

func playerCodes(t *testing.T) [][]string {
	t.Helper()
	text := must(os.ReadFile(filepath.Join(document.Top(t), "backend", "openapi.yaml")))(t)
	_, codes, found := strings.Cut(string(text), "x-codes:")
	codes, _, ended := strings.Cut(codes, "retry_after_seconds:")
	if !found || !ended {
		t.Fatal("backend/openapi.yaml has no x-codes")
	}
	var rows [][]string
	for _, m := range playerCode.FindAllStringSubmatch(codes, -1) {
		if m[3] == "" {
			t.Errorf("backend/openapi.yaml: %s has no comment: say what it means", m[1])
		}
		rows = append(rows, []string{"`" + m[1] + "`", m[2], m[3]})
	}
	if len(rows) < 20 {
		t.Fatalf("found only %d codes of the player API", len(rows))
	}
	return rows
}

const errorsHead = `# Errors

What each error means. Messages name the member that is wrong, the rule, and what to do about it. What is
wrong without an error is in [troubleshooting](troubleshooting.md).

Generated from the code; do not edit.

## Exceptions of the API

AWS's SDKs raise them as exceptions of these names; the JSON has them in ` + "`__type`" + `, each with a ` + "`message`" + `.

`

const playerErrorsHead = `
## Codes of the player API

The body of an error is ` + "`application/problem+json`" + ` (RFC 9457), with the code in ` + "`code`" + ` and what is wrong in
` + "`detail`" + `. Programs decide by the code: the text may change.

`

// docs/limits.md has a row for each limit of requests, with its default.
func TestReference_Limits(t *testing.T) {
	t.Parallel()
	text := must(os.ReadFile(filepath.Join(document.Top(t), "docs", "limits.md")))(t)
	for name, rate := range app.DefaultLimits() {
		row := fmt.Sprintf(`(?m)^\| .*%s.* \| .* \| %s, %s( each)? \|$`, "`"+name+"`", grouped(int(rate.PerSecond)), grouped(rate.Burst))
		if !regexp.MustCompile(row).Match(text) {
			t.Errorf("docs/limits.md has no row for %s with %s, %s", name, grouped(int(rate.PerSecond)), grouped(rate.Burst))
		}
	}
}

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

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
