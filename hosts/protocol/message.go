package protocol

import (
	"encoding/json"
	"fmt"
	"time"
)

// Message is one frame: exactly one of its members is set.
type Message struct {
	// From the agent.
	Hello      *Hello      `json:",omitempty"`
	Status     *Status     `json:",omitempty"`
	Exited     *Exited     `json:",omitempty"`
	LogsStored *LogsStored `json:",omitempty"`
	SecretKept *SecretKept `json:",omitempty"`
	Tailed     *Tailed     `json:",omitempty"`

	// From Muster.
	Assign  *Assign  `json:",omitempty"`
	Kill    *Kill    `json:",omitempty"`
	Collect *Collect `json:",omitempty"`
	Ack     *Ack     `json:",omitempty"`
	Secret  *Secret  `json:",omitempty"`
	Shell   *Shell   `json:",omitempty"`
	Tail    *Tail    `json:",omitempty"`
}

// Encode returns a message as a frame. It fails if the frame is too large.
func Encode(m Message) ([]byte, error) {
	frame, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	if len(frame) > MaxFrame {
		return nil, fmt.Errorf("encode message: %d bytes, at most %d fit a frame", len(frame), MaxFrame)
	}
	return frame, nil
}

// Decode decodes a frame. It ignores unknown members, so that one side may be newer
// than the other.
func Decode(frame []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(frame, &m); err != nil {
		return m, fmt.Errorf("decode message: %w", err)
	}
	return m, nil
}

// Hello is the first frame of a connection. It is sent again when the facts change.
type Hello struct {
	Facts Facts
	Boot  string // id of the machine's current boot; "" if the system has none
	Run   string `json:",omitempty"` // identifies this run of the agent
}

// Status is the current state of the host. It is sent after Hello, at each change, and
// every Period because of the resources. Instances that it does not name do not exist.
type Status struct {
	Resources Resources
	Instances []Instance
	// Own are instances of programs that the machine runs without being told to, as 'muster local'
	// does. They are only shown to operators.
	Own []Instance `json:",omitempty"`
}

// Period is the time between two Status messages if nothing changes.
const Period = 10 * time.Second

// Resources are what the host has and uses.
type Resources struct {
	CPUMillis     int   `json:",omitempty"` // of all its processors; 0: an agent that does not say
	CPUMillisUsed int   // by everything that runs there, over the last period
	MemoryMiB     int   // total
	MemoryUsedMiB int   // in use
	DiskMiB       int64 // of the file system that holds builds and logs
	DiskFreeMiB   int64
	DiskFull      bool // nothing is launched or installed until there is space again
}

// Phase is the phase of an instance on its host.
type Phase string

// The phases of an instance.
const (
	Downloading Phase = "DOWNLOADING"
	Validating  Phase = "VALIDATING" // unpacks the build and checks the programs to launch
	Building    Phase = "BUILDING"   // runs the build's install script
	Activating  Phase = "ACTIVATING" // installed: processes are kept running
	Draining    Phase = "DRAINING"   // launches nothing more
	Failed      Phase = "FAILED"     // Code and Cause say why
	Gone        Phase = "GONE"       // it has ended
)

// Instance is the current state of one instance.
type Instance struct {
	InstanceID string
	Phase      Phase
	Code       string        `json:",omitempty"` // event code of a problem
	Cause      string        `json:",omitempty"` // the problem as a sentence
	Done       int           `json:",omitempty"` // percent of the download
	Processes  []Process     `json:",omitempty"` // those running
	Groups     []GroupStatus `json:",omitempty"` // of a container fleet, which has no Processes
	Usage      Usage         `json:",omitzero"`
}

// Usage is what the processes of an instance use.
type Usage struct {
	CPUMillis int
	MemoryMiB int
}

// Process is one running game server process.
type Process struct {
	ProcessID string
	PID       int
	Entry     int // of the runtime configuration's server processes
	Port      int // assigned to it; it may listen on another
	Started   time.Time
}

// Exited reports how a process ended. It is repeated until acknowledged.
type Exited struct {
	Seq        uint64 // increasing number of the agent's reports
	InstanceID string
	FleetID    string
	Group      string `json:",omitempty"` // name of the container group that the process was of
	ProcessID  string
	Known      bool // false if it ended while no agent was watching
	Code       int  // exit code; -1 if a signal ended it
	Signal     string
	OOM        bool     // it was killed for exceeding its memory limit
	Reason     string   // an event code, as in Kill; "" if it was not told to end
	Cause      string   // a sentence for people: how and, if known, why
	Tail       []string // the last lines of its standard error
	Lived      time.Duration

	// The process had called ProcessEnding through the relay. While the relay has no
	// link, this report is what says so.
	ProcessEnding bool `json:",omitempty"`
}

// Ack says that a report is stored.
type Ack struct {
	Seq uint64
}

// Kill requests that a process be killed, unless it ends by itself within the grace
// period.
type Kill struct {
	InstanceID string
	ProcessID  string
	Reason     string // an event code
	Grace      time.Duration
}

// Collect requests the logs of an ended process.
type Collect struct {
	InstanceID    string
	ProcessID     string
	LogPaths      []string // named by the process, besides its output
	GameSessionID string   // hosted by the process, or ""
}

// LogsStored says that the logs were uploaded, or that there will be none.
type LogsStored struct {
	InstanceID string
	ProcessID  string
	Bytes      int64
	Problem    string `json:",omitempty"` // why there are none, or not all
}

// Secret is the host's new secret. The old one is valid until SecretKept.
type Secret struct {
	Secret string
}

// SecretKept says that the agent has stored the new secret on disk, and uses it from
// now on.
type SecretKept struct{}
