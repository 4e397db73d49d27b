package monitoring

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/test/node"
)

// rare are metrics that a server without trouble does not have, with the source that has them.
var rare = map[string]string{
	"muster_cell_owner":                 "app/member.go",            // of servers on one PostgreSQL
	"muster_events_archive_lag_seconds": "event/archive/metrics.go", // of servers with an archive
	"muster_events_archive_lost_total":  "event/archive/metrics.go",
	"muster_region_copy_age_seconds":    "app/deployment.go", // of deployments with several regions
}

// query is one query of a dashboard or a rule.
type query struct {
	where, expr string
	compares    bool // it has a result only where something is wrong
}

var (
	name     = regexp.MustCompile(`\b(?:muster|process|go)_[a-z0-9_]+\b|\bup\b`)
	variable = regexp.MustCompile(`\$(?:fleet|location|queue|configuration|instance)\b`)
)

// names returns the metrics of an expression.
func (q query) names() []string {
	all := name.FindAllString(regexp.MustCompile(`by \([^)]*\)`).ReplaceAllString(q.expr, ""), -1)
	slices.Sort(all)
	return slices.Compact(all)
}

// dashboards returns the queries of all dashboards. Grafana's variables stand for everything.
func dashboards(t *testing.T) (all []query) {
	t.Helper()
	files, err := filepath.Glob("../../deploy/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dashboards: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			UID, Title string
			Panels     []struct {
				ID      int
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if want := strings.TrimSuffix(filepath.Base(file), ".json"); d.UID != want || d.Title == "" || len(d.Panels) == 0 {
			t.Errorf("%s: uid %q, title %q, %d panels", file, d.UID, d.Title, len(d.Panels))
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "10s")
				expr = variable.ReplaceAllString(expr, ".*")
				all = append(all, query{d.Title + ": " + p.Title, expr, strings.Contains(expr, "> 0") || strings.Contains(expr, `status!~`) || strings.Contains(expr, `FirstChoice`)})
			}
		}
	}
	return all
}

// rule is an alert.
type rule struct {
	Alert, Expr string
	Annotations map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/prometheus/muster-rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no rules")
	}
	return all
}

// Each alert has a section of the runbooks, and each section an alert.
func TestRules_Runbooks(t *testing.T) {
	text, err := os.ReadFile("../../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			sections = append(sections, strings.TrimSpace(title))
		}
	}
	for _, r := range rules(t) {
		n := slices.Index(sections, r.Alert)
		if n < 0 || !strings.HasSuffix(r.Annotations["runbook_url"], "docs/runbooks.md#"+strings.ToLower(r.Alert)) || r.Annotations["summary"] == "" {
			t.Errorf("%s: no section in docs/runbooks.md, no summary, or another runbook_url: %v", r.Alert, r.Annotations)
			continue
		}
		sections = slices.Delete(sections, n, n+1)
	}
	if len(sections) > 0 {
		t.Errorf("docs/runbooks.md has sections for no alert: %v", sections)
	}
}

func found(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is missing (Debian package prometheus): %v", program, err)
	}
	return path
}

