package protocol

import (
	"crypto/ed25519"
	"time"
)

// Assign is all that shall be on the host. An instance that it does not name is
// to be stopped.
type Assign struct {
	Instances []Wish
	BuildKey  ed25519.PublicKey `json:",omitempty"` // as in JoinResponse, for agents that joined before there was one
}

// Wish is one instance that shall be on the host.
type Wish struct {
	InstanceID string
	FleetID    string
	FleetARN   string
	Compute    string // the name under which its processes connect
	Location   string
	Build      Build
	Runtime    Runtime
	PortFrom   int
	PortTo     int
	CPUMillis  int
	MemoryMiB  int
	SDKURL     string // where its processes connect
	AuthToken  string // with which they do
	Region     string
	Relay      bool      // they connect through the agent
	Stop       Stop      `json:",omitempty"`
	StopBy     time.Time `json:",omitzero"` // when a drain ends by force
}

// Build is what is to be installed.
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

// Stop says how an instance shall end.
type Stop string

// The ways to end an instance.
const (
	Keep  Stop = ""
	Drain Stop = "DRAIN" // processes end by themselves, by force at StopBy
	End   Stop = "STOP"  // at once
)
