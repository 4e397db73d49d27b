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

// Authenticator finds out who sent a request. The body has been read in full.
// It refuses with a fault of kind fault.MissingAuthentication,
// fault.UnrecognizedClient, fault.InvalidSignature or fault.AccessDenied.
type Authenticator interface {
	Authenticate(r *http.Request, body []byte) (Principal, error)
}

// Anyone is the Authenticator that lets everybody in, as an Anonymous principal.
type Anyone struct{}

// Authenticate never refuses.
func (Anyone) Authenticate(*http.Request, []byte) (Principal, error) {
	return Principal{Anonymous: true}, nil
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
