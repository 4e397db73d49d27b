package agent

import (
	"fmt"
	"net/netip"

	"github.com/musterhq/muster/agent/collector"
)

// startCollector opens the metrics ports if Options.Collect is set. If the SDKs'
// default ports are taken, it opens others; processes get their numbers in the
// environment.
func (a *Agent) startCollector() (stop func()) {
	if !a.opts.Collect {
		return func() {}
	}
	c, err := collector.Listen(collector.StatsDPort, collector.CrashPort, a.log)
	if err != nil {
		if c, err = collector.Listen(0, 0, a.log); err == nil {
			statsd, crash := c.Ports()
			a.log.Info("another program has the usual metrics ports, so game servers are told others by GAMELIFT_STATSD_PORT and GAMELIFT_CRASH_REPORTER_PORT",
				"usual", fmt.Sprintf("%d, %d", collector.StatsDPort, collector.CrashPort), "statsd", statsd, "crash_reporter", crash)
		}
	}
	if err != nil {
		a.log.Warn("metrics of game servers are not collected", "error", err)
		return func() {}
	}
	a.machine.Metrics = c
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	statsd, crash := c.Ports()
	a.machine.Jailer.Allow(netip.AddrPortFrom(loopback, uint16(statsd)), netip.AddrPortFrom(loopback, uint16(crash)))
	return func() {
		if err := c.Close(); err != nil {
			a.log.Warn("metrics ports not closed", "error", err)
		}
	}
}
