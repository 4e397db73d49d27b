// Package collector is a receiver of OpenTelemetry's protocol over HTTP, which decodes what
// servers send and keeps it.
package collector

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is a running receiver. What it has received is read with its mutex held, as
// Await does.
type Collector struct {
	URL string // for --otlp-endpoint

	sync.Mutex
	Header   http.Header       // of the latest request
	Resource map[string]string // of the latest request
	Metrics  []*metricspb.Metric
	Spans    []*Span

	arrived chan struct{} // closed and replaced with each request
}

// Span is a span with its resource.
type Span struct {
	*tracepb.Span
	Resource map[string]string
}

// Trace returns the span's trace in hex.
func (s *Span) Trace() string { return hex.EncodeToString(s.TraceId) }

// ID returns the span's id in hex.
func (s *Span) ID() string { return hex.EncodeToString(s.SpanId) }

// Parent returns the id of the span's parent in hex, "" if it has none.
func (s *Span) Parent() string { return hex.EncodeToString(s.ParentSpanId) }

// Attribute returns an attribute as text.
func (s *Span) Attribute(key string) string { return texts(s.Attributes)[key] }

func texts(attributes []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range attributes {
		out[kv.Key] = kv.Value.GetStringValue()
		if _, ok := kv.Value.GetValue().(*commonpb.AnyValue_StringValue); !ok {
			out[kv.Key] = kv.Value.String()
		}
	}
	return out
}

// Start starts a receiver, which ends with the test.
func Start(t testing.TB) *Collector {
	c := &Collector{arrived: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		in := &metrics.ExportMetricsServiceRequest{}
		if decoded(t, w, r, in) {
			c.keep(r, func() {
				for _, of := range in.ResourceMetrics {
					c.Resource = texts(of.Resource.Attributes)
					for _, scope := range of.ScopeMetrics {
						c.Metrics = append(c.Metrics, scope.Metrics...)
					}
				}
			})
			answer(w, &metrics.ExportMetricsServiceResponse{})
		}
	})
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		in := &traces.ExportTraceServiceRequest{}
		if decoded(t, w, r, in) {
			c.keep(r, func() {
				for _, of := range in.ResourceSpans {
					c.Resource = texts(of.Resource.Attributes)
					for _, scope := range of.ScopeSpans {
						for _, s := range scope.Spans {
							c.Spans = append(c.Spans, &Span{s, c.Resource})
						}
					}
				}
			})
			answer(w, &traces.ExportTraceServiceResponse{})
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// keep changes what has been received, and wakes Await.
func (c *Collector) keep(r *http.Request, change func()) {
	c.Lock()
	defer c.Unlock()
	c.Header = r.Header
	change()
	close(c.arrived)
	c.arrived = make(chan struct{})
}

// decoded decodes a request, or refuses it and fails the test.
func decoded(t testing.TB, w http.ResponseWriter, r *http.Request, in proto.Message) bool {
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	if err == nil {
		err = proto.Unmarshal(body, in)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s with %s: %v", r.URL.Path, r.Header.Get("Content-Type"), err)
		http.Error(w, "no such request", http.StatusBadRequest)
		return false
	}
	return true
}

func answer(w http.ResponseWriter, out proto.Message) {
	w.Header().Set("Content-Type", "application/x-protobuf")
	body, _ := proto.Marshal(out) // always possible
	_, _ = w.Write(body)
}

// Await waits until done is true of what has been received. It calls done with the mutex
// held.
func (c *Collector) Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	patience := time.After(30 * time.Second)
	for {
		c.Lock()
		ok, arrived := done(), c.arrived
		c.Unlock()
		if ok {
			return
		}
		select {
		case <-arrived:
		case <-patience:
			t.Fatalf("the collector waited in vain for %s", what)
		}
	}
}

// Span waits for a span of which match is true.
func (c *Collector) Span(t testing.TB, what string, match func(*Span) bool) (found *Span) {
	t.Helper()
	c.Await(t, what, func() bool {
		for _, s := range c.Spans {
			if match(s) {
				found = s
				return true
			}
		}
		return false
	})
	return found
}
