package app

import (
	"cmp"
	"net"
	"os"

	"github.com/musterhq/muster/internal/release"
	"github.com/musterhq/muster/internal/telemetry"
)

// telemetry returns what sends the metrics of a node to a receiver of OpenTelemetry.
func (o *Options) telemetry(m *metrics) (*telemetry.Exporter, error) {
	host, _ := os.Hostname() // without it the port has to do
	_, port, _ := net.SplitHostPort(o.Listen)
	return telemetry.New(telemetry.Options{
		Endpoint: o.OTLPEndpoint, Version: release.This().Number, Instance: cmp.Or(o.NodeAddress, net.JoinHostPort(host, port)),
		Gatherer: m, Registerer: m.registry, Logger: o.Logger,
	})
}
