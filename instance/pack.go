package instance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/plain"
)

// world is the input of a plan: all hosts, all instances, and what is desired.
type world struct {
	hosts     []*Host
	instances []loaded
	demands   []demand
}

// loaded is an instance and its load, which decides what is removed from a location
// that has more than it desires.
type loaded struct {
	*Instance
	sessions, players int
	protected         bool // one of its game sessions may not be ended
}

// stays reports whether the instance counts for the demand of its location.
func (i loaded) stays() bool { return !i.Failed && i.Stop == Keep }

// demand is how many instances a fleet desires in a location, and what each requires of
// a host.
type demand struct {
	Place
	os                   string // as in GOOS; "" fits every host
	cpuMillis, memoryMiB int
	portCount            int
	desired              int

	certificates  bool // its game servers have certificates, which the host's agent keeps
	containers    bool // it runs container groups, on hosts with an engine
	slots, stride int  // game server groups of an instance, and the ports of each

	scalable  bool // the desired number may be changed
	fromZero  bool // its minimum may not: the server sets it
	removable bool // the location may be taken out of the fleet
	elsewhere bool // the fleet has other locations
}

// Place is a location of a fleet.
type Place struct{ FleetID, Location string }

// plan is the changes from what exists to what is desired.
type plan struct {
	create []creation
	remove []string // instance ids
	short  []Shortage
}

// creation is an instance to be created.
type creation struct {
	demand
	hostID string
	ports  ports
}

// Shortage is a number of instances that a fleet desires in a location and that no host
// has room for.
type Shortage struct {
	Place
	OS                   string // "linux" or "windows"
	CPUMillis, MemoryMiB int    // of one instance
	Ports                int    // of one instance
	Missing              int
	Why                  string // why no host takes them, for people
}

// planFor returns the changes for a world. It packs tightly, the fullest host first, so
// that hosts become empty and can be removed, and serves demands round-robin, so that
// none starves when hosts are scarce.
func planFor(w world) plan {
	var out plan
	p := newPacker(w)
	missing := make([]int, len(w.demands))
	for n, d := range w.demands {
		alive := p.living[d.Place]
		out.remove = append(out.remove, p.surplus(alive, d.desired)...)
		missing[n] = max(0, d.desired-len(alive))
	}
	for made := true; made; {
		made = false
		for n, d := range w.demands {
			if missing[n] == 0 {
				continue
			}
			if c, ok := p.create(d); ok {
				out.create = append(out.create, c)
				missing[n]--
				made = true
			}
		}
	}
	for n, d := range w.demands {
		if missing[n] > 0 {
			out.short = append(out.short, Shortage{
				Place: d.Place, OS: d.os, CPUMillis: d.cpuMillis, MemoryMiB: d.memoryMiB, Ports: d.portCount,
				Missing: missing[n], Why: p.why(d),
			})
		}
	}
	return out
}

// roomFor returns how many more instances of a demand's size could be created now.
func roomFor(w world, d demand) int {
	p := newPacker(w)
	for n := 0; ; n++ {
		if _, ok := p.create(d); !ok {
			return n
		}
	}
}

// packer assigns instances to hosts.
type packer struct {
	hosts  []*room
	open   map[string]bool    // hosts that take new instances
	busy   map[string]int     // by host: CPUMillis of its instances that stay
	living map[Place][]loaded // that count for a demand
}

// room is a host and the capacity that is free on it.
type room struct {
	*Host
	cpu, memory int
	taken       []ports // in ascending order
	avoided     map[Place]bool
}

type ports struct{ from, to int }

func newPacker(w world) *packer {
	p := &packer{open: map[string]bool{}, busy: map[string]int{}, living: map[Place][]loaded{}}
	byID := map[string]*room{}
	for _, h := range w.hosts {
		r := &room{Host: h, cpu: h.CPUMillis, memory: h.MemoryMiB, avoided: map[Place]bool{}}
		p.hosts = append(p.hosts, r)
		byID[h.ID] = r
		p.open[h.ID] = h.Open()
	}
	for _, i := range w.instances {
		at := Place{i.FleetID, i.Location}
		if i.stays() {
			p.living[at] = append(p.living[at], i)
			p.busy[i.HostID] += i.CPUMillis
		}
		if r := byID[i.HostID]; r != nil {
			r.take(i.CPUMillis, i.MemoryMiB, ports{})
			r.usePorts(i.Instance)
			if i.Failed {
				r.avoided[at] = true
			}
		}
	}
	slices.SortFunc(p.hosts, func(a, b *room) int { return cmp.Compare(a.ID, b.ID) })
	return p
}

