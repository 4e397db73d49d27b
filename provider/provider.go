package provider

// Provider decides which instances to make and to remove.
type Provider interface {
	// Plan gives what to do about the difference between what is wished for
	// and what is there. It must be a function of the world alone.
	Plan(World) Plan
	// Room tells how many more instances of the wish's size could be made now.
	Room(World, Wish) int
}

// World is what a plan is made from.
type World struct {
	Hosts     []Host
	Instances []Instance
	Wishes    []Wish
}

// Host is a machine and what it offers.
type Host struct {
	ID, Location     string
	OS               string // as Go names it; "" fits every wish
	Open             bool   // takes new instances: connected, and not full
	CPUMillis        int
	MemoryMiB        int
	PortFrom, PortTo int
}

// State is how far an instance is.
type State int

// The states of an instance. One that is Failed keeps its fleet off its host
// until it is forgotten.
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

	// What hangs on it, where its location has more than it wishes for.
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

// Plan is what to do.
type Plan struct {
	Make   []Make
	Remove []string // instance ids
	Short  []Short  // wishes that no host has room for
}

// Make is an instance to be made.
type Make struct {
	Wish             Wish
	HostID           string
	PortFrom, PortTo int
}

// Short is a wish with how many of its instances find no host, and why, for people.
type Short struct {
	Wish    Wish
	Missing int
	Why     string
}
