package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/fleet"
)

// gauges collect the figures of fleets and hosts. Each is named after the CloudWatch
// metric that its help names. Everything is counted as it changes, so the cost of a
// scrape depends only on the number of fleets, locations, instances and hosts.
type gauges struct{ d *domain }

// fleetLabels are the labels of every metric of a fleet's location.
var fleetLabels = []string{"fleet_id", "fleet_name", "location"}

// fleetGauge is one metric of a fleet's location.
type fleetGauge struct {
	desc  *prometheus.Desc
	value func(client.FleetLoad, fleet.Capacity) int
}

func newFleetGauge(name, help string, value func(client.FleetLoad, fleet.Capacity) int) fleetGauge {
	return fleetGauge{prometheus.NewDesc("muster_fleet_"+name, help, fleetLabels, nil), value}
}

// anyGauges are for every fleet, managedGauges for those with instances.
var (
	anyGauges = []fleetGauge{
		newFleetGauge("active_server_processes", "ActiveServerProcesses: processes that called ProcessReady.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Processes }),
		newFleetGauge("active_game_sessions", "ActiveGameSessions.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Sessions }),
		newFleetGauge("activating_game_sessions", "ActivatingGameSessions.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Activating }),
		newFleetGauge("available_game_sessions", "AvailableGameSessions: processes that can be given a game session now.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Free }),
		newFleetGauge("current_player_sessions", "CurrentPlayerSessions: ACTIVE and RESERVED ones.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Players }),
		newFleetGauge("available_player_sessions", "AvailablePlayerSessions: slots of ACTIVE game sessions that nobody holds.", func(l client.FleetLoad, _ fleet.Capacity) int { return max(0, l.MaxPlayers-l.Players) }),
	}
	managedGauges = []fleetGauge{
		newFleetGauge("active_instances", "ActiveInstances.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Active }),
		newFleetGauge("idle_instances", "IdleInstances: ACTIVE ones without a game session.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Idle }),
		newFleetGauge("desired_instances", "DesiredInstances.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Desired }),
		newFleetGauge("min_instances", "MinInstances.", func(_ client.FleetLoad, c fleet.Capacity) int { return c.Min }),
		newFleetGauge("max_instances", "MaxInstances.", func(_ client.FleetLoad, c fleet.Capacity) int { return c.Max }),
		newFleetGauge("pending_instances", "Instances that are desired and not ACTIVE yet.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Pending }),
		newFleetGauge("short_instances", "Pending instances that no host has room for.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Short }),
		newFleetGauge("terminating_instances", "Instances that are ending.", func(l client.FleetLoad, _ fleet.Capacity) int { return l.Terminating }),
	}
	hostsDesc = prometheus.NewDesc("muster_hosts", "Machines that have joined, by whether their agent is connected.", []string{"location", "connected"}, nil)
	cpuDesc   = prometheus.NewDesc("muster_host_cpus_offered", "Processors that the connected machines of a location offer.", []string{"location"}, nil)
	memDesc   = prometheus.NewDesc("muster_host_memory_offered_bytes", "Memory that the connected machines of a location offer.", []string{"location"}, nil)
)

// Describe implements prometheus.Collector.
func (g gauges) Describe(out chan<- *prometheus.Desc) {
	for _, list := range [][]fleetGauge{anyGauges, managedGauges} {
		for _, m := range list {
			out <- m.desc
		}
	}
	out <- hostsDesc
	out <- cpuDesc
	out <- memDesc
}

// Collect implements prometheus.Collector.
func (g gauges) Collect(out chan<- prometheus.Metric) {
	view := g.d.store.View()
	if view == nil {
		return // the store is not open yet
	}
	short := g.d.instances.Shortages(view)
	for f := range g.d.fleets.All(view, "") {
		for _, at := range f.Locations {
			l := g.d.loadOf(view, f, at, short)
			emit := func(list []fleetGauge) {
				for _, m := range list {
					out <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(m.value(l, at.Capacity)), f.ID, f.Name, at.Location)
				}
			}
			emit(anyGauges)
			if f.Managed != nil {
				emit(managedGauges)
			}
		}
	}
	g.hosts(out)
}

// hosts collects the figures of the machines by location.
func (g gauges) hosts(out chan<- prometheus.Metric) {
	type sum struct{ here, away, cpuMillis, memoryMiB int }
	sums := map[string]*sum{}
	for h := range g.d.instances.Hosts(g.d.store.View()) {
		s := sums[h.Location]
		if s == nil {
			s = &sum{}
			sums[h.Location] = s
		}
		if !h.Connected {
			s.away++
			continue
		}
		s.here++
		s.cpuMillis += h.CPUMillis
		s.memoryMiB += h.MemoryMiB
	}
	for location, s := range sums {
		out <- prometheus.MustNewConstMetric(hostsDesc, prometheus.GaugeValue, float64(s.here), location, "true")
		out <- prometheus.MustNewConstMetric(hostsDesc, prometheus.GaugeValue, float64(s.away), location, "false")
		out <- prometheus.MustNewConstMetric(cpuDesc, prometheus.GaugeValue, float64(s.cpuMillis)/1000, location)
		out <- prometheus.MustNewConstMetric(memDesc, prometheus.GaugeValue, float64(s.memoryMiB)*(1<<20), location)
	}
}

// doubts returns the gauge of processes that get no game session because the database lost
// commits.
func doubts(d *domain) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_processes_in_doubt", Help: "Game server processes that get no game session because they may host one that the database lost.",
	}, func() float64 {
		view := d.store.View()
		if view == nil {
			return 0 // this node stands by
		}
		return float64(d.computes.Doubtful(view))
	})
}
