package admin

import (
	"net/http"
	"time"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
)

// Login is a login to the console as shown to administrators.
type Login struct {
	ID       string    `json:"id"`
	KeyID    string    `json:"key_id"`           // of the access key, or of the person
	Name     string    `json:"name"`             // of the key or person
	Issuer   string    `json:"issuer,omitempty"` // the identity provider of a person
	Role     auth.Role `json:"role"`
	Scope    string    `json:"scope,omitempty"`
	From     string    `json:"from,omitempty"` // address of the browser when the login began
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"`
	LastSeen time.Time `json:"last_seen"`
}

func (d *Door) loginRoutes() {
	const logins = prefix + "logins"
	d.Handle("GET "+logins, auth.ReadKeys, d.listLogins)
	d.Handle("DELETE "+logins+"/{id}", auth.EndLogins, d.endLogins)
}

func (d *Door) listLogins(*http.Request, []byte) (any, error) {
	all, view := []Login{}, d.opts.Store.View()
	for l, c := range d.opts.Keys.Logins.All(view) {
		out := Login{
			ID: l.Name(), KeyID: l.KeyID, Name: c.Name, Role: c.Role, From: l.From, Created: l.Created, Expires: l.Expires, LastSeen: l.Created,
		}
		if c.Scoped() {
			out.Scope = c.Scope.String()
		}
		if l.Person != nil {
			out.Issuer = l.Person.Issuer
		}
		if last := d.opts.Keys.LastUse(view, l.ID); last.After(l.Created) {
			out.LastSeen = last
		}
		all = append(all, out)
	}
	return map[string]any{"logins": all}, nil
}

func (d *Door) endLogins(r *http.Request, _ []byte) (any, error) {
	id := r.PathValue("id")
	audit.From(r.Context()).AddResources(func() []string { return d.whose(id) })
	n, err := d.opts.Keys.Logins.EndOf.Do(r.Context(), id)
	return map[string]int{"ended": n}, err
}

// whose returns the id and name of the key or person that an id of a login, key or person is
// of; nothing if it has no login.
func (d *Door) whose(id string) []string {
	for l, c := range d.opts.Keys.Logins.All(d.opts.Store.View()) {
		if l.Name() == id || l.KeyID == id {
			return []string{l.KeyID, c.Name}
		}
	}
	return nil
}
