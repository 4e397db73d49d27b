package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/auth"
)

// Key is an access key as the server returns it.
type Key struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Role     string    `json:"role"`
	Scope    KeyScope  `json:"scope,omitzero"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"`
	Status   string    `json:"status"` // ENABLED, DISABLED or EXPIRED
	LastUsed time.Time `json:"last_used,omitzero"`
	Secret   string    `json:"secret,omitempty"` // only of a key that was just created
}

// KeyScope is what a key may be used for.
type KeyScope = auth.Scope

// KeySpec describes a new key.
type KeySpec struct {
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	Scope   KeyScope  `json:"scope,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
}

// KeyRotation says when a new key and the key that it replaces expire.
type KeyRotation struct {
	Expires  time.Time `json:"expires,omitzero"`
	OldUntil time.Time `json:"old_until,omitzero"`
}

const keysPath = "/admin/v1/keys"

// Keys returns all access keys.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	var out struct{ Keys []Key }
	_, err := c.read(ctx, keysPath, &out)
	return out.Keys, err
}

// CreateKey creates an access key.
func (c *Client) CreateKey(ctx context.Context, spec KeySpec) (k Key, err error) {
	return k, c.change(ctx, http.MethodPost, keysPath, spec, &k)
}

// RotateKey creates a key that replaces another.
func (c *Client) RotateKey(ctx context.Context, id string, r KeyRotation) (k Key, err error) {
	return k, c.change(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(id)+"/rotate", r, &k)
}

// DisableKey disables a key: the server refuses it until EnableKey.
func (c *Client) DisableKey(ctx context.Context, id string) (k Key, err error) {
	return k, c.change(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(id)+"/disable", nil, &k)
}

// EnableKey enables a disabled key.
func (c *Client) EnableKey(ctx context.Context, id string) (k Key, err error) {
	return k, c.change(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(id)+"/enable", nil, &k)
}

// DeleteKey removes a key.
func (c *Client) DeleteKey(ctx context.Context, id string) error {
	return c.change(ctx, http.MethodDelete, keysPath+"/"+url.PathEscape(id), nil, nil)
}
