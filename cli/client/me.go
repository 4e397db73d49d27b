package client

import (
	"context"
	"fmt"
)

// Me is who a server takes the caller for.
type Me struct {
	Local   bool   `json:"local"` // the server requires no credentials
	KeyID   string `json:"key_id,omitempty"`
	Name    string `json:"name"`
	Role    string `json:"role"`
	Scope   string `json:"scope,omitempty"`
	Region  string `json:"region"`
	Account string `json:"account"`
}

// Me asks the server who the caller is, whatever the role of its key. What answers but is no
// Muster server is an error.
func (c *Client) Me(ctx context.Context) (m Me, err error) {
	_, err = c.read(ctx, "/console/api/me", &m)
	if err == nil && m.Role == "" {
		err = fmt.Errorf("what answers at %s is no Muster server", c.Endpoint)
	}
	return m, err
}
