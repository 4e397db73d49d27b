package awsrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func TestServeHTTP_LogAndMetrics(t *testing.T) {
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	srv := newServer(t, awsrpc.Options{
		Logger:     slog.New(slog.NewJSONHandler(&log, nil)),
		Registerer: reg,
	})
	awsrpc.Handle(srv, "DescribeAlias", func(ctx context.Context, in *gamelift.DescribeAliasInput) (*gamelift.DescribeAliasOutput, error) {
		switch *in.AliasId {
		case "alias-panic":
			panic("boom")
		case "alias-plain":
			return nil, errors.New("read alias: disk on fire")
		}
		return nil, nil
	})
	record := func(r *http.Request) map[string]any {
		t.Helper()
		log.Reset()
		serve(srv, r)
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Fatalf("%d records: %s", n, log.String())
		}
		var m map[string]any
		if err := json.Unmarshal(log.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := func(m map[string]any, attrs map[string]any) {
		t.Helper()
		for k, v := range attrs {
			if m[k] != v {
				t.Errorf("%s is %v, want %v, in %v", k, m[k], v, m)
			}
		}
	}
	want(record(newJSON("DescribeAlias", `{"AliasId":"alias-1"}`)), map[string]any{
		"level": "INFO", "operation": "DescribeAlias", "protocol": "json", "principal": "anonymous", "status": 200.0,
		"bytes_in": 21.0, "bytes_out": 2.0, "error": nil})
	want(record(newCBOR("Explode", "")), map[string]any{
		"level": "INFO", "operation": "unknown", "protocol": "cbor", "status": 400.0, "error_code": "UnknownOperationException"})
	want(record(newJSON("DescribeAlias", `{"AliasId":"alias-plain"}`)), map[string]any{
		"level": "ERROR", "status": 500.0, "error_code": "InternalServiceException", "error": "read alias: disk on fire"})
	m := record(newJSON("DescribeAlias", `{"AliasId":"alias-panic"}`))
	want(m, map[string]any{"level": "ERROR", "status": 500.0, "error": "panic: boom"})
	if stack, _ := m["stack"].(string); !strings.Contains(stack, "server_test.go") {
		t.Errorf("stack %q", stack)
	}
	counts := `
# HELP muster_api_requests_total Requests to the API by operation, wire protocol and error code (OK when there is none).
# TYPE muster_api_requests_total counter
muster_api_requests_total{code="InternalServiceException",operation="DescribeAlias",protocol="json"} 2
muster_api_requests_total{code="OK",operation="DescribeAlias",protocol="json"} 1
muster_api_requests_total{code="UnknownOperationException",operation="unknown",protocol="cbor"} 1
`
	for _, op := range gamelift.API().Operations { // the others did not fail yet
		for _, protocol := range []string{"json", "cbor"} {
			if op.Name != "DescribeAlias" || protocol != "json" {
				counts += fmt.Sprintf("muster_api_requests_total{code=\"InternalServiceException\",operation=%q,protocol=%q} 0\n", op.Name, protocol)
			}
		}
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(counts), "muster_api_requests_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(reg, "muster_api_request_duration_seconds"); n != 2 || err != nil {
		t.Errorf("%d histograms, want 2 (%v)", n, err)
	}
}
