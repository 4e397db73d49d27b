package awsrpc

import (
	"context"
	"net/http"
)

// Principal is the caller of a request.
type Principal struct {
	AccessKeyID string // "" for Anonymous
	Name        string // for logs and the audit log; may be ""
	Region      string // of the signature's scope; "" for Anonymous
	Anonymous   bool   // no credentials were required
	Identity    any    // what else the authenticator knows about the caller, for Authorize and handlers
}

// Authenticator authenticates the caller of a request before its body is read.
type Authenticator interface {
	// Authenticate reads the headers of a request, and returns its claimed principal
	// and the function that checks the claim against the body. Both fail with a fault
	// of kind fault.MissingAuthentication, fault.UnrecognizedClient,
	// fault.InvalidSignature or fault.AccessDenied.
	Authenticate(r *http.Request) (Principal, Proof, error)
}

// Proof checks a claim against the body of its request.
type Proof func(body []byte) error

// NoProof is a Proof that accepts every body.
func NoProof([]byte) error { return nil }

// Anyone is the Authenticator that accepts every request, as an Anonymous principal.
type Anyone struct{}

// Authenticate never fails.
func (Anyone) Authenticate(*http.Request) (Principal, Proof, error) {
	return Principal{Anonymous: true}, NoProof, nil
}

// Caller returns the principal of the request that ctx belongs to, or the zero
// Principal outside of one.
func Caller(ctx context.Context) Principal {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c.principal
	}
	return Principal{}
}
