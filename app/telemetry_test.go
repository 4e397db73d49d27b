package app_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/collector"
)

// What is sent has the names and, for a counter, the value that /metrics has. The record of a traced
// request has the id of its trace.
func TestTelemetry_Metrics(t *testing.T) {
	t.Parallel()
	to := collector.Start(t)
	log := new(screen)
	a := start(t, func(o *app.Options) { o.OTLPEndpoint, o.Logger = to.URL+"/", timelessLog(log) })
	const trace = "0af7651916cd43dd8448eb211c80319c"
	for range 3 {
		send(t, direct, http.MethodPost, a.URL(), "{}", map[string]string{
			"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "GameLift.ListLocations", "Traceparent": "00-" + trace + "-b7ad6b7169203331-01",
		})
	}
	if line := log.await(t, `level=INFO msg="api request"`); !strings.HasSuffix(line, "trace_id="+trace) {
		t.Errorf("the record is %s", line)
	}
	want := namesAt(t, a.URL()+"/metrics")
	stop(t, a) // sends the last figures
	metrics, about := to.Metrics, to.Resource
	var got []string
	requests := 0.0
	for _, m := range metrics {
		got = append(got, m.Name)
		if m.Name == "muster_api_requests_total" {
			requests = requestsOf(m, "ListLocations")
		}
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("sent %v\nwant %v", got, want)
	}
	if requests != 3 {
		t.Errorf("sent %v requests of ListLocations, want 3", requests)
	}
	for _, key := range []string{"service.version", "service.instance.id", "host.name"} {
		if about[key] == "" {
			t.Errorf("the resource has no %s: %v", key, about)
		}
	}
	if about["service.name"] != "muster" {
		t.Errorf("the service is %q", about["service.name"])
	}
}

// namesAt returns the sorted names of the metrics at a URL.
func namesAt(t *testing.T, url string) []string {
	t.Helper()
	_, text := get(t, url)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return slices.Sorted(maps.Keys(must(parser.TextToMetricFamilies(strings.NewReader(text + "\n")))(t)))
}

// requestsOf returns the value of a counter for an operation.
func requestsOf(m *metricspb.Metric, operation string) (sum float64) {
	for _, p := range m.GetSum().GetDataPoints() {
		for _, kv := range p.Attributes {
			if kv.Key == "operation" && kv.Value.GetStringValue() == operation {
				sum += p.GetAsDouble()
			}
		}
	}
	return sum
}

// A receiver that is away, or takes requests and answers none, keeps nobody from being
// answered, and no server from stopping. The log says so once.
func TestTelemetry_ReceiverAway(t *testing.T) {
	t.Parallel()
	closed := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	closed.Close()
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	defer close(release)
	for name, url := range map[string]string{"closed": "http://" + closed.Addr().String(), "silent": silent.URL} {
		log := new(screen)
		a := start(t, func(o *app.Options) { o.OTLPEndpoint, o.Logger = url, timelessLog(log) })
		for range 50 {
			call(t, a, "ListLocations", map[string]any{})
		}
		stop(t, a)
		if n := strings.Count(log.String(), "the receiver of OpenTelemetry does not take"); n != 2 { // metrics and traces
			t.Errorf("%s: the log says %d times that the receiver is away:\n%s", name, n, log)
		}
	}
}

// No more spans wait for a receiver that is silent than may; what is dropped is counted.
func TestTelemetry_Full(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "5")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	a := start(t, func(o *app.Options) { o.OTLPEndpoint = silent.URL })
	for range 12 {
		call(t, a, "ListLocations", map[string]any{})
	}
	defer close(release)
	wait.For(t, "of 12 spans, with room for 5, 7 are counted as dropped", func() error { // a span ends after its answer
		if _, text := get(t, a.URL()+"/metrics"); !strings.Contains(text, "muster_otlp_dropped_spans_total 7\n") {
			return fmt.Errorf("the metrics are\n%s", text)
		}
		return nil
	})
}

// The variables of OpenTelemetry turn it on and off, and say what goes with it.
func TestTelemetry_Environment(t *testing.T) {
	to := collector.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_SERVICE_NAME", "eu-muster")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	start(t, nil)
	to.Await(t, "metrics, in the interval of OTEL_METRIC_EXPORT_INTERVAL", func() bool { return len(to.Metrics) > 0 })
	to.Lock()
	key, about := to.Header.Get("Api-Key"), to.Resource["service.name"]
	to.Unlock()
	if key != "secret" || about != "eu-muster" {
		t.Errorf("sent with key %q by %s", key, about)
	}
	for name, value := range map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "collector:4318"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := app.New(options(t, nil)); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
				t.Errorf("%s gives %v", value, err)
			}
			t.Setenv("OTEL_SDK_DISABLED", "true")
			if _, err := app.New(options(t, nil)); err != nil {
				t.Errorf("although it is turned off, %v", err)
			}
		})
	}
}
