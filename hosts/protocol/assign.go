package protocol

import (
	"crypto/ed25519"
	"time"
)

// Assign is the complete desired state of a host. Instances that it does not name must
// be stopped.
type Assign struct {
	Instances []Desired
	BuildKey  ed25519.PublicKey `json:",omitempty"` // as in JoinResponse, for agents that joined a server that had none
	Images    []string          `json:",omitempty"` // to fetch before they are needed, by digest
}

// Desired is one instance that the host should run.
type Desired struct {
	InstanceID string
	FleetID    string
	FleetARN   string
	Compute    string // the name under which its processes connect
	Location   string
	Build      Build
	Runtime    Runtime
	Groups     []Group `json:",omitempty"` // of a container fleet, which has neither Build nor Runtime
	PortFrom   int
	PortTo     int
	CPUMillis  int
	MemoryMiB  int
	SDKURL     string // where its processes connect
	AuthToken  string // with which they connect
	Region     string
	Relay      bool // they connect through the agent

	Certificate *Certificate `json:",omitempty"` // of its game servers; nil: they have none

	Stop   Stop      `json:",omitempty"`
	StopBy time.Time `json:",omitzero"` // when processes are killed in a drain

	// Trace is the span of the request that has the instance started, until it has, as W3C's
	// header traceparent has it. It changes nothing of what is desired.
	Trace string `json:",omitempty"`
}

// Build is a build to install.
type Build struct {
	ID     string
	SHA256 string // of the archive, in hex
	Size   int64  // of the archive, in bytes
	Format string // zip, tar or tar.gz

	Signature string // of the members above, in base64 (Sign)
}

// Runtime says which processes to keep running.
type Runtime struct {
	Processes []ServerProcess
}

// ServerProcess is one entry of the runtime configuration.
type ServerProcess struct {
	LaunchPath string
	Parameters string
	Concurrent int
}

// Stop says how an instance should end.
type Stop string

// The ways to end an instance.
const (
	Keep  Stop = ""
	Drain Stop = "DRAIN" // processes end by themselves; they are killed at StopBy
	End   Stop = "STOP"  // immediately
)
