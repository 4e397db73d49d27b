package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
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

// KeyScope is what a key may be used for; see auth.Scope.
type KeyScope struct {
	Resources []string          `json:"resources,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// String returns the scope as people write it: patterns and KEY=VALUE, separated
// by spaces.
func (s KeyScope) String() string {
	parts := slices.Clone(s.Resources)
	for _, key := range slices.Sorted(maps.Keys(s.Tags)) {
		parts = append(parts, key+"="+s.Tags[key])
	}
	return strings.Join(parts, " ")
}

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
	return k, c.administer(ctx, http.MethodPost, keysPath, spec, &k)
}

// RotateKey creates a key that replaces another.
func (c *Client) RotateKey(ctx context.Context, id string, r KeyRotation) (k Key, err error) {
	return k, c.administer(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(id)+"/rotate", r, &k)
}

// DisableKey disables a key: the server refuses it until EnableKey.
func (c *Client) DisableKey(ctx context.Context, id string) (k Key, err error) {
	return k, c.administer(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(id)+"/disable", nil, &k)
}

// EnableKey enables a disabled key.
func (c *Client) EnableKey(ctx context.Context, id string) (k Key, err error) {
	return k, c.administer(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(id)+"/enable", nil, &k)
}

// DeleteKey removes a key.
func (c *Client) DeleteKey(ctx context.Context, id string) error {
	return c.administer(ctx, http.MethodDelete, keysPath+"/"+url.PathEscape(id), nil, nil)
}

// administer sends a request to the door for administrators; in and out may be nil.
func (c *Client) administer(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("encode request to %s: %w", path, err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.Endpoint, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.do(r, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("decode answer of %s: %w", path, err)
	}
	return nil
}
