package protocol

import "time"

// The paths for operators, below Muster's base URL.
const (
	PathTokens    = "/agent/v1/tokens"    // create, list and revoke join tokens
	PathHosts     = "/agent/v1/hosts"     // list and change hosts
	PathShortages = "/agent/v1/shortages" // list shortages of hosts
)

// JoinToken is a token with which machines join a location. Its secret is returned only to
// the operator who creates it.
type JoinToken struct {
	TokenID  string
	Token    string `json:",omitempty"`
	Path     string `json:",omitempty"` // of the region, below the server's base URL, where machines join with Token; "" for the home region
	Name     string `json:",omitempty"`
	Location string
	Networks []string `json:",omitempty"`
	MaxUses  int
	Uses     int
	Created  time.Time
	Expires  time.Time
	LastUsed time.Time `json:",omitzero"`
}

// Host is a host as shown to operators, with its agent's last report.
type Host struct {
	HostID     string
	InstanceID string // as an instance of game server groups
	Name       string
	Location   string
	IPAddress  string
	IPv6       string `json:",omitempty"` // set only beside an IPv4 address
	DNSName    string `json:",omitempty"`
	OS, Arch   string
	Version    string // of the agent: its program, release and platform, separated by spaces
	// Unsupported says why the agent is not supported with this release of Muster, which works
	// with it nevertheless; "" if it is.
	Unsupported string      `json:",omitempty"`
	Isolation   string      // how game servers are isolated there
	Shells      *ShellOffer `json:",omitempty"` // nil: unknown, or the agent is older than remote shells
	// ContainerShells is the same for shells in containers; nil also where there is no report.
	ContainerShells *ShellOffer `json:",omitempty"`
	Connected       bool
	Draining        bool
	Removing        bool
	Joined          time.Time
	JoinToken       string `json:",omitempty"` // id of the token with which it joined
	SecretSince     time.Time
	Rotating        bool // a new credential waits for the agent to store it
	CPUMillis       int  // offered to instances, like MemoryMiB; Resources has the machine's
	MemoryMiB       int
	PortFrom        int `json:",omitempty"` // of the range for games
	PortTo          int `json:",omitempty"`
	PortRoom        int // for how many more instances of a build it has ports
	Instances       int // without those that are GONE; while its agent has not reported, those that it was told to run
	Processes       int // game server processes, those of its own programs among them
	Resources       Resources
	Instance        []Instance `json:",omitempty"`
	Own             []Instance `json:",omitempty"` // of programs that it runs without being told to
}

// Shortage is a number of instances that a fleet desires in a location and that no host
// has room for.
type Shortage struct {
	FleetID, Location string
	Missing           int    // instances
	OS                string // of the machines that could run them: linux or windows
	CPUMillis         int    // of one instance, like the next two
	MemoryMiB         int
	Ports             int
	Why               string // why no host takes them
}

// Removal is the response to an operator who removes a host.
type Removal struct {
	HostID string
	Gone   bool // if false, its game servers were told to end, and it is removed with the last of them
}
