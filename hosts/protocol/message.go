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

	// From Muster.
	Assign  *Assign  `json:",omitempty"`
	Kill    *Kill    `json:",omitempty"`
	Collect *Collect `json:",omitempty"`
	Ack     *Ack     `json:",omitempty"`
	Secret  *Secret  `json:",omitempty"`
}

// Encode gives a message as a frame. It fails for one that is too large.
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

// Decode reads a frame. Members that it does not know are skipped, so that one
// side may be newer than the other.
func Decode(frame []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(frame, &m); err != nil {
		return m, fmt.Errorf("decode message: %w", err)
	}
	return m, nil
}

// Hello is the first frame of a connection.
type Hello struct {
	Facts Facts
	Boot  string // names the machine's current boot; "" where the system has no such name
	Run   string `json:",omitempty"` // names this run of the agent
}

// Status is what is on the host now: the first one after Hello and at each
// change; every Period of it again, for the resources. Instances that it does
// not name are not there.
type Status struct {
	Resources Resources
	Instances []Instance
}

// Period is the time between two Status where nothing changes.
const Period = 10 * time.Second

// Resources are what the host has and uses.
type Resources struct {
	CPUMillisUsed int   // of all that runs there, over the last period
	MemoryMiB     int   // all there is
	MemoryUsedMiB int   // of it in use
	DiskMiB       int64 // of the file system that holds builds and logs
	DiskFreeMiB   int64
	DiskFull      bool // nothing is launched or installed until there is room again
}

// Phase is how far an instance has come on its host.
type Phase string

// The phases of an instance.
const (
	Downloading Phase = "DOWNLOADING"
	Validating  Phase = "VALIDATING" // unpacks and looks at what it is to launch
	Building    Phase = "BUILDING"   // runs the build's install script
	Activating  Phase = "ACTIVATING" // installed: processes are kept running
	Draining    Phase = "DRAINING"   // launches nothing more
	Failed      Phase = "FAILED"     // Code and Cause say why
	Gone        Phase = "GONE"       // nothing is left of it
)

// Instance is one instance as it is on the host.
type Instance struct {
	InstanceID string
	Phase      Phase
	Code       string    `json:",omitempty"` // of a fleet event: what is wrong
	Cause      string    `json:",omitempty"` // the same as a sentence
	Done       int       `json:",omitempty"` // percent of the download
	Processes  []Process `json:",omitempty"` // that run
	Usage      Usage     `json:",omitzero"`
}

// Usage is what the processes of an instance take.
type Usage struct {
	CPUMillis int
	MemoryMiB int
}

// Process is one running game server process.
type Process struct {
	ProcessID string
	PID       int
	Entry     int // of the runtime configuration's server processes
	Port      int // that it was given; it may listen elsewhere
	Started   time.Time
}

// Exited tells how a process ended. It is repeated until acknowledged.
type Exited struct {
	Seq        uint64 // of this agent's reports
	InstanceID string
	FleetID    string
	ProcessID  string
	Known      bool // false: it ended while nobody watched
	Code       int  // exit code; -1 where a signal ended it
	Signal     string
	OOM        bool     // its memory limit ended it
	Reason     string   // that the Kill gave; "" where nobody asked it to end
	Cause      string   // a sentence for people: how and, where it can be seen, why
	Tail       []string // the last lines on its standard error
	Lived      time.Duration
}

// Ack says that a report is durable.
type Ack struct {
	Seq uint64
}

// Kill asks for the end of a process: now, or after the grace, which it has to
// end by itself.
type Kill struct {
	InstanceID string
	ProcessID  string
	Reason     string // an event code
	Grace      time.Duration
}

// Collect asks for the logs of an ended process.
type Collect struct {
	InstanceID    string
	ProcessID     string
	LogPaths      []string // that it named, besides its output
	GameSessionID string   // that it hosted, or ""
}

// LogsStored says that Muster has the logs, or that there will be none.
type LogsStored struct {
	InstanceID string
	ProcessID  string
	Bytes      int64
	Problem    string `json:",omitempty"` // why there are none, or not all
}

// Secret is the host's new secret. The one before it is good until SecretKept.
type Secret struct {
	Secret string
}

// SecretKept says that the agent has the new secret on its disk, and shows it
// from now on.
type SecretKept struct{}
