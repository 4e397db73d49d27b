package container

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Type is what a container group is for, spelled as in the API's ContainerGroupType.
type Type string

// The types of container groups.
const (
	GameServer  Type = "GAME_SERVER"  // runs a game server; as many on an instance as fit
	PerInstance Type = "PER_INSTANCE" // runs once on an instance, beside its game servers
)

// Definition is a name under which versions are kept.
type Definition struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	Last int    `json:"last"` // number of the newest version that there ever was
}

// Version is one version of a definition.
type Version struct {
	Name    string    `json:"name"`
	Number  int       `json:"number"`
	Type    Type      `json:"type"`
	Status  Status    `json:"status"`
	Reason  string    `json:"reason,omitzero"` // why it is FAILED
	Created time.Time `json:"created"`

	Due   time.Time `json:"due,omitzero"`   // when registries are asked next
	Tries int       `json:"tries,omitzero"` // how often they were asked in vain

	Spec
}

// Spec is what a group of containers consists of.
type Spec struct {
	OS          string      `json:"os"`
	Memory      int         `json:"memory"` // MiB, shared by all containers
	VCPU        float64     `json:"vcpu"`   // shared by all containers
	Description string      `json:"description,omitzero"`
	Game        *Container  `json:"game,omitzero"` // runs the game server; only in GAME_SERVER groups
	Support     []Container `json:"support,omitzero"`
}

// Container is one container of a group.
type Container struct {
	Name      string       `json:"name"`
	Image     string       `json:"image"`
	Digest    string       `json:"digest,omitzero"` // known once the version is READY
	SDK       string       `json:"sdk,omitzero"`    // version of the server SDK, of a game server
	DependsOn []Dependency `json:"depends_on,omitzero"`
	Mounts    []Mount      `json:"mounts,omitzero"`
	Env       []Variable   `json:"env,omitzero"`
	Ports     []PortRange  `json:"ports,omitzero"`

	Capabilities []string `json:"capabilities,omitzero"` // Linux capabilities beyond the engine's default ones

	// Of support containers; a game server container is always essential.
	Essential bool         `json:"essential,omitzero"`
	Memory    int          `json:"memory,omitzero"` // limit in MiB; 0: the group's
	VCPU      float64      `json:"vcpu,omitzero"`   // reserved; 0: none
	Health    *HealthCheck `json:"health,omitzero"`
}

// Pinned returns the image's name with the digest of its content in place of a tag. Without a
// known digest it returns the name as it is.
func (c *Container) Pinned() string {
	name, _, _ := strings.Cut(c.Image, "@")
	if c.Digest == "" {
		return c.Image
	}
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') { // otherwise a registry's port
		name = name[:at]
	}
	return name + "@" + c.Digest
}

// Dependency says when a container may start: when another has met a condition.
type Dependency struct {
	Container string    `json:"container"`
	Condition Condition `json:"condition"`
}

// Condition is spelled as in the API's ContainerDependencyCondition.
type Condition string

// The conditions of dependencies.
const (
	Start    Condition = "START"
	Complete Condition = "COMPLETE"
	Success  Condition = "SUCCESS"
	Healthy  Condition = "HEALTHY"
)

// ReadAndWrite is the Access of a mount that can be written to.
const ReadAndWrite = "READ_AND_WRITE"

// Mount shows a container a path of its instance.
type Mount struct {
	Instance  string `json:"instance"`           // path on the instance
	Container string `json:"container,omitzero"` // path in the container; "": the same
	Access    string `json:"access,omitzero"`    // READ_ONLY or READ_AND_WRITE; "": READ_ONLY
}

// In returns the path in the container.
func (m Mount) In() string {
	if m.Container != "" {
		return m.Container
	}
	return m.Instance
}

// Variable is one of a container's environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// PortRange is ports of a container that others may connect to.
type PortRange struct {
	From     int    `json:"from"`
	To       int    `json:"to"`       // inclusive
	Protocol string `json:"protocol"` // TCP or UDP
}

// HealthCheck is a command in the container that succeeds while it is healthy. A zero
// period or count means that none was given.
type HealthCheck struct {
	Command     []string      `json:"command"`
	Interval    time.Duration `json:"interval,omitzero"`
	Timeout     time.Duration `json:"timeout,omitzero"`
	StartPeriod time.Duration `json:"start_period,omitzero"`
	Retries     int           `json:"retries,omitzero"`
}

// Containers returns the containers of a group, the game server's first.
func (s *Spec) Containers() iter.Seq[*Container] {
	return func(yield func(*Container) bool) {
		if s.Game != nil && !yield(s.Game) {
			return
		}
		for i := range s.Support {
			if !yield(&s.Support[i]) {
				return
			}
		}
	}
}

// clone returns a copy whose containers can be changed.
func (v *Version) clone() *Version {
	c := *v
	if v.Game != nil {
		game := *v.Game
		c.Game = &game
	}
	c.Support = slices.Clone(v.Support)
	return &c
}

// key returns the key of a version's row. The newest version of a name is the first.
func key(name string, number int) string { return fmt.Sprintf("%s:%08x", name, ^uint32(number)) }
