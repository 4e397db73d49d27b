package instance

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/wake"
)

// Host is a machine that joined a location. Its agent runs the instances that are
// placed on it.
type Host struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Location   string `json:"location"`
	SecretHash string `json:"secret_hash"` // of its agent's credential

	compute.Address

	OS        string    `json:"os,omitzero"`
	Arch      string    `json:"arch,omitzero"`
	Version   string    `json:"version,omitzero"`   // of its agent
	Isolation string    `json:"isolation,omitzero"` // how game servers are isolated there, for people
	Engine    string    `json:"engine,omitzero"`    // name and version of what runs container groups there; "": nothing does
	NoBuilds  bool      `json:"no_builds,omitzero"` // it runs container groups only
	Nodes     bool      `json:"nodes,omitzero"`     // it is a cluster: players reach a container group at the address of its node
	LegacyNo  string    `json:"legacy_no,omitzero"` // why game servers with Server SDK 3 and 4 cannot connect there; "": they can
	CPUMillis int       `json:"cpu_millis"`         // what it offers, like the next three
	MemoryMiB int       `json:"memory_mib"`
	PortFrom  int       `json:"port_from"`
	PortTo    int       `json:"port_to"`
	Joined    time.Time `json:"joined"`
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since,omitzero"` // when its agent connected for the last time
	DiskFull  bool      `json:"disk_full,omitzero"`
	JoinToken string    `json:"join_token,omitzero"` // id of the token with which it joined
	Draining  bool      `json:"draining,omitzero"`   // takes no new instances
	Removing  bool      `json:"removing,omitzero"`   // removed together with its last instance

	// Ports that programs held which Muster did not start there, when a container group was to
	// have them. Instances do without them for a while.
	Taken []TakenPort `json:"taken,omitzero"`

	// Of the certificates of its game servers:
	Certificates bool   `json:"certificates,omitzero"` // its agent keeps them
	JoinedAs     string `json:"joined_as,omitzero"`    // the DNS name with which it joined, the only one that they may have

	// Of the credential:
	SecretSet time.Time `json:"secret_set,omitzero"` // when the current one was set; zero: at Joined
	NextHash  string    `json:"next_hash,omitzero"`  // of the secret that the agent was sent and has not used yet
	Rotating  bool      `json:"rotating,omitzero"`   // an operator requested another one

	// While its agent is away:
	Left     time.Time `json:"left,omitzero"`      // when it left
	ImpairAt time.Time `json:"impair_at,omitzero"` // no new game sessions from then on
	Away     bool      `json:"away,omitzero"`      // that moment has passed
	LostBy   time.Time `json:"lost_by,omitzero"`   // given up at that time
}

// instanceID is the form of the ids of instances in the API.
var instanceID = regexp.MustCompile(`^i-[0-9a-zA-Z]{17}$`)

// InstanceID returns the id of the host as an instance of game server groups: its name, if
// that has the form of such an id, as on a machine of a cloud, or one made from its id.
func (h *Host) InstanceID() string {
	if instanceID.MatchString(h.Name) {
		return h.Name
	}
	sum := sha256.Sum256([]byte(h.ID))
	return "i-" + hex.EncodeToString(sum[:])[:17]
}

// Open reports whether the host takes new instances.
func (h *Host) Open() bool { return h.Connected && !h.DiskFull && !h.Draining }

// Impaired reports whether its processes get no new game sessions, because no agent
// watches them or the disk is full. Running ones are left alone.
func (h *Host) Impaired() bool { return h.Away || h.DiskFull }

// due returns when the host needs attention, or zero.
func (h *Host) due() time.Time {
	first := wake.Earliest(h.ImpairAt, h.LostBy)
	for _, t := range h.Taken {
		first = wake.Earliest(first, t.Until)
	}
	return first
}

// impairs reports whether a process on an instance of the host gets no new game sessions.
func (h *Host) impairs(i *Instance, ref compute.Ref) bool {
	return h.Impaired() || i.draining(ref.ComputeName) || !h.locates(i, ref)
}

// locates reports whether the address is known at which players reach a process: in a cluster
// it is once the process has been reported, with that of its node.
func (h *Host) locates(i *Instance, ref compute.Ref) bool {
	if !h.Nodes {
		return true
	}
	_, name := compute.InstanceOf(ref.ComputeName)
	g := i.Group(name)
	return g != nil && g.ProcessID == ref.ProcessID
}

// HostInfo is what a machine is and offers.
type HostInfo struct {
	Name, IPAddress, IPv6Address, DNSName, OS, Arch, Version, Isolation, Engine string
	CPUMillis, MemoryMiB, PortFrom, PortTo                                      int

	NoBuilds     bool
	Nodes        bool
	LegacyClosed string
	Certificates bool
}

// describe copies the machine's description of itself.
func (h *Host) describe(i HostInfo) {
	h.Name, h.Address = i.Name, compute.Address{IPAddress: i.IPAddress, IPv6Address: i.IPv6Address, DNSName: i.DNSName}
	h.OS, h.Arch, h.Version, h.Isolation = i.OS, i.Arch, i.Version, i.Isolation
	h.Engine, h.NoBuilds, h.Nodes, h.Certificates, h.LegacyNo = i.Engine, i.NoBuilds, i.Nodes, i.Certificates, i.LegacyClosed
	h.CPUMillis, h.MemoryMiB, h.PortFrom, h.PortTo = i.CPUMillis, i.MemoryMiB, i.PortFrom, i.PortTo
}
