package telemetry

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Options configure an Exporter. What they leave out, the SDK of OpenTelemetry reads from
// its own variables (OTEL_…).
type Options struct {
	// Endpoint is the base URL of the receiver, to which /v1/metrics and /v1/traces
	// are added.
	// Default: OTEL_EXPORTER_OTLP_ENDPOINT.
	Endpoint string
	// Service is the program's name: "muster" if it is empty.
	Service string
	// Version is the release of the program, and Instance its name among others of it.
	Version, Instance string
	// Gatherer is where the metrics come from; nil: none are sent.
	Gatherer prometheus.Gatherer
	// Registerer has the metrics of the Exporter itself.
	Registerer prometheus.Registerer
	// Logger is where failures are logged.
	Logger *slog.Logger
}

// The signals of OpenTelemetry that are sent.
const (
	metricsSignal = "metrics"
	tracesSignal  = "traces"
)

// endpoint returns the variable of OpenTelemetry that says where a signal goes, and its
// value; "" if none does.
func endpoint(signal string) (name, value string) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + strings.ToUpper(signal) + "_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if value := os.Getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// sends reports whether a signal is sent.
func (o *Options) sends(signal string) bool {
	if signal == metricsSignal && o.Gatherer == nil {
		return false
	}
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_"+strings.ToUpper(signal)+"_EXPORTER") == "none" {
		return false
	}
	_, value := endpoint(signal)
	return o.Endpoint != "" || value != ""
}

// Check returns an error in the terms of the command line if the endpoint, or one in the
// environment, cannot be used.
func (o *Options) Check() error {
	if o.Endpoint != "" {
		if err := checkURL(o.Endpoint); err != nil {
			return fmt.Errorf("otlp-endpoint: %w", err)
		}
	}
	for _, signal := range []string{metricsSignal, tracesSignal} {
		if !o.sends(signal) {
			continue
		}
		name, value := endpoint(signal)
		if o.Endpoint == "" {
			if err := checkURL(value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := checkProtocol(signal); err != nil {
			return err
		}
	}
	return nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is no http:// or https:// URL, such as http://collector:4318", text)
	case u.User != nil:
		return fmt.Errorf("the URL must have no user and no password; OTEL_EXPORTER_OTLP_HEADERS is for credentials")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q must have no query", text)
	}
	return nil
}

func checkProtocol(signal string) error {
	name := "OTEL_EXPORTER_OTLP_" + strings.ToUpper(signal) + "_PROTOCOL"
	value := os.Getenv(name)
	if value == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
		value = os.Getenv(name)
	}
	switch cmp.Or(value, "http/protobuf") {
	case "http/protobuf":
		return nil
	default:
		return fmt.Errorf("%s: %q is not supported; use http/protobuf, which receivers take on port 4318, or set OTEL_SDK_DISABLED=true", name, value)
	}
}
