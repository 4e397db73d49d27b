package compute

import "time"

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

// computeKey joins what identifies a compute. Neither part can hold a "|".
func computeKey(fleetID, name string) string { return fleetID + "|" + name }

// Host is the address that players are given: the DNS name, else the IP address.
func (c *Compute) Host() string {
	if c.DNSName != "" {
		return c.DNSName
	}
	return c.IPAddress
}
