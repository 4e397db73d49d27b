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

// Keys lists and changes access keys.
type Keys struct{ client *Client }

// Keys returns the calls about access keys.
func (c *Client) Keys() Keys { return Keys{c} }

// List returns all access keys.
func (k Keys) List(ctx context.Context) ([]Key, error) {
	var out struct{ Keys []Key }
	_, err := k.client.read(ctx, keysPath, &out)
	return out.Keys, err
}

// Create creates an access key.
func (k Keys) Create(ctx context.Context, spec KeySpec) (key Key, err error) {
	return key, k.client.change(ctx, http.MethodPost, keysPath, spec, &key)
}

// Rotate creates a key that replaces another.
func (k Keys) Rotate(ctx context.Context, id string, r KeyRotation) (key Key, err error) {
	return key, k.client.change(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(id)+"/rotate", r, &key)
}

// Disable disables a key: the server refuses it until Enable.
func (k Keys) Disable(ctx context.Context, id string) (key Key, err error) {
	return key, k.client.change(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(id)+"/disable", nil, &key)
}

// Enable enables a disabled key.
func (k Keys) Enable(ctx context.Context, id string) (key Key, err error) {
	return key, k.client.change(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(id)+"/enable", nil, &key)
}

// Delete removes a key.
func (k Keys) Delete(ctx context.Context, id string) error {
	return k.client.change(ctx, http.MethodDelete, keysPath+"/"+url.PathEscape(id), nil, nil)
}
