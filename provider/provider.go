package provider

// Provider decides which instances to create and to remove.
type Provider interface {
	// Plan returns the changes from what is there to what is wished for. It must
	// depend on the world only.
	Plan(World) Plan
	// Room returns how many more instances of the wish's size could be created now.
	Room(World, Wish) int
}

// World is the input of a plan.
type World struct {
	Hosts     []Host
	Instances []Instance
	Wishes    []Wish
}

// Host is a machine and its resources.
type Host struct {
	ID, Location     string
	OS               string // as in GOOS; "" fits every wish
	Open             bool   // takes new instances: connected, and not full
	CPUMillis        int
	MemoryMiB        int
	PortFrom, PortTo int
}

// State is the state of an instance.
type State int

// The states of an instance. A Failed one keeps its fleet off its host until it is
// forgotten.
const (
	Pending State = iota
	Running
	Leaving
	Failed
)

// Instance is a slice of a host that runs a fleet's processes.
type Instance struct {
	ID, FleetID, Location, HostID string
	CPUMillis, MemoryMiB          int
	PortFrom, PortTo              int
	State                         State

	// Its load, which decides what is removed if its location has more than it wishes
	// for.
	Sessions, Players int
	Protected         bool // one of its game sessions may not be ended
}

// Wish is how many instances a fleet shall have in a location.
type Wish struct {
	FleetID, Location    string
	OS                   string
	CPUMillis, MemoryMiB int
	Ports                int
	Desired              int
}

// Plan is the changes to make.
type Plan struct {
	Make   []Make
	Remove []string // instance ids
	Short  []Short  // wishes that no host has room for
}

// Make is an instance to be created.
type Make struct {
	Wish             Wish
	HostID           string
	PortFrom, PortTo int
}

// Short is a wish, how many of its instances find no host, and why, for people.
type Short struct {
	Wish    Wish
	Missing int
	Why     string
}
