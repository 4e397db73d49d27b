package compute

import (
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Process is one run of a game server on a compute.
type Process struct {
	Key         string `json:"key"` // fleet id | compute name | process id
	FleetID     string `json:"fleet_id"`
	ComputeName string `json:"compute_name"`
	ID          string `json:"id"` // chosen by what launched it
	Location    string `json:"location"`
	HostID      string `json:"host_id,omitzero"` // of a process of a managed fleet
	Status      Status `json:"status"`

	SDK      SDK      `json:"sdk,omitzero"`
	Port     int      `json:"port,omitzero"`
	LogPaths []string `json:"log_paths,omitzero"`

	Connected bool      `json:"connected"`         // a socket is open
	Away      time.Time `json:"away,omitzero"`     // when its last socket was seen to close
	Impaired  bool      `json:"impaired,omitzero"` // its host is, or players cannot be told where it is: it gets no new game sessions
	Hearing   bool      `json:"hearing"`           // the SDK has received the answer to ProcessReady, and pushes from now on

	GameSessionID string `json:"game_session_id,omitzero"` // that it hosts
	Doubt         bool   `json:"doubt,omitzero"`           // it may host another one, which the database lost

	Initialized time.Time `json:"initialized"`
	Ready       time.Time `json:"ready,omitzero"`
	Ended       time.Time `json:"ended,omitzero"`

	// Deadlines; zero means none.
	ReadyBy     time.Time `json:"ready_by,omitzero"`     // must call ProcessReady by then
	ReconnectBy time.Time `json:"reconnect_by,omitzero"` // must have a socket again by then
	StopBy      time.Time `json:"stop_by,omitzero"`      // must be gone by then

	Why event.Code `json:"why,omitzero"` // what ends or ended it
}

// SDK describes the library that a process uses, as the process reports it.
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

// Key returns the process's key in the store.
func (r Ref) Key() string { return r.FleetID + "|" + r.ComputeName + "|" + r.ProcessID }

// ParseRef returns the parts of a process key.
func ParseRef(key string) Ref {
	fleetID, rest, _ := strings.Cut(key, "|")
	name, id, _ := strings.Cut(rest, "|")
	return Ref{fleetID, name, id}
}

// LogKey returns the key under which the logs of the process are stored: by the game session
// that it hosted, or else by its own id.
func (r Ref) LogKey(gameSessionID string) string {
	name := r.ProcessID
	if gameSessionID != "" {
		name = gameSessionID[strings.LastIndexByte(gameSessionID, '/')+1:]
	}
	return r.FleetID + "/" + r.ComputeName + "/" + name + ".zip"
}

// Ref returns what identifies the process.
func (p *Process) Ref() Ref { return Ref{p.FleetID, p.ComputeName, p.ID} }

// Free reports whether the process can take a game session now.
func (p *Process) Free() bool {
	return p.Status == Active && p.Connected && p.Hearing && !p.Impaired && !p.Doubt && p.GameSessionID == ""
}

// Unreachable reports whether the process's last socket was seen to close, and it has
// not connected since. After a restart of Muster, processes that were connected to the
// previous node count as reachable: nobody saw their sockets close, and they are waited for.
func (p *Process) Unreachable() bool {
	return p.Status != Terminated && !p.Connected && !p.Away.IsZero()
}

// WrapTool is the tool name (SDK.ToolName) of a process that hosts a program without
// an SDK.
const WrapTool = "MusterWrap"

// Wrapped reports whether the process hosts a program that has no SDK, so that nothing
// accepts its players.
func (p *Process) Wrapped() bool { return p.SDK.ToolName == WrapTool }

// rank orders the free processes of a location. Those of a managed fleet are ordered
// by host and instance, in an order that never changes and is the same for all fleets:
// game sessions fill the first hosts, and the last ones become empty and can be removed.
// Others are ordered by how long they have been ready.
func (p *Process) rank() string {
	if p.HostID == "" {
		return ""
	}
	return store.Key(p.HostID, p.ComputeName)
}

// place returns the id of the process's instance or, in an Anywhere fleet, the name of its
// compute.
func (p *Process) place() string {
	if p.HostID == "" {
		return p.ComputeName
	}
	instanceID, _ := InstanceOf(p.ComputeName)
	return instanceID
}

// due returns the earliest of the process's deadlines, or zero.
func (p *Process) due() time.Time {
	if p.Status == Terminated {
		return p.Ended.Add(Remembered)
	}
	return wake.Earliest(p.ReadyBy, p.ReconnectBy, p.StopBy)
}

// Remembered is how long an ended process is kept, so that a late reconnect of it is
// refused rather than taken for a new process.
const Remembered = time.Hour

// hosted returns the game session of a process that has not ended.
func (p *Process) hosted() string {
	if p.Status == Terminated {
		return ""
	}
	return p.GameSessionID
}
