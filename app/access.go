package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
)

// callers authenticates callers and checks what they may do.
type callers struct {
	anyone bool
	signed *signatures
	limits *limits
	master *auth.Master
	opts   *Options
}

// authenticate accepts any caller as a local admin with Options.AcceptAny, and otherwise
// requires a signature or the cookie of a login to the console. Wrong ones are recorded in
// the audit log and counted.
func (c *callers) authenticate(r *http.Request, action auth.Action) (awsrpc.Principal, awsrpc.Proof, error) {
	if name := awsrpc.ClaimedRegion(r); name != "" && !c.opts.isRegion(name) {
		return awsrpc.Principal{}, nil, c.failed(r, action, fault.New(fault.InvalidSignature, "Credential: %s", c.opts.noRegion(name)))
	}
	if c.anyone {
		local := auth.Anybody()
		return awsrpc.Principal{Name: local.Name, Anonymous: true, Identity: local}, awsrpc.NoProof, nil
	}
	token, err := c.master.FromCookie(r)
	if err != nil {
		return awsrpc.Principal{}, nil, c.failed(r, action, err)
	}
	if token != "" {
		return c.loggedIn(r, token, action)
	}
	claim, caller, err := c.signed.claim(r)
	if err != nil {
		return awsrpc.Principal{}, nil, c.failed(r, action, err)
	}
	p := awsrpc.Principal{AccessKeyID: caller.KeyID, Name: caller.Actor(), Region: claim.Identity.Region, Identity: caller}
	return p, func(body []byte) error {
		if err := c.signed.prove(claim, body); err != nil {
			return c.failed(r, action, err)
		}
		return nil
	}, nil
}

// loggedIn returns the principal of a login to the console, as authenticate does.
func (c *callers) loggedIn(r *http.Request, token string, action auth.Action) (awsrpc.Principal, awsrpc.Proof, error) {
	l, caller, err := c.signed.keys.Logins.Of(token)
	if err != nil {
		return awsrpc.Principal{}, nil, c.failed(r, action, err)
	}
	c.signed.keys.Logins.Used(&l)
	return awsrpc.Principal{AccessKeyID: caller.KeyID, Name: caller.Actor(), Region: c.opts.Region, Identity: caller}, awsrpc.NoProof, nil
}

// still returns a fault if the sender of a request, which lasts, may not send requests any
// more: its login to the console was ended, or its key deleted or disabled.
func (c *callers) still(r *http.Request, caller auth.Caller) error {
	if caller.Local {
		return nil
	}
	token, err := c.master.FromCookie(r)
	switch {
	case err != nil:
	case token != "":
		_, _, err = c.signed.keys.Logins.Of(token)
	default:
		_, err = c.signed.keys.Caller(caller.KeyID)
	}
	return err
}

// failed records that the sender of a request was not authenticated, and returns the error
// to answer with.
func (c *callers) failed(r *http.Request, action auth.Action, err error) error {
	audit.From(r.Context()).SetRefused(action, err)
	return c.limits.Failed(r, err)
}

// apiCallers are the callers of the API, whose requests name their action in the
// headers.
type apiCallers struct{ *callers }

// Authenticate records the caller and the action in the audit log.
func (c apiCallers) Authenticate(r *http.Request) (awsrpc.Principal, awsrpc.Proof, error) {
	action := operation(r)
	p, proof, err := c.authenticate(r, action)
	if err == nil {
		audit.From(r.Context()).SetCaller(callerOf(p), action)
	}
	return p, proof, err
}

// allow returns the sender of a request without a body, or an error if it is not
// allowed the action on the resources.
func (c *callers) allow(r *http.Request, action auth.Action, resources ...string) (auth.Caller, error) {
	return c.allowBody(r, nil, action, resources...)
}

// allowBody is like allow, for a request whose body has been read.
func (c *callers) allowBody(r *http.Request, body []byte, action auth.Action, resources ...string) (auth.Caller, error) {
	caller, proof, err := c.claim(r, action, resources...)
	if err == nil {
		err = proof(body)
	}
	if err != nil {
		return auth.Caller{}, err
	}
	door.Known(r)
	return caller, c.limits.Key(caller)
}

// identify returns the sender of a request whose body has been read, whatever it may do.
func (c *callers) identify(r *http.Request, body []byte, action auth.Action) (auth.Caller, error) {
	p, proof, err := c.authenticate(r, action)
	if err == nil {
		audit.From(r.Context()).SetCaller(callerOf(p), action)
		err = proof(body)
	}
	if err != nil {
		return auth.Caller{}, err
	}
	door.Known(r)
	return callerOf(p), c.limits.Key(callerOf(p))
}

