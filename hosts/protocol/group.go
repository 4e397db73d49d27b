package protocol

import "time"

// Engine is a container engine, or a cluster, that runs container groups for an agent.
type Engine struct {
	Name    string // docker, podman or kubernetes
	Version string
}

// Group is a container group that a host should run on an instance.
type Group struct {
	Name        string // unique on the instance, and part of its compute's name
	Compute     string `json:",omitempty"` // the name under which its game server connects; "" for a group without one
	PerInstance bool   `json:",omitempty"` // it runs once beside the instance's game servers
	Definition  string // ARN of the version of its definition
	MemoryMiB   int    // limit of its containers together, like the next one
	CPUMillis   int
	Containers  []Container
	AuthToken   string    `json:",omitempty"` // with which its game server connects
	Busy        bool      `json:",omitempty"` // it hosts a game session: what may move containers must not
	Stop        Stop      `json:",omitempty"`
	StopBy      time.Time `json:",omitzero"` // when it is killed in a drain
}

// Container is one container of a group.
type Container struct {
	Name         string
	Image        string // by digest
	Game         bool   `json:",omitempty"` // it runs the game server
	Essential    bool   `json:",omitempty"` // the group ends with it
	Environment  []Variable
	DependsOn    []Dependency     `json:",omitempty"`
	Mounts       []Mount          `json:",omitempty"`
	Ports        []Port           `json:",omitempty"`
	Capabilities []string         `json:",omitempty"` // Linux capabilities beyond the engine's default ones
	MemoryMiB    int              `json:",omitempty"` // its own limit; 0: the group's
	CPUMillis    int              `json:",omitempty"` // reserved for it; 0: none
	Health       *ContainerHealth `json:",omitempty"`
}

// Variable is one of a container's environment.
type Variable struct{ Name, Value string }

// Dependency delays the start of a container until another one meets a condition.
type Dependency struct {
	Container string
	Condition string // START, COMPLETE, SUCCESS or HEALTHY
}

// Mount shows a container a path of its instance.
type Mount struct {
	Instance  string // path on the instance
	Container string // path in the container
	Writable  bool   `json:",omitempty"`
}

// Port is a port of a container, and the port of the host at which others reach it.
type Port struct {
	Container, Host int
	Protocol        string // TCP or UDP
}

// ContainerHealth is a command in a container that succeeds while it is healthy.
type ContainerHealth struct {
	Command     []string
	Interval    time.Duration `json:",omitempty"` // 0: the engine's default, like the next three
	Timeout     time.Duration `json:",omitempty"`
	StartPeriod time.Duration `json:",omitempty"`
	Retries     int           `json:",omitempty"`
}

// GroupPhase is the phase of a container group on its host.
type GroupPhase string

// The phases of a container group.
const (
	GroupPulling  GroupPhase = "PULLING"  // its images are fetched
	GroupStarting GroupPhase = "STARTING" // its containers are created and started
	GroupRunning  GroupPhase = "RUNNING"  // its game server runs, or all its containers were started
	GroupDraining GroupPhase = "DRAINING"
	GroupFailed   GroupPhase = "FAILED" // Code and Cause say why; it is started again after a while
	GroupGone     GroupPhase = "GONE"   // it has ended and is not started again
)

// GroupStatus is the current state of a container group.
type GroupStatus struct {
	Name       string
	Definition string // of what runs, or last ran
	Phase      GroupPhase
	Code       string            `json:",omitempty"` // event code of a problem
	Cause      string            `json:",omitempty"` // the problem as a sentence
	Done       int               `json:",omitempty"` // percent of the images fetched
	Taken      []int             `json:",omitempty"` // its ports of the host that other programs hold, which is why it does not run
	ProcessID  string            `json:",omitempty"` // of its game server's current run
	Started    time.Time         `json:",omitzero"`  // when that run began
	IPAddress  string            `json:",omitempty"` // for players, if it is not the host's
	IPv6       string            `json:",omitempty"` // for players, beside an IPv4 address
	DNSName    string            `json:",omitempty"` // for players, like IPAddress
	Containers []ContainerStatus `json:",omitempty"`
	Usage      Usage             `json:",omitzero"`
	Failed     FailedRun         `json:",omitzero"` // the last one, of a per-instance group; those of game servers are Exited
}

// FailedRun is a run of a group that has failed, although the next one may run by now.
type FailedRun struct {
	ID         string // another run has another one
	Definition string
	Cause      string // a sentence
}

// ContainerStatus is the current state of a container.
type ContainerStatus struct {
	Name      string
	RuntimeID string // the engine's id of it
	IPAddress string `json:",omitempty"` // in the engine's network
	Running   bool   `json:",omitempty"`
}
