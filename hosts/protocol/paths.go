package protocol

import (
	"crypto/ed25519"
	"strings"
)

// The paths for agents, below Muster's base URL.
const (
	PathJoin   = "/agent/v1/join"    // POST JoinRequest, returns JoinResponse
	PathHost   = "/agent/v1/host"    // the WebSocket
	PathBuilds = "/agent/v1/builds/" // + SHA-256: GET, with Range
	PathLogs   = "/agent/v1/logs/"   // + instance id / process id: PUT a zip archive

	PathCertificates = "/agent/v1/certificates/" // + instance id: POST CertificateRequest, returns CertificateResponse
	PathCA           = "/agent/v1/ca.pem"        // GET, for anyone: the certificate of the authority that signs them
)

// PathRegions begins the paths of a region, if Muster has several: its name follows, and the
// path there.
const PathRegions = "/regions/"

// IsBasePath reports whether a base URL of Muster may have the path: none, or a region's.
func IsBasePath(path string) bool {
	path = strings.TrimRight(path, "/")
	name, ok := strings.CutPrefix(path, PathRegions)
	return path == "" || ok && !strings.Contains(name, "/")
}

// HeaderRelease is the header of the answer to PathHost with the release of the server.
const HeaderRelease = "Muster-Release"

// MaxFrame bounds a frame in bytes, in both directions. Assign and Status of a cluster with
// 5000 container groups fit.
const MaxFrame = 16 << 20

// JoinRequest registers a machine as a host, in the token's location.
type JoinRequest struct {
	Token string
	Facts
}

// JoinResponse is the host's own credential, which is returned only once. The agent
// sends it as "Authorization: Bearer HostID.Secret" from then on.
type JoinResponse struct {
	HostID   string
	Secret   string
	Location string
	BuildKey ed25519.PublicKey // verifies the signatures of builds (Build.Verify)
}

// PortsAnInstance is how many of a machine's ports an instance of a build takes.
const PortsAnInstance = 100

// Facts describe a machine and what it offers to games.
type Facts struct {
	Name      string   // of the machine, for people
	IPAddress string   `json:",omitempty"` // for players: the IPv4 address, or the only one; "" means the one that Muster sees
	IPv6      string   `json:",omitempty"` // for players, beside an IPv4 address
	DNSName   string   `json:",omitempty"` // for players; preferred to the address
	OS, Arch  string   // Go's names: linux, amd64
	Version   string   // of the agent: its program, release and platform, separated by spaces
	CPUMillis int      // processors offered, in thousandths
	MemoryMiB int      // memory offered
	PortFrom  int      // first port for games
	PortTo    int      // last port for games
	Isolation []string `json:",omitempty"` // how game servers are isolated there
	Engine    *Engine  `json:",omitempty"` // runs container groups there; nil: nothing does
	NoBuilds  bool     `json:",omitempty"` // it runs container groups only

	LegacyClosed string `json:",omitempty"` // why game servers with Server SDK 3 and 4 cannot connect there; "": they can, or the agent is older

	Shells          *ShellOffer `json:",omitempty"` // nil: the agent is older than remote shells
	ContainerShells *ShellOffer `json:",omitempty"` // in containers; nil: the agent is older than those

	Tails bool `json:",omitempty"` // it answers Tail; false: the agent is older than that, or of a cluster

	Certificates bool `json:",omitempty"` // it keeps certificates for instances; false: the agent is older than that, or runs no builds
}

// The parts of isolation of game servers, in Facts.Isolation.
const (
	IsolationLimits      = "limits"       // they are limited to the size of their instance
	IsolationUsers       = "users"        // each instance has its own user
	IsolationProcesses   = "processes"    // they see only their own processes, and few folders of others
	IsolationSystemCalls = "system calls" // those for administering the machine are refused
	IsolationEgress      = "egress"       // they can send only to networks beyond the machine
)

// Refusal is the body of an error response.
type Refusal struct {
	Message string
}
