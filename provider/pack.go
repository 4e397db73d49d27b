package provider

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// packer fills hosts.
type packer struct {
	hosts  []*room
	open   map[string]bool      // hosts that take new instances
	busy   map[string]int       // by host: CPUMillis of its instances that stay
	living map[place][]Instance // that count for a wish
}

// room is what is free on a host.
type room struct {
	Host
	cpu, memory int
	taken       []ports // in order
	avoided     map[place]bool
}

type ports struct{ from, to int }

type place struct{ fleetID, location string }

func newPacker(w World) *packer {
	p := &packer{open: map[string]bool{}, busy: map[string]int{}, living: map[place][]Instance{}}
	byID := map[string]*room{}
	for _, h := range w.Hosts {
		r := &room{Host: h, cpu: h.CPUMillis, memory: h.MemoryMiB, avoided: map[place]bool{}}
		p.hosts = append(p.hosts, r)
		byID[h.ID] = r
		p.open[h.ID] = h.Open
	}
	for _, i := range w.Instances {
		at := place{i.FleetID, i.Location}
		if i.State == Pending || i.State == Running {
			p.living[at] = append(p.living[at], i)
			p.busy[i.HostID] += i.CPUMillis
		}
		if r := byID[i.HostID]; r != nil {
			r.take(i.CPUMillis, i.MemoryMiB, ports{i.PortFrom, i.PortTo})
			if i.State == Failed {
				r.avoided[at] = true
			}
		}
	}
	slices.SortFunc(p.hosts, func(a, b *room) int { return cmp.Compare(a.ID, b.ID) })
	return p
}

// alive returns the instances that count for a wish.
func (p *packer) alive(w Wish) []Instance { return p.living[place{w.FleetID, w.Location}] }

// place puts one instance of the wish on the fullest host that has room for it.
func (p *packer) place(w Wish) (Make, bool) {
	var best *room
	for _, r := range p.hosts {
		if r.fits(w) && (best == nil || r.cpu < best.cpu) {
			best = r
		}
	}
	if best == nil {
		return Make{}, false
	}
	gap := best.gap(w.Ports)
	best.take(w.CPUMillis, w.MemoryMiB, gap)
	return Make{w, best.ID, gap.from, gap.to}, true
}

func (r *room) fits(w Wish) bool {
	return r.serves(w) && r.Open && !r.avoided[place{w.FleetID, w.Location}] &&
		r.cpu >= w.CPUMillis && r.memory >= w.MemoryMiB && r.gap(w.Ports).from > 0
}

func (r *room) serves(w Wish) bool {
	return r.Location == w.Location && (r.OS == "" || w.OS == "" || (r.OS == "windows") == (w.OS == "windows"))
}

func (r *room) take(cpu, memory int, used ports) {
	r.cpu -= cpu
	r.memory -= memory
	if used.from == 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(r.taken, used, func(a, b ports) int { return cmp.Compare(a.from, b.from) })
	r.taken = slices.Insert(r.taken, at, used)
}

// gap returns the first free range of n ports of the host; a host with fewer ports
// assigns all of them to one instance. from is 0 if there is none.
func (r *room) gap(n int) ports {
	n = min(n, r.PortTo-r.PortFrom+1)
	from := r.PortFrom
	for _, t := range r.taken {
		if t.from-from >= n {
			break
		}
		from = max(from, t.to+1)
	}
	if n <= 0 || from+n-1 > r.PortTo {
		return ports{}
	}
	return ports{from, from + n - 1}
}

// why returns the reason why no host takes the wish.
func (p *packer) why(w Wish) string {
	var here, open []*room
	for _, r := range p.hosts {
		if r.serves(w) {
			here = append(here, r)
			if r.Open {
				open = append(open, r)
			}
		}
	}
	switch {
	case len(here) == 0:
		return fmt.Sprintf("no host has joined location %s; join one with muster agent, or ask for no instances there (update-fleet-capacity --location %s --min-size 0 --desired-instances 0)", w.Location, w.Location)
	case len(open) == 0:
		return fmt.Sprintf("none of the %d hosts of location %s is connected and has disk space", len(here), w.Location)
	}
	var rooms []string
	for _, r := range open[:min(3, len(open))] {
		switch {
		case r.avoided[place{w.FleetID, w.Location}]:
			rooms = append(rooms, fmt.Sprintf("%s has just failed to run this fleet", r.ID))
		default:
			rooms = append(rooms, fmt.Sprintf("%s has %s free of %s", r.ID, amount(r.cpu, r.memory), amount(r.CPUMillis, r.MemoryMiB)))
			if r.gap(w.Ports).from == 0 {
				rooms[len(rooms)-1] += ", and not enough ports"
			}
		}
	}
	return fmt.Sprintf("an instance takes %s and %d ports; %s", amount(w.CPUMillis, w.MemoryMiB), w.Ports, strings.Join(rooms, "; "))
}

func amount(cpuMillis, memoryMiB int) string {
	return fmt.Sprintf("%g processors and %d MiB", float64(cpuMillis)/1000, memoryMiB)
}
