package fleetiq

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/store"
)

// gauges collect the figures of groups under the metric names that the API publishes.
type gauges struct {
	s  *Service
	st *store.Store
}

var gaugeDesc = prometheus.NewDesc("muster_game_server_group",
	"State of game server groups, under the published metric names (AvailableGameServers, UtilizedGameServers, DrainingAvailableGameServers, DrainingUtilizedGameServers, PercentUtilizedGameServers).",
	[]string{"metric", "game_server_group"}, nil)

// Describe implements prometheus.Collector.
func (gauges) Describe(out chan<- *prometheus.Desc) { out <- gaugeDesc }

// Collect implements prometheus.Collector.
func (c gauges) Collect(out chan<- prometheus.Metric) {
	view := c.st.View()
	if view == nil {
		return // the store is not open yet
	}
	for g := range c.s.Groups.After(view, "") {
		emit := func(metric string, value float64) {
			out <- prometheus.MustNewConstMetric(gaugeDesc, prometheus.GaugeValue, value, metric, g.Name)
		}
		available, utilized := c.s.Servers.count(view, g.Name, Available), c.s.Servers.count(view, g.Name, Utilized)
		emit("AvailableGameServers", float64(available))
		emit("UtilizedGameServers", float64(utilized))
		emit("PercentUtilizedGameServers", 100*float64(utilized)/float64(max(1, available+utilized)))
		drainingAvailable, drainingUtilized := 0, 0
		for i := range c.s.Instances.Of(view, g, "") {
			if i.Status == InstanceDraining {
				drainingAvailable += c.s.Servers.count(view, g.Name, Available, i.ID)
				drainingUtilized += c.s.Servers.count(view, g.Name, Utilized, i.ID)
			}
		}
		emit("DrainingAvailableGameServers", float64(drainingAvailable))
		emit("DrainingUtilizedGameServers", float64(drainingUtilized))
	}
}
