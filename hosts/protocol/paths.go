package protocol

import "crypto/ed25519"

// Where an agent finds what it needs, below Muster's base URL.
const (
	PathJoin   = "/agent/v1/join"    // POST JoinRequest, answers JoinResponse
	PathHost   = "/agent/v1/host"    // the WebSocket
	PathBuilds = "/agent/v1/builds/" // + SHA-256: GET, with Range
	PathLogs   = "/agent/v1/logs/"   // + instance id / process id: PUT a zip archive
)

// MaxFrame bounds a frame in bytes, both ways.
const MaxFrame = 1 << 20

// JoinRequest makes a machine a host. The token says for which location.
type JoinRequest struct {
	Token string
	Facts
}

// JoinResponse is the host's own credential, which is shown once: it is sent as
// "Authorization: Bearer HostID.Secret" from then on.
type JoinResponse struct {
	HostID   string
	Secret   string
	Location string
	BuildKey ed25519.PublicKey // verifies the signatures of builds (Build.Verify)
}

// Facts are what a machine is and what it offers to games.
type Facts struct {
	Name      string   // of the machine, for people
	IPAddress string   `json:",omitempty"` // that players reach; "" takes the one Muster sees
	DNSName   string   `json:",omitempty"` // the same, preferred to the address
	OS, Arch  string   // as Go names them: linux, amd64
	Version   string   // of the agent
	CPUMillis int      // processors offered, in thousandths
	MemoryMiB int      // memory offered
	PortFrom  int      // first port that games may take
	PortTo    int      // last one
	Isolation []string `json:",omitempty"` // what game servers are held to there
}

// What game servers can be held to, in Facts.Isolation.
const (
	IsolationLimits      = "limits"       // the size of their instance
	IsolationUsers       = "users"        // each instance a user of its own
	IsolationProcesses   = "processes"    // they see their own processes, and few folders of others
	IsolationSystemCalls = "system calls" // those of the machine's owner are refused
	IsolationEgress      = "egress"       // they send to networks beyond the machine alone
)

// Refusal is the body of an answer that is no success.
type Refusal struct {
	Message string
}
