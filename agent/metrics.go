package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/collector"
	"github.com/musterhq/muster/agent/supervise"
)

// startCollector opens the metrics ports, where they are wanted and free.
func (a *Agent) startCollector() (stop func()) {
	if !a.opts.Collect {
		return func() {}
	}
	c, err := collector.Listen(collector.StatsDPort, collector.CrashPort, a.log)
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

// lastMetrics leaves a process's last metrics with its logs, as evidence.
func (i *instance) lastMetrics(r supervise.Run) {
	c := i.a.metrics
	if c == nil {
		return
	}
	defer c.Forget(r.ID, r.PID)
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