// create puts one instance on the fullest host that has room for it.
func (p *packer) create(d demand) (creation, bool) {
	var best *room
	for _, r := range p.hosts {
		if r.fits(d) && (best == nil || r.cpu < best.cpu) {
			best = r
		}
	}
	if best == nil {
		return creation{}, false
	}
	gap := best.gap(d)
	best.take(d.cpuMillis, d.memoryMiB, gap)
	return creation{d, best.ID, gap}, true
}

func (r *room) fits(d demand) bool {
	return r.serves(d) && r.Open() && !r.avoided[d.Place] &&
		r.cpu >= d.cpuMillis && r.memory >= d.memoryMiB && r.gap(d).from > 0
}

func (r *room) serves(d demand) bool {
	if d.containers && r.Engine == "" || !d.containers && r.NoBuilds || d.certificates && !r.Certificates {
		return false
	}
	return r.isFor(d)
}

// isFor reports whether the host is in the demand's location and runs its operating system.
func (r *room) isFor(d demand) bool {
	return r.Location == d.Location && (r.OS == "" || d.os == "" || (r.OS == "windows") == (d.os == "windows"))
}

func (r *room) take(cpu, memory int, used ports) {
	r.cpu -= cpu
	r.memory -= memory
	if used.from > 0 {
		r.taken = insert(r.taken, used)
	}
}

// insert adds ports to others in ascending order.
func insert(all []ports, one ports) []ports {
	at, _ := slices.BinarySearchFunc(all, one, func(a, b ports) int { return cmp.Compare(a.from, b.from) })
	return slices.Insert(all, at, one)
}

