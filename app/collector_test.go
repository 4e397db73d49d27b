package app_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	metricscollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// collector is a receiver of OpenTelemetry's protocol that keeps what it is sent.
type collector struct {
	*httptest.Server

	mu        sync.Mutex
	resources []*resourcepb.Resource
	metrics   []*metricspb.Metric
	headers   []http.Header
	arrived   chan struct{} // closed and replaced with each request
}

func newCollector(t *testing.T) *collector {
	r := &collector{arrived: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, rq *http.Request) {
		in := &metricscollector.ExportMetricsServiceRequest{}
		if !received(t, w, rq, in, &metricscollector.ExportMetricsServiceResponse{}) {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		defer r.tell()
		r.headers = append(r.headers, rq.Header)
		for _, of := range in.ResourceMetrics {
			r.resources = append(r.resources, of.Resource)
			for _, scope := range of.ScopeMetrics {
				r.metrics = append(r.metrics, scope.Metrics...)
			}
		}
	})
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	return r
}

// received decodes a request into in and answers it.
func received(t *testing.T, w http.ResponseWriter, rq *http.Request, in, out proto.Message) bool {
	body, err := io.ReadAll(rq.Body)
	if err == nil && rq.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	if err == nil {
		err = proto.Unmarshal(body, in)
	}
	if err != nil || rq.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s with %s: %v", rq.URL.Path, rq.Header.Get("Content-Type"), err)
		http.Error(w, "no such request", http.StatusBadRequest)
		return false
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	answer, _ := proto.Marshal(out)
	_, _ = w.Write(answer)
	return true
}

// told returns what has been received so far.
func (r *collector) told() (metrics []*metricspb.Metric, resources []*resourcepb.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.metrics, r.resources
}

// tell wakes await. r.mu must be held.
func (r *collector) tell() {
	close(r.arrived)
	r.arrived = make(chan struct{})
}

// await waits until something has been received of which done, called with r.mu held, is true.
func (r *collector) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	patience := time.After(30 * time.Second)
	for {
		r.mu.Lock()
		ok, arrived := done(), r.arrived
		r.mu.Unlock()
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
