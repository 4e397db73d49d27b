package guides

import (
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
)

// TestMonitoring types the commands of the guide: Prometheus reads a server, a receiver of
// OpenTelemetry gets its traces, and what an hour costs is shown by the guide's prices.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	r := newReader(t, "monitoring")
	url, bodies := received(t)
	r.write("prices.yaml", document.Find(t, r.guide, "yaml", "currency: EUR").Text)
	r.follow(
		step{"promtool check config", func(text string) {
			needs(t, "promtool prometheus")
			lines := commands(text)
			r.prints(lines[0], "SUCCESS")
			r.puts("prometheus --config", "prometheus --storage.tsdb.path=tsdb --web.listen-address=127.0.0.1:0 --config")
			r.watches(lines[1], "Server is ready to receive web requests")
		}},
		step{"OTEL_TRACES_SAMPLER", func(text string) {
			// All are traced, since there is one request only.
			r.puts("OTEL_TRACES_SAMPLER_ARG=0.1", "OTEL_TRACES_SAMPLER_ARG=1")
			r.puts("http://127.0.0.1:4318", url)
			assignments, command, _ := strings.Cut(strings.ReplaceAll(text, "\\\n", ""), "muster serve")
			r.env = append(r.env, strings.Fields(r.said(assignments))...)
			p := r.runs("muster serve"+command, "--listen 127.0.0.1:0 --data data --prices prices.yaml")
			r.env = append(r.env, "MUSTER_ENDPOINT="+p.URL, "MUSTER_CREDENTIALS=data/admin-credentials")
			r.prints("muster fleets")
			answer, err := http.Get(p.URL + "/metrics")
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("metrics: %v, %v", answer, err)
			} else {
				answer.Body.Close()
			}
			until(t, bodies, "/v1/traces")
		}},
		step{"muster cost\n", func(text string) {
			lines := commands(text)
			r.prints(lines[0], "EUR")
			r.watches(lines[1], "EUR")
		}},
	)
}
