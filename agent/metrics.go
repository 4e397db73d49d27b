package agent

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/musterhq/muster/agent/collector"
	"github.com/musterhq/muster/agent/disk"
)

// metricsFile stores the metrics ports below Root, where they are not the usual ones:
// processes that outlive an agent use them again.
const metricsFile = "metrics.json"

type metricsState struct{ StatsD, Crash uint16 }

// startCollector opens the metrics ports if Options.Collect is set: those of a former agent,
// or the SDKs' default ports, or others if they are taken; processes get their numbers in the
// environment.
func (a *Agent) startCollector() (stop func()) {
	if !a.opts.Collect {
		return func() {}
	}
	path := filepath.Join(a.opts.Root, metricsFile)
	usual := metricsState{collector.StatsDPort, collector.CrashPort}
	kept := usual
	_ = disk.Read(path, &kept) // there is no file where they are the usual ones
	var c *collector.Collector
	var err error
	for _, try := range slices.Compact([]metricsState{kept, usual, {}}) {
		if c, err = collector.Listen(try.StatsD, try.Crash, a.opts.Sockets, a.log); err == nil {
			break
		}
	}
	if err != nil {
		a.log.Warn("metrics of game servers are not collected", "error", err)
		return func() {}
	}
	statsd, crash := c.Ports()
	if open := (metricsState{uint16(statsd), uint16(crash)}); open != usual {
		a.log.Info("another program had the usual metrics ports, so game servers are told others by GAMELIFT_STATSD_PORT and GAMELIFT_CRASH_REPORTER_PORT",
			"usual", fmt.Sprintf("%d, %d", usual.StatsD, usual.Crash), "statsd", statsd, "crash_reporter", crash)
		if err := disk.Write(path, open); err != nil {
			a.log.Warn("the metrics ports are not kept", "error", err)
		}
	}
	a.machine.Metrics = c
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	a.machine.Jailer.Allow(netip.AddrPortFrom(loopback, uint16(statsd)), netip.AddrPortFrom(loopback, uint16(crash)))
	return func() {
		if err := c.Close(); err != nil {
			a.log.Warn("metrics ports not closed", "error", err)
		}
	}
}
