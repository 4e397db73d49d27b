package compute

import (
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Process is one run of a game server on a compute.
type Process struct {
	Key         string `json:"key"` // fleet id | compute name | process id
	FleetID     string `json:"fleet_id"`
	ComputeName string `json:"compute_name"`
	ID          string `json:"id"` // chosen by whoever launched it
	Location    string `json:"location"`
	HostID      string `json:"host_id,omitzero"` // of a managed fleet's
	Status      Status `json:"status"`

	SDK      SDK      `json:"sdk,omitzero"`
	Port     int      `json:"port,omitzero"`
	LogPaths []string `json:"log_paths,omitzero"`

	Connected bool      `json:"connected"`         // a socket is open
	Away      time.Time `json:"away,omitzero"`     // since when its last socket has been seen to be gone
	Impaired  bool      `json:"impaired,omitzero"` // its host is
	Hearing   bool      `json:"hearing"`           // the SDK has taken the answer to ProcessReady: pushes are heard from now on

	GameSessionID string `json:"game_session_id,omitzero"` // what it hosts

	Initialized time.Time `json:"initialized"`
	Ready       time.Time `json:"ready,omitzero"`
	Ended       time.Time `json:"ended,omitzero"`

	// Deadlines; zero means none.
	ReadyBy     time.Time `json:"ready_by,omitzero"`     // must call ProcessReady
	ReconnectBy time.Time `json:"reconnect_by,omitzero"` // must have a socket again
	StopBy      time.Time `json:"stop_by,omitzero"`      // must be gone

	Why event.Code `json:"why,omitzero"` // what ends or ended it
}

// SDK is what a process said of the library it speaks with.
type SDK struct {
	Version     string `json:"version,omitzero"`
	Language    string `json:"language,omitzero"`
	ToolName    string `json:"tool_name,omitzero"`
	ToolVersion string `json:"tool_version,omitzero"`
}

// Ref identifies a process as its connection does.
type Ref struct {
	FleetID, ComputeName, ProcessID string
}

// Key is the process's key in the store.
func (r Ref) Key() string { return r.FleetID + "|" + r.ComputeName + "|" + r.ProcessID }

// ParseRef gives the parts of a process key.
func ParseRef(key string) Ref {
	parts := strings.SplitN(key, "|", 3)
	for len(parts) < 3 {
		parts = append(parts, "")
	}
	return Ref{parts[0], parts[1], parts[2]}
}

// Ref identifies the process.
func (p *Process) Ref() Ref { return Ref{p.FleetID, p.ComputeName, p.ID} }

// Free tells whether the process can be given a game session now.
func (p *Process) Free() bool {
	return p.Status == Active && p.Connected && p.Hearing && !p.Impaired && p.GameSessionID == ""
}

// Unreachable reports whether the process's last socket was seen to end, and none
// has come since. After a restart of Muster nobody saw what became of the sockets
// of the node before: those processes are waited for and count as reachable.
func (p *Process) Unreachable() bool {
	return p.Status != Terminated && !p.Connected && !p.Away.IsZero()
}

// WrapTool is what a process says it is (SDK.ToolName) that hosts a program
// without an SDK.
const WrapTool = "MusterWrap"

// Wrapped reports whether the process hosts a program that knows no SDK, so that
// nobody accepts its players.
func (p *Process) Wrapped() bool { return p.SDK.ToolName == WrapTool }

// rank orders the free processes of a location. Those of a managed fleet come
// host by host and instance by instance, in an order that never changes and is
// the same for all fleets: so game sessions fill the first hosts, and the last
// ones empty and can go. Others come by how long they have been ready.
func (p *Process) rank() string {
	if p.HostID == "" {
		return ""
	}
	return store.Key(p.HostID, p.ComputeName)
}

// due is the earliest of the process's deadlines, or zero.
func (p *Process) due() time.Time {
	var first time.Time
	for _, t := range []time.Time{p.ReadyBy, p.ReconnectBy, p.StopBy, p.forgetAt()} {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// remembered is how long an ended process stays known, so that a late
// reconnect of it is refused rather than taken for a new process.
const remembered = time.Hour

func (p *Process) forgetAt() time.Time {
	if p.Status != Terminated {
		return time.Time{}
	}
	return p.Ended.Add(remembered)
}
