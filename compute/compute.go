package compute

import (
	"strings"
	"time"
)

// Compute is what processes connect as: a machine that an operator registered
// for an Anywhere fleet, an instance of a managed fleet, or a container group on one.
type Compute struct {
	Key      string `json:"key"` // fleet id | name
	FleetID  string `json:"fleet_id"`
	Name     string `json:"name"`
	Location string `json:"location"`

	Address

	CertificatePath string    `json:"certificate_path,omitzero"`
	InstanceID      string    `json:"instance_id,omitzero"` // of a managed fleet (InstanceOf)
	Registered      time.Time `json:"registered"`
}

// Key returns the key of a compute. Neither part can contain a "|".
func Key(fleetID, name string) string { return fleetID + "|" + name }

// GroupName returns the name of the compute of a container group on an instance.
func GroupName(instanceID, group string) string { return instanceID + "/" + group }

// InstanceOf returns the id of the instance that a compute of a managed fleet is, or is on,
// by the compute's name; and the name of its container group, or "".
func InstanceOf(computeName string) (instanceID, group string) {
	instanceID, group, _ = strings.Cut(computeName, "/")
	return instanceID, group
}
