package engine

import (
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// Owner is the agent to which groups belong. Agents of several owners may share an engine.
type Owner struct {
	Cell   string
	HostID string
}

// Labels say what a group is. The engine keeps them with each container.
type Labels struct {
	Instance   string
	Group      string // its name, unique on the instance
	Definition string // ARN of the version of its definition
	ProcessID  string // of its game server; "" for a group without one
	Started    time.Time
}

// Group is a container group that should run.
type Group struct {
	Labels     // Started is set by Start
	MemoryMiB  int
	CPUMillis  int
	Containers []protocol.Container
}

// layout is the order in which a group's containers start, and which of them owns the
// network that they share, and so its ports.
type layout struct {
	sorted []protocol.Container // each follows those on which it depends
	holder int                  // index in sorted of the owner; -1: a container of its own
}

// isEssential reports whether the group ends with the container.
func isEssential(c protocol.Container) bool { return c.Essential || c.Game }
