package app

import (
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/fleet/price"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/store"
)

// bill is what runs, with its price.
type bill struct {
	charges []*charge
	unused  []unused // by location
}

// charge is a fleet at a location.
type charge struct {
	fleet     *fleet.Fleet
	location  string
	players   int
	hour      price.Micros
	instances int
	unpriced  int // of these
}

func (c *charge) add(hour price.Micros, priced bool) {
	c.instances++
	c.hour += hour
	if !priced {
		c.unpriced++
	}
}

// unused is what no instance takes of the machines of a location that have a price.
type unused struct {
	location string
	hosts    int
	hour     price.Micros
}

// bill returns what runs now by a price list.
func (d *domain) bill(r store.Reader, l *price.List) bill {
	w := d.running(r)
	b := bill{charges: w.charges, unused: w.chargeHosts(d.instances.Hosts(r), l)}
	w.anywhere.charge(l)
	slices.SortStableFunc(b.charges, func(a, b *charge) int { return strings.Compare(a.fleet.Name, b.fleet.Name) })
	return b
}

// running is what runs, each with the charge of its fleet and location.
type running struct {
	charges  []*charge
	at       map[instance.Place]*charge
	on       map[string][]*instance.Instance // by host
	anywhere machines
}

func (d *domain) running(r store.Reader) *running {
	w := &running{at: map[instance.Place]*charge{}, on: map[string][]*instance.Instance{}, anywhere: machines{}}
	for f := range d.fleets.All(r, "") {
		for _, where := range f.Locations {
			c := &charge{fleet: f, location: where.Location, players: d.sessions.Use(r, f.ID, where.Location).Players}
			w.charges = append(w.charges, c)
			w.at[instance.Place{FleetID: f.ID, Location: where.Location}] = c
			if f.Managed != nil {
				for i := range d.instances.Instances(r, f.ID, where.Location) {
					w.on[i.HostID] = append(w.on[i.HostID], i)
				}
				continue
			}
			for m := range d.computes.InFleet(r, f.ID, where.Location, "") {
				w.anywhere.add(m, c)
			}
		}
	}
	return w
}

// chargeHosts charges what runs on hosts, and returns what is left of their prices, by
// location. Computes on a host have what its instances leave.
func (w *running) chargeHosts(hosts iter.Seq[*instance.Host], l *price.List) (all []unused) {
	left := map[string]*unused{}
	for h := range hosts {
		of := func(i *instance.Instance) *charge {
			return w.at[instance.Place{FleetID: i.FleetID, Location: i.Location}]
		}
		rest, ok := share(l, h, w.on[h.ID], of)
		if !ok {
			continue
		}
		if those := w.anywhere.take(h); len(those) > 0 {
			divide(rest, those)
			rest = 0
		}
		u := left[h.Location]
		if u == nil {
			u = &unused{location: h.Location}
			left[h.Location] = u
		}
		u.hosts++
		u.hour += rest
	}
	for _, location := range slices.Sorted(maps.Keys(left)) {
		all = append(all, *left[location])
	}
	return all
}

// rented is a compute of an Anywhere fleet.
type rented struct {
	*compute.Compute
	of *charge
}

// machine is a machine of Anywhere fleets: the computes that are on it.
type machine []rented

// machines are the machines of Anywhere fleets. Each has one price, however often it is
// registered, and also if it is a host. Computes and hosts are on one machine if they have
// the same IP address and not different DNS names.
type machines map[netip.Addr][]machine

func (ms machines) add(m *compute.Compute, of *charge) {
	key := ipOf(m.IPAddress)
	for n, other := range ms[key] {
		if key.IsValid() && strings.EqualFold(other[0].DNSName, m.DNSName) {
			ms[key][n] = append(other, rented{m, of})
			return
		}
	}
	ms[key] = append(ms[key], machine{{m, of}})
}

// take removes the computes that are on a host, and returns them. If there are several
// hosts with its address, they are on the first that is asked for.
func (ms machines) take(h *instance.Host) (out machine) {
	key := ipOf(h.IPAddress)
	if !key.IsValid() || len(ms[key]) == 0 {
		return nil
	}
	ms[key] = slices.DeleteFunc(ms[key], func(m machine) bool {
		same := h.DNSName == "" || m[0].DNSName == "" || strings.EqualFold(h.DNSName, m[0].DNSName)
		if same {
			out = append(out, m...)
		}
		return same
	})
	return out
}

// charge charges the computes of all machines.
func (ms machines) charge(l *price.List) {
	for _, those := range ms {
		for _, m := range those {
			m.charge(l)
		}
	}
}

// ipOf returns an IP address as it is compared; it is not valid if there is none.
func ipOf(ip string) netip.Addr {
	a, _ := netip.ParseAddr(ip)
	return a.Unmap()
}