// promtool takes the rules and the configuration, and the alerts fire in the written cases.
func TestRules_Promtool(t *testing.T) {
	promtool := found(t, "promtool")
	for _, args := range [][]string{{"check", "config", "../../deploy/prometheus/prometheus.yml"}, {"test", "rules", "testdata/alerts.yml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// prometheus is a running Prometheus.
type prometheus struct{ url string }

// watch starts a Prometheus that reads a server each half second, with the project's rules.
func watch(t *testing.T, program, server string) prometheus {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs("../../deploy/prometheus/muster-rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 500ms, evaluation_interval: 1s}\nrule_files: [%s]\nscrape_configs: [{job_name: muster, static_configs: [{targets: [%q]}]}]\n", rules, at.Host)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	listening := regexp.MustCompile(`msg="Listening on" address=(127\.0\.0\.1:[1-9]\d*)`)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() { // what it logs later is of no interest, but must go somewhere
				for lines.Scan() {
				}
			}()
			return prometheus{"http://" + m[1]}
		}
	}
	t.Fatal("Prometheus ended before it listened")
	return prometheus{}
}

// get reads a path of the API into data.
func (p prometheus) get(ctx context.Context, path string, data any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("status %d: %w", response.StatusCode, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// series returns how many series a query has now.
func (p prometheus) series(ctx context.Context, expr string) (int, error) {
	var data struct{ Result []json.RawMessage }
	err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expr), &data)
	return len(data.Result), err
}

// Every query of the dashboards and rules is PromQL that has a result, and every metric in them
// is one that a server has after games were played on it.
func TestQueries(t *testing.T) {
	program := found(t, "prometheus")
	path := node.Path(t)
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("currency: EUR\nhosts: [{hour: 0.5}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := node.Run(path, "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--prices", prices, "--demo-server", os.Getenv("ARENA_BIN"), "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	p := watch(t, program, server.URL)
	managed(t, server.URL)
	bots := exec.Command(path, "bots", "--endpoint", server.URL, "--game", os.Getenv("ARENA_BIN"), "--players", "8", "--match-size", "8", "--for", "2s")
	if out, err := bots.CombinedOutput(); err != nil {
		t.Fatalf("the bots do not play: %v\n%s", err, out)
	}

	queries := dashboards(t)
	for _, r := range rules(t) {
		queries = append(queries, query{r.Alert, r.Expr, true})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	known := map[string]bool{}
	for _, q := range queries {
		uncommon := false
		for _, n := range q.names() {
			if source, ok := rare[n]; ok {
				uncommon = true
				if !registered(t, source, n) {
					t.Errorf("%s: %s does not have the metric %s", q.where, source, n)
				}
			} else if !known[n] {
				known[n] = true
				p.until(ctx, t, q.where+": the metric "+n, n)
			}
		}
		if _, err := p.series(ctx, q.expr); err != nil {
			t.Errorf("%s: %v", q.where, err)
		} else if !q.compares && !uncommon {
			p.until(ctx, t, q.where, q.expr)
		}
	}
	var evaluated struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.get(ctx, "/api/v1/rules", &evaluated); err != nil {
		t.Fatal(err)
	}
	for _, g := range evaluated.Groups {
		for _, r := range g.Rules {
			if r.Health == "err" {
				t.Errorf("the rule %s cannot be evaluated: %s", r.Name, r.LastError)
			}
		}
	}
}

// until waits until a query has a result: the next time that Prometheus reads the server.
func (p prometheus) until(ctx context.Context, t *testing.T, what, expr string) {
	t.Helper()
	for {
		n, err := p.series(ctx, expr)
		if n > 0 {
			return
		}
		if err != nil {
			t.Errorf("%s: %s: %v", what, expr, err)
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("%s: %s has no result", what, expr)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// registered reports whether a source file names a metric, whole or as a prefix and a name.
func registered(t *testing.T, source, metric string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", source))
	if err != nil {
		t.Fatal(err)
	}
	short, ok := strings.CutPrefix(metric, "muster_player_")
	return strings.Contains(string(text), `"`+metric+`"`) || ok && strings.Contains(string(text), `"`+short+`"`)
}

// managed creates a fleet with instances, for the metrics of such fleets.
func managed(t *testing.T, at string) {
	t.Helper()
	c := node.Client(at)
	build, err := node.Upload(t.Context(), at, c, map[string][]byte{"server": []byte("#!/bin/sh\n")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateFleet(t.Context(), &gamelift.CreateFleetInput{
		Name: aws.String("managed"), BuildId: &build, ComputeType: types.ComputeTypeEc2, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{LaunchPath: aws.String("/local/game/server"), ConcurrentExecutions: aws.Int32(1)}}},
	}); err != nil {
		t.Fatal(err)
	}
}