// gap returns the first free range of ports of the host for an instance; on a host with
// fewer ports, one instance of a build gets all of them. from is 0 if there is none.
func (r *room) gap(d demand) ports {
	n := d.portCount
	if !d.containers {
		n = min(n, r.PortTo-r.PortFrom+1)
	}
	from := r.PortFrom
	for _, t := range r.without(d) {
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

// surplus returns the ids of the instances to remove so that desired are left. Those with
// the least load go first, and those with a protected game session last; among equals,
// those on the emptiest host go first, so that the host can be removed.
func (p *packer) surplus(alive []loaded, desired int) []string {
	if len(alive) <= desired {
		return nil
	}
	left := slices.Clone(alive)
	var ids []string
	for len(left) > desired {
		at := 0
		for i := range left {
			if p.goesBefore(left[i], left[at]) < 0 {
				at = i
			}
		}
		ids = append(ids, left[at].ID)
		p.busy[left[at].HostID] -= left[at].CPUMillis
		left = slices.Delete(left, at, at+1)
	}
	return ids
}

// goesBefore orders instances by which is removed first.
func (p *packer) goesBefore(a, b loaded) int {
	return cmp.Or(
		yesLast(a.protected, b.protected),
		yesLast(a.sessions > 0, b.sessions > 0),
		yesLast(a.Status == Active, b.Status == Active),
		yesLast(p.open[a.HostID], p.open[b.HostID]),
		cmp.Compare(a.players, b.players),
		cmp.Compare(p.busy[a.HostID], p.busy[b.HostID]),
		cmp.Compare(b.HostID, a.HostID), // the hosts that are filled last
		cmp.Compare(b.ID, a.ID),
	)
}

func yesLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// why returns why no host takes an instance of the demand.
func (p *packer) why(d demand) string {
	var here, open []*room
	for _, r := range p.hosts {
		if r.serves(d) {
			here = append(here, r)
			if r.Open() {
				open = append(open, r)
			}
		}
	}
	switch {
	case len(here) == 0 && d.containers && p.without(d.Location) > 0:
		return fmt.Sprintf("none of the %d hosts of location %s has a container engine; install Docker or Podman there and start the agent again", p.without(d.Location), d.Location)
	case len(here) == 0 && d.certificates && p.older(d) > 0:
		return fmt.Sprintf("none of the %d hosts of location %s has an agent that keeps certificates, which CertificateType GENERATED requires; upgrade the agent there", p.older(d), d.Location)
	case len(here) == 0:
		return fmt.Sprintf("no host has joined location %s; join one with muster agent ('muster admin join-tokens create --location %s' prints the command)%s", d.Location, d.Location, d.otherwise())
	case len(open) == 0:
		return closed(here, d.Location)
	}
	var rooms []string
	for _, r := range open[:min(3, len(open))] {
		if r.avoided[d.Place] {
			rooms = append(rooms, fmt.Sprintf("%s has just failed to run this fleet", r.ID))
			continue
		}
		text := fmt.Sprintf("%s has %s free of %s", r.ID, amount(r.cpu, r.memory), amount(r.CPUMillis, r.MemoryMiB))
		if r.gap(d).from == 0 {
			text += fmt.Sprintf(", and no %s in a row are free of its %d to %d: start its agent with more (--ports)", plain.Count(d.portCount, "port"), r.PortFrom, r.PortTo)
		}
		rooms = append(rooms, text)
	}
	return fmt.Sprintf("an instance takes %s and %s; %s", amount(d.cpuMillis, d.memoryMiB), plain.Count(d.portCount, "port"), strings.Join(rooms, "; "))
}

// closed returns why none of the hosts of a location takes an instance, where none is open.
func closed(here []*room, location string) string {
	var removed, drained, away, full int
	var one string // of those that are being drained
	for _, r := range here {
		switch {
		case r.Removing:
			removed++
		case r.Draining:
			drained++
			one = cmp.Or(one, r.ID)
		case !r.Connected:
			away++
		default:
			full++
		}
	}
	var causes []string
	for _, c := range []struct {
		n          int
		is, remedy string
	}{
		{drained, "being drained", fmt.Sprintf(" ('muster hosts resume %s' takes it back)", one)},
		{removed, "being removed", ""},
		{away, "not connected", " (start the agent there)"},
		{full, "without disk space", " (free some there)"},
	} {
		if c.n > 0 {
			verb := "is"
			if c.n > 1 {
				verb = "are"
			}
			causes = append(causes, fmt.Sprintf("%d of %d hosts of location %s %s %s%s", c.n, len(here), location, verb, c.is, c.remedy))
		}
	}
	return strings.Join(causes, "; ")
}

// otherwise returns what can be done where no host is to join, as the end of a sentence.
func (d demand) otherwise() string {
	switch {
	case d.scalable && d.fromZero:
		return fmt.Sprintf(", or ask for no instances there ('muster fleets scale %s --location %s --desired 0')", d.FleetID, d.Location)
	case d.scalable:
		return fmt.Sprintf(", or ask for no instances there ('muster fleets scale %s --location %s --min 0 --desired 0')", d.FleetID, d.Location)
	case d.removable:
		return fmt.Sprintf(", or take the location out of the fleet (aws gamelift delete-fleet-locations --fleet-id %s --locations %s)", d.FleetID, d.Location)
	case d.elsewhere:
		return ", or one in another location of the fleet: its first instance makes the fleet ACTIVE, and its capacity can be changed from then on"
	}
	return "; its first instance makes the fleet ACTIVE, and its capacity can be changed from then on"
}

// without returns how many hosts of a location have no container engine.
func (p *packer) without(location string) int {
	n := 0
	for _, r := range p.hosts {
		if r.Location == location && r.Engine == "" {
			n++
		}
	}
	return n
}

// older returns how many hosts would serve a demand if their agents kept certificates.
func (p *packer) older(d demand) int {
	n := 0
	for _, r := range p.hosts {
		if r.isFor(d) && !r.NoBuilds && !r.Certificates {
			n++
		}
	}
	return n
}

func amount(cpuMillis, memoryMiB int) string {
	return fmt.Sprintf("%g processors and %d MiB", float64(cpuMillis)/1000, memoryMiB)
}
