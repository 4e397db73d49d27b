package app

import (
	"context"
	"net/http"
	"time"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/hosts"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
)

// remoteAccess issues the credentials for shells on instances, and checks them. A nil
// one is not enabled.
type remoteAccess struct {
	d      *domain
	home   arn.Home
	anyone bool                           // callers need no keys
	offers func(*instance.Instance) error // whether the instance's host runs shells
}

// remoteAccess returns the remote access to a domain, or nil if it is not enabled.
func (o *Options) remoteAccess(d *domain) *remoteAccess {
	if !o.RemoteAccess {
		return nil
	}
	return &remoteAccess{d: d, home: o.home(), anyone: o.AcceptAny}
}

// options returns how hosts serves shells, or nil if they are not enabled.
func (a *remoteAccess) options() *hosts.ShellOptions {
	if a == nil {
		return nil
	}
	return &hosts.ShellOptions{Authenticate: a.authenticate}
}

// Credentials implements api.RemoteAccess.
func (a *remoteAccess) Credentials(_ context.Context, caller auth.Caller, i *instance.Instance, c *compute.Compute) (auth.Temporary, error) {
	if err := a.offers(i); err != nil {
		return auth.Temporary{}, err
	}
	return a.d.master.IssueAccess(auth.AccessGrant{
		KeyID: caller.KeyID, FleetID: c.FleetID, ComputeName: c.Name, Registered: c.Registered, Expires: time.Now().Add(auth.AccessLife),
	}), nil
}

// authenticate returns the sender of a request that is signed with such credentials.
func (a *remoteAccess) authenticate(r *http.Request) (hosts.ShellVisit, error) {
	var grant auth.AccessGrant
	id, err := a.verify(r, &grant)
	if err == nil && time.Now().After(grant.Expires) {
		err = fault.New(fault.UnrecognizedClient, "the credentials %s for remote access expired at %s; ask GetComputeAccess for new ones", id, grant.Expires.UTC().Format(time.RFC3339))
	}
	var caller auth.Caller
	if err == nil {
		caller, err = a.caller(grant.KeyID)
	}
	if err != nil {
		return hosts.ShellVisit{}, a.d.callers.failed(r, auth.OpenShell, err)
	}
	door.Known(r)
	request := audit.From(r.Context())
	request.SetCaller(caller, auth.OpenShell, a.home.Of("fleet", grant.FleetID), grant.ComputeName)
	if err := a.still(grant); err != nil {
		request.SetRefused(auth.OpenShell, err)
		return hosts.ShellVisit{}, err
	}
	if err := a.d.callers.limits.Key(caller); err != nil {
		return hosts.ShellVisit{}, err
	}
	return hosts.ShellVisit{
		Caller: caller, FleetID: grant.FleetID, ComputeName: grant.ComputeName, Still: func() error { return a.still(grant) },
	}, nil
}

// verify checks a request's signature, and stores the grant of the credentials that made
// it. The secret depends on the compute that the session token names.
func (a *remoteAccess) verify(r *http.Request, grant *auth.AccessGrant) (id string, err error) {
	token := r.Header.Get("X-Amz-Security-Token")
	verifier := sigv4.New(sigv4.Options{Service: "gamelift", Lookup: func(id string) (sigv4.Secret, bool) {
		g, ok := auth.ParseAccess(id, token)
		c := a.d.computes.Get(a.d.store.View(), g.FleetID, g.ComputeName)
		if c != nil {
			g.Registered = c.Registered
		}
		*grant = g
		return sigv4.Secret{Key: a.d.master.AccessSecret(id, token, g.Registered), SessionToken: token}, ok && c != nil
	}})
	who, err := verifier.Header(r, sigv4.HashPayload(nil), time.Now())
	if fault.Is(err, fault.UnrecognizedClient) {
		err = fault.New(fault.UnrecognizedClient, "these are no credentials for remote access to a compute that exists; ask GetComputeAccess for some")
	}
	return who.AccessKeyID, err
}

// caller returns the caller who asked for credentials.
func (a *remoteAccess) caller(keyID string) (auth.Caller, error) {
	if keyID == "" && a.anyone {
		return auth.Anybody(), nil
	}
	return a.d.keys.Caller(keyID)
}

// still returns an error unless the caller may have a shell on the compute now: the key is
// valid, its role and scope allow it, and the compute is the one that it was.
func (a *remoteAccess) still(g auth.AccessGrant) error {
	caller, err := a.caller(g.KeyID)
	if err != nil {
		return err
	}
	if err := caller.May(auth.OpenShell, a.home.Of("fleet", g.FleetID)); err != nil {
		return err
	}
	c := a.d.computes.Get(a.d.store.View(), g.FleetID, g.ComputeName)
	if c == nil || !c.Registered.Equal(g.Registered) {
		return fault.Missing("compute %s has ended", g.ComputeName)
	}
	if place := a.home.Of("location", c.Location); !caller.ReachesBeside(place) {
		return caller.May(auth.OpenShell, place)
	}
	return nil
}
