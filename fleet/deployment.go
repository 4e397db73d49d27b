package fleet

import "time"

// Deployment replaces the container groups of a fleet by those of other versions.
type Deployment struct {
	ID          string           `json:"id"`
	FleetID     string           `json:"fleet_id"`
	Created     time.Time        `json:"created"`
	Game        *Group           `json:"game,omitzero"`
	PerInstance *Group           `json:"per_instance,omitzero"`
	From        Former           `json:"from,omitzero"`
	Config      DeploymentConfig `json:"config"`
	Status      DeploymentStatus `json:"status"`
	Ended       time.Time        `json:"ended,omitzero"`

	Locations map[string]DeploymentStatus `json:"locations,omitzero"`
}

// Former is what a fleet ran before a deployment, and what a rollback returns to; nil
// where it ran nothing.
type Former struct {
	Game        *Group `json:"game,omitzero"`
	PerInstance *Group `json:"per_instance,omitzero"`
}

// DeploymentConfig says how a deployment proceeds (DeploymentConfiguration).
type DeploymentConfig struct {
	Protect    bool `json:"protect"`     // it waits for the end of protected game sessions (WITH_PROTECTION)
	MinHealthy int  `json:"min_healthy"` // percent of the groups that stay ready, 30 to 75
	Rollback   bool `json:"rollback"`    // if it is impaired, the former versions return (ROLLBACK); else it stays as it is (MAINTAIN)
}

// DeploymentStatus is spelled as in the API.
type DeploymentStatus string

// The states of a deployment, and of its part in a location.
const (
	DeploymentPending      DeploymentStatus = "PENDING"
	DeploymentInProgress   DeploymentStatus = "IN_PROGRESS"
	DeploymentComplete     DeploymentStatus = "COMPLETE"
	DeploymentImpaired     DeploymentStatus = "IMPAIRED"
	DeploymentRollingBack  DeploymentStatus = "ROLLBACK_IN_PROGRESS"
	DeploymentRollbackDone DeploymentStatus = "ROLLBACK_COMPLETE"
	DeploymentCancelled    DeploymentStatus = "CANCELLED"
)
