package admin

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
)

// Key is an access key as shown to administrators.
type Key struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Role     auth.Role  `json:"role"`
	Scope    auth.Scope `json:"scope,omitzero"`
	Created  time.Time  `json:"created"`
	Expires  time.Time  `json:"expires,omitzero"`
	Status   string     `json:"status"` // ENABLED, DISABLED or EXPIRED
	LastUsed time.Time  `json:"last_used,omitzero"`
}

// NewKey is a key with its secret, which is returned only once.
type NewKey struct {
	Key
	Secret string `json:"secret"`
}

// rotateInput is the body of a request to rotate a key.
type rotateInput struct {
	Expires  time.Time `json:"expires"`   // of the new key
	OldUntil time.Time `json:"old_until"` // when the old one ends
}

func (d *Door) keyRoutes() {
	const keys, key = prefix + "keys", prefix + "keys/{id}"
	d.Handle("GET "+keys, auth.ReadKeys, d.listKeys)
	d.Handle("POST "+keys, auth.ManageKeys, d.createKey)
	d.Handle("POST "+key+"/rotate", auth.ManageKeys, d.rotateKey)
	d.Handle("POST "+key+"/disable", auth.ManageKeys, d.setEnabled(false))
	d.Handle("POST "+key+"/enable", auth.ManageKeys, d.setEnabled(true))
	d.Handle("DELETE "+key, auth.ManageKeys, d.deleteKey)
}

// shown returns a key as shown to administrators.
func (d *Door) shown(k *auth.Key) Key {
	out := Key{
		ID: k.ID, Name: k.Name, Role: k.Role, Scope: k.Scope, Created: k.Created, Expires: k.Expires,
		Status: "ENABLED", LastUsed: d.opts.Keys.LastUse(d.opts.Store.View(), k.ID),
	}
	switch {
	case k.Disabled:
		out.Status = "DISABLED"
	case k.Expired(time.Now()):
		out.Status = "EXPIRED"
	}
	return out
}

func (d *Door) listKeys(*http.Request, []byte) (any, error) {
	all := []Key{}
	for k := range d.opts.Keys.Keys(d.opts.Store.View()) {
		all = append(all, d.shown(k))
	}
	return map[string]any{"keys": all}, nil
}

func (d *Door) createKey(r *http.Request, body []byte) (any, error) {
	in, err := decode[auth.Spec](body)
	if err != nil {
		return nil, err
	}
	return d.made(d.opts.Keys.Create(r.Context(), in))
}

func (d *Door) rotateKey(r *http.Request, body []byte) (any, error) {
	in, err := decode[rotateInput](body)
	if err != nil {
		return nil, err
	}
	return d.made(d.opts.Keys.Rotate(r.Context(), auth.Rotation{ID: r.PathValue("id"), Expires: in.Expires, OldUntil: in.OldUntil}))
}

// made returns the response for a new key: the key with its secret.
func (d *Door) made(c auth.Credentials, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	k, err := d.opts.Keys.Key(d.opts.Store.View(), c.AccessKeyID)
	if err != nil {
		return nil, err
	}
	return NewKey{d.shown(k), c.SecretAccessKey}, nil
}

func (d *Door) setEnabled(enabled bool) Handler {
	return func(r *http.Request, _ []byte) (any, error) {
		k, err := d.opts.Keys.SetEnabled(r.Context(), r.PathValue("id"), enabled)
		if err != nil {
			return nil, err
		}
		return d.shown(k), nil
	}
}

func (d *Door) deleteKey(r *http.Request, _ []byte) (any, error) {
	return struct{}{}, d.opts.Keys.Delete.Do(r.Context(), r.PathValue("id"))
}

// decode decodes a body; an empty one yields the zero value. Errors: InvalidRequest.
func decode[T any](body []byte) (in T, err error) {
	if len(body) == 0 {
		return in, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, fault.Invalid("body: %s", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return in, fault.Invalid("body: has more than one JSON value")
	}
	return in, nil
}
