package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/collector"
	"github.com/musterhq/muster/agent/supervise"
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
	a.metrics = c
	return func() {
		if err := c.Close(); err != nil {
			a.log.Warn("metrics ports not closed", "error", err)
		}
	}
}

// metricsEnvironment returns the variables that say where a process's SDK sends metrics
// and crash reports.
func (a *Agent) metricsEnvironment() []string {
	if a.metrics == nil {
		return nil
	}
	statsd, crash := a.metrics.Ports()
	return []string{
		"GAMELIFT_STATSD_HOST=127.0.0.1", fmt.Sprintf("GAMELIFT_STATSD_PORT=%d", statsd),
		"GAMELIFT_CRASH_REPORTER_HOST=127.0.0.1", fmt.Sprintf("GAMELIFT_CRASH_REPORTER_PORT=%d", crash),
	}
}

// lastMetrics stores a process's last metrics with its logs, as evidence.
func (i *instance) lastMetrics(r supervise.Run) {
	c := i.a.metrics
	if c == nil {
		return
	}
	defer c.Forget(r.ID)
	last := c.Metrics(r.ID)
	if len(last) == 0 {
		return
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(last)) {
		fmt.Fprintf(&text, "%s %g\n", name, last[name])
	}
	i.deposit(r.ID, "last-metrics.txt", text.String())
}
