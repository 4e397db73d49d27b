package compute

import (
	"cmp"
	"time"
)

// Compute is what processes connect as: a machine that an operator registered
// for an Anywhere fleet, or an instance of a managed fleet.
type Compute struct {
	Key             string    `json:"key"` // fleet id | name
	FleetID         string    `json:"fleet_id"`
	Name            string    `json:"name"`
	Location        string    `json:"location"`
	IPAddress       string    `json:"ip_address,omitzero"`
	DNSName         string    `json:"dns_name,omitzero"`
	CertificatePath string    `json:"certificate_path,omitzero"`
	InstanceID      string    `json:"instance_id,omitzero"` // of a managed fleet; it is the name
	Registered      time.Time `json:"registered"`
}

// Key returns the key of a compute. Neither part can contain a "|".
func Key(fleetID, name string) string { return fleetID + "|" + name }

// Address returns the IP address and the DNS name that callers receive. AWS's
// samples and plugins read both, so if one is missing the other replaces it.
func (c *Compute) Address() (ip, dns string) {
	return cmp.Or(c.IPAddress, c.DNSName), cmp.Or(c.DNSName, c.IPAddress)
}
