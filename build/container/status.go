package container

import "github.com/musterhq/muster/internal/state"

// Status is the state of a version, spelled as in the API's ContainerGroupDefinitionStatus.
type Status string

// The states of a version.
const (
	Copying Status = "COPYING"
	Ready   Status = "READY"
	Failed  Status = "FAILED"
)

// Moves lists each allowed change of a version's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Copying}:     "CreateContainerGroupDefinition, UpdateContainerGroupDefinition",
	{Copying, Ready}:  "the digest of each image is known",
	{Copying, Failed}: "an image does not exist or may not be read, or no registry answered in time",
}

func (v *Version) move(to Status) { Moves.Move(&v.Status, to, v.Name) }
