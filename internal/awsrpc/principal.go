package awsrpc

import (
	"context"
	"net/http"
)

// Principal is who calls.
type Principal struct {
	AccessKeyID string // "" for Anonymous
	Name        string // for logs and the audit; may be ""
	Role        string // meaning is the authenticator's
	Region      string // of the signature's scope; "" for Anonymous
	Anonymous   bool   // no credentials were asked for
	Identity    any    // what else the authenticator knows of the caller, for Authorize and handlers
}

// Authenticator finds out who sends a request, before its body is read.
type Authenticator interface {
	// Authenticate reads the headers of a request, and returns who claims to send it
	// and how to prove that. It refuses with a fault of kind
	// fault.MissingAuthentication, fault.UnrecognizedClient, fault.InvalidSignature
	// or fault.AccessDenied, and so does the proof.
	Authenticate(r *http.Request) (Principal, Proof, error)
}

// Proof checks a claim against the body of its request.
type Proof func(body []byte) error

// NoProof takes every body.
func NoProof([]byte) error { return nil }

// Anyone is the Authenticator that lets everybody in, as an Anonymous principal.
type Anyone struct{}

// Authenticate never refuses.
func (Anyone) Authenticate(*http.Request) (Principal, Proof, error) {
	return Principal{Anonymous: true}, NoProof, nil
}

// Caller gives the principal of the request that ctx belongs to; the zero
// Principal outside of one.
func Caller(ctx context.Context) Principal {
	if c := callFrom(ctx); c != nil {
		return c.principal
	}
	return Principal{}
}

// RequestID gives the id of the request that ctx belongs to, as the caller sees
// it in x-amzn-RequestId; "" outside of one.
func RequestID(ctx context.Context) string {
	if c := callFrom(ctx); c != nil {
		return c.id
	}
	return ""
}
