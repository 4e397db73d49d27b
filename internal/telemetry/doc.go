// Package telemetry sends what a server measures to a receiver of the OpenTelemetry
// Protocol (OTLP), such as a collector: the metrics of its Prometheus registry,
// and the spans of package tracing.
// A receiver that does not answer costs nothing but what was to be sent.
package telemetry
