package compute

import (
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Host is a machine that joined a location: its agent runs the instances that
// are placed on it.
type Host struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Location   string    `json:"location"`
	SecretHash string    `json:"secret_hash"` // of its agent's credential
	IPAddress  string    `json:"ip_address,omitzero"`
	DNSName    string    `json:"dns_name,omitzero"`
	OS         string    `json:"os,omitzero"`
	Arch       string    `json:"arch,omitzero"`
	Version    string    `json:"version,omitzero"`   // of its agent
	Isolation  string    `json:"isolation,omitzero"` // what game servers are held to there, for people
	CPUMillis  int       `json:"cpu_millis"`         // what it offers, and so the next three
	MemoryMiB  int       `json:"memory_mib"`
	PortFrom   int       `json:"port_from"`
	PortTo     int       `json:"port_to"`
	Joined     time.Time `json:"joined"`
	Connected  bool      `json:"connected"`
	DiskFull   bool      `json:"disk_full,omitzero"`
	JoinToken  string    `json:"join_token,omitzero"` // id of the token with which it joined
	Draining   bool      `json:"draining,omitzero"`   // takes no new instances
	Removing   bool      `json:"removing,omitzero"`   // goes with its last instance

	// Of the credential:
	SecretSet time.Time `json:"secret_set,omitzero"` // since when it is the one it is; zero: since Joined
	NextHash  string    `json:"next_hash,omitzero"`  // of the secret that the agent was sent and has not used yet
	Rotating  bool      `json:"rotating,omitzero"`   // an operator wants another one

	// Of one whose agent is away:
	Left     time.Time `json:"left,omitzero"`      // since when
	ImpairAt time.Time `json:"impair_at,omitzero"` // given no game session from then on
	Away     bool      `json:"away,omitzero"`      // that moment has passed
	LostBy   time.Time `json:"lost_by,omitzero"`   // given up from then on
}

// Open reports whether the host takes new instances.
func (h *Host) Open() bool { return h.Connected && !h.DiskFull && !h.Draining }

// Impaired tells whether its processes are given no new game sessions, because
// nobody watches them or the disk is full. Those that run are left alone.
func (h *Host) Impaired() bool { return h.Away || h.DiskFull }

// due is when the host needs attention, or zero.
func (h *Host) due() time.Time {
	if !h.ImpairAt.IsZero() && (h.LostBy.IsZero() || h.ImpairAt.Before(h.LostBy)) {
		return h.ImpairAt
	}
	return h.LostBy
}

// HostInfo is what a machine is and offers.
type HostInfo struct {
	Name, IPAddress, DNSName, OS, Arch, Version, Isolation string
	CPUMillis, MemoryMiB, PortFrom, PortTo                 int
}

// describe takes over what the machine says of itself.
func (h *Host) describe(i HostInfo) {
	h.Name, h.IPAddress, h.DNSName = i.Name, i.IPAddress, i.DNSName
	h.OS, h.Arch, h.Version, h.Isolation = i.OS, i.Arch, i.Version, i.Isolation
	h.CPUMillis, h.MemoryMiB, h.PortFrom, h.PortTo = i.CPUMillis, i.MemoryMiB, i.PortFrom, i.PortTo
}

// launch is a process that a host started and that is not known by its
// connection yet; once it is over it is kept for a while, so that a repeated
// report of its end is known as one.
type launch struct {
	Key     string     `json:"key"` // fleet | compute | process, as of the process it becomes
	Started time.Time  `json:"started"`
	PID     int        `json:"pid,omitzero"`
	HintAt  time.Time  `json:"hint_at,omitzero"` // its developer is told then that it has not connected
	InitBy  time.Time  `json:"init_by,omitzero"` // must have connected
	Why     event.Code `json:"why,omitzero"`     // its host was told to end it, before it had
	Ended   time.Time  `json:"ended,omitzero"`
}

// due is when the launch needs attention.
func (l *launch) due() time.Time {
	if !l.Ended.IsZero() {
		return l.Ended.Add(remembered)
	}
	if !l.HintAt.IsZero() {
		return l.HintAt
	}
	return l.InitBy
}

// Hosts gives every host, by id.
func (s *Service) Hosts(r store.Reader) func(yield func(*Host) bool) { return s.t.hosts.All(r) }
