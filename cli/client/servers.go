package client

import "context"

// Servers are those that share one state.
type Servers struct {
	Level   int      `json:"level"` // feature level of the state
	Servers []Server `json:"servers"`
}

// Server is a server as it registered last.
type Server struct {
	Name    string `json:"name"` // unique: with several servers, host, address and id
	Address string `json:"address,omitempty"`
	Role    Role   `json:"role"`
	Release string `json:"release,omitempty"`
	Level   int    `json:"level"` // the highest feature level that it knows, or is held at
	// SilentSeconds is how long ago it registered, which it does every four leases.
	SilentSeconds float64 `json:"silent_seconds"`
	Holds         bool    `json:"holds,omitempty"`       // the feature level waits for it
	Unsupported   string  `json:"unsupported,omitempty"` // why it is not supported beside the owner; "": it is
}

// Role is what a server does for the state.
type Role string

// The roles of servers.
const (
	Owner   Role = "owner"   // it has the state, and answers
	Standby Role = "standby" // it forwards requests, and would take over
	Away    Role = "away"    // it has not registered for a while
)

// Servers returns the servers that share the state.
func (c *Client) Servers(ctx context.Context) (s Servers, err error) {
	_, err = c.read(ctx, "/admin/v1/servers", &s)
	return s, err
}