// charge charges the computes of a machine for it: the highest price that the list has for
// one of them, in equal parts.
func (m machine) charge(l *price.List) {
	var hour price.Micros
	priced := false
	for _, r := range m {
		if p, ok := l.Host(r.Name, r.Location); ok {
			hour, priced = max(hour, p), true
		}
	}
	if priced {
		divide(hour, m)
		return
	}
	for _, r := range m {
		r.of.add(0, false)
	}
}

// divide charges computes for equal parts of an amount.
func divide(hour price.Micros, m machine) {
	for n, r := range m {
		part := hour / price.Micros(len(m)-n)
		r.of.add(part, true)
		hour -= part
	}
}

// share charges the instances on a host for themselves, each by its own price if the list has
// one, otherwise for its share of the host's. It returns what is left of the host's price,
// and false if the host has none.
func share(l *price.List, h *instance.Host, on []*instance.Instance, of func(*instance.Instance) *charge) (rest price.Micros, ok bool) {
	sizes := make([]price.Size, len(on))
	for n, i := range on {
		sizes[n] = price.Size{CPUMillis: i.CPUMillis, MemoryMiB: i.MemoryMiB}
	}
	whole, ok := l.Host(h.Name, h.Location)
	parts, rest := price.Split(whole, price.Size{CPUMillis: h.CPUMillis, MemoryMiB: h.MemoryMiB}, sizes)
	for n, i := range on {
		c := of(i)
		if c == nil {
			continue // its fleet has left the location, and the instance ends
		}
		if own, priced := l.Instance(c.fleet.Managed.InstanceType, i.Location); priced {
			c.add(own, true)
		} else {
			c.add(parts[n], ok)
		}
	}
	return rest, ok
}

// costs returns what runs now, for people.
func (d *domain) costs() client.Costs {
	l := d.prices.Load()
	out := client.Costs{Currency: l.Currency, Fleets: []client.FleetCost{}, Unused: []client.Unused{}}
	if l.Currency == "" {
		return out
	}
	b := d.bill(d.store.View(), l)
	var total charge
	for _, c := range b.charges {
		out.Fleets = append(out.Fleets, client.FleetCost{FleetID: c.fleet.ID, Name: nameOf(c.fleet), Location: c.location, Cost: c.cost()})
		total.players += c.players
		total.hour += c.hour
		total.instances += c.instances
		total.unpriced += c.unpriced
	}
	for _, u := range b.unused {
		out.Unused = append(out.Unused, client.Unused{Location: u.location, Hosts: u.hosts, PerHour: u.hour.Amount()})
		total.hour += u.hour
	}
	out.Total = total.cost()
	return out
}

func (c *charge) cost() client.Cost {
	out := client.Cost{PerHour: c.hour.Amount(), Players: c.players, Instances: c.instances, Unpriced: c.unpriced}
	if c.players > 0 {
		each := out.PerHour / float64(c.players)
		out.PerPlayerHour = &each
	}
	return out
}

// expenses collect what runs by the price list, if there is one.
type expenses struct{ d *domain }

var (
	costDesc = prometheus.NewDesc("muster_cost_per_hour", "What the instances of a fleet's location, or the computes of an Anywhere fleet's, cost an hour by the price list, in its currency.",
		append(slices.Clone(fleetLabels), "currency"), nil)
	unusedDesc   = prometheus.NewDesc("muster_cost_unused_per_hour", "Part of the price of a location's machines that no instance takes, in the price list's currency.", []string{"location", "currency"}, nil)
	unpricedDesc = prometheus.NewDesc("muster_cost_unpriced_instances", "Instances of a fleet's location that the price list has no price for.", fleetLabels, nil)
)

// Describe implements prometheus.Collector.
func (e expenses) Describe(out chan<- *prometheus.Desc) {
	out <- costDesc
	out <- unusedDesc
	out <- unpricedDesc
}

// Collect implements prometheus.Collector.
func (e expenses) Collect(out chan<- prometheus.Metric) {
	l, view := e.d.prices.Load(), e.d.store.View()
	if view == nil || l.Currency == "" {
		return
	}
	b := e.d.bill(view, l)
	for _, c := range b.charges {
		out <- prometheus.MustNewConstMetric(costDesc, prometheus.GaugeValue, c.hour.Amount(), c.fleet.ID, c.fleet.Name, c.location, l.Currency)
		out <- prometheus.MustNewConstMetric(unpricedDesc, prometheus.GaugeValue, float64(c.unpriced), c.fleet.ID, c.fleet.Name, c.location)
	}
	for _, u := range b.unused {
		out <- prometheus.MustNewConstMetric(unusedDesc, prometheus.GaugeValue, u.hour.Amount(), u.location, l.Currency)
	}
}