// administer is like allowBody, for a request below /admin/.
func (c *callers) administer(r *http.Request, body []byte, action auth.Action, resources ...string) (auth.Caller, error) {
	caller, err := c.allowBody(r, body, action, resources...)
	if err == nil {
		err = c.limits.administer(caller)
	}
	return caller, err
}

// claim returns the claimed sender of a request, if it is allowed the action on the
// resources, and a function that proves the claim once the body has been read.
func (c *callers) claim(r *http.Request, action auth.Action, resources ...string) (auth.Caller, awsrpc.Proof, error) {
	request := audit.From(r.Context())
	p, proof, err := c.authenticate(r, action)
	if err != nil {
		return auth.Caller{}, nil, err
	}
	caller := callerOf(p)
	request.SetCaller(caller, action, resources...)
	if err := caller.May(action, resources...); err != nil {
		request.SetRefused(action, err)
		return caller, nil, err
	}
	return caller, proof, nil
}

// allowOf is like allow, for a resource that must be looked up. It does so only once the
// sender is authenticated, and its role allows the action.
func (c *callers) allowOf(r *http.Request, action auth.Action, look func(context.Context) (resource string, err error)) (auth.Caller, error) {
	return c.allowBodyOf(r, nil, action, func(ctx context.Context) ([]string, error) {
		resource, err := look(ctx)
		return []string{resource}, err
	})
}

// allowBodyOf is like allowOf, for a request whose body has been read, and any number of
// resources.
func (c *callers) allowBodyOf(r *http.Request, body []byte, action auth.Action, look func(context.Context) (resources []string, err error)) (auth.Caller, error) {
	request := audit.From(r.Context())
	p, proof, err := c.authenticate(r, action)
	caller := callerOf(p)
	if err == nil {
		request.SetCaller(caller, action)
		err = caller.Has(action)
	}
	if err == nil {
		err = proof(body)
	}
	var resources []string
	if err == nil {
		door.Known(r)
		if err := c.limits.Key(caller); err != nil {
			return auth.Caller{}, err
		}
		if resources, err = look(r.Context()); err != nil {
			return auth.Caller{}, err
		}
		request.SetCaller(caller, action, resources...)
		err = caller.May(action, resources...)
	}
	if err != nil {
		request.SetRefused(action, err)
		return auth.Caller{}, err
	}
	return caller, nil
}

// claimOf is like claim, for requests about players: the proof counts the request, too.
func (c *callers) claimOf(r *http.Request, action auth.Action) (auth.Caller, func(body []byte) error, error) {
	caller, proof, err := c.claim(r, action)
	if err != nil {
		return caller, nil, err
	}
	return caller, func(body []byte) error {
		if err := proof(body); err != nil {
			return err
		}
		return c.limits.Key(caller)
	}, nil
}

// mayCall checks the role of a caller of the API. Its scope is checked once the named
// resources have been read (package api).
func mayCall(p awsrpc.Principal, operation string) error {
	return callerOf(p).Has(auth.Action(operation))
}

// callerOf returns the caller behind a principal.
func callerOf(p awsrpc.Principal) auth.Caller {
	caller, _ := p.Identity.(auth.Caller) // the zero Caller may do nothing
	return caller
}

// firstKeyFile is the file with the first key, in the data directory.
const firstKeyFile = "admin-credentials"

// firstKey creates an admin key in the home region if callers need one and there is none, and writes it
// to the data directory for the operator.
func (d *domain) firstKey(ctx context.Context, o *Options) error {
	if o.AcceptAny || !o.isHome() {
		return nil
	}
	for range d.keys.Keys(d.store.View()) {
		return nil
	}
	path, kept := o.file(firstKeyFile), false
	c, err := d.keys.CreateKept(ctx, auth.Spec{Name: "first", Role: auth.Admin}, func(c auth.Credentials) error {
		err := writeSecret(path, credentialsFile(c, o.Region))
		kept = err == nil
		return err
	})
	if err != nil && kept {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("make the first key: %w", err)
	}
	o.Logger.Info("made the first key, of role admin", "access_key_id", c.AccessKeyID, "file", path)
	return nil
}

// FirstKey returns the contents of the file with the first key, if the server with a data directory
// made that key.
func FirstKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, firstKeyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: --data is not the server's data directory, the file was removed, or another server of the same state made the first key; ask on each server, or make another key with 'muster admin keys create --offline'", path)
	}
	return text, err
}

// credentialsFile returns the file that AWS's tools read (AWS_SHARED_CREDENTIALS_FILE).
func credentialsFile(c auth.Credentials, region string) string {
	return fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\nregion = %s\n",
		c.AccessKeyID, c.SecretAccessKey, region)
}
