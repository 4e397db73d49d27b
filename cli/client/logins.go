package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Login is a login to the console as the server returns it (admin.Login).
type Login struct {
	ID       string    `json:"id"`
	KeyID    string    `json:"key_id"` // of the access key, or of the person
	Name     string    `json:"name"`
	Issuer   string    `json:"issuer,omitempty"` // the identity provider of a person
	Role     string    `json:"role"`
	Scope    string    `json:"scope,omitempty"`
	From     string    `json:"from,omitempty"` // address of the browser when the login began
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"`
	LastSeen time.Time `json:"last_seen"`
}

const loginsPath = "/admin/v1/logins"

// Logins lists and ends logins to the console.
type Logins struct{ client *Client }

// Logins returns the calls about logins to the console.
func (c *Client) Logins() Logins { return Logins{c} }

// List returns who is logged in to the console, oldest first.
func (l Logins) List(ctx context.Context) ([]Login, error) {
	var out struct{ Logins []Login }
	_, err := l.client.read(ctx, loginsPath, &out)
	return out.Logins, err
}

// End ends the login with an id, or all logins of the access key or person with an id.
// It returns how many those were.
func (l Logins) End(ctx context.Context, id string) (n int, err error) {
	var out struct{ Ended int }
	err = l.client.change(ctx, http.MethodDelete, loginsPath+"/"+url.PathEscape(id), nil, &out)
	return out.Ended, err
}
