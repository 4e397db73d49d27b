package app

import (
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/fault"
)

// signatures asks each caller for a signature made with an access key.
type signatures struct {
	keys     *auth.Service
	verifier *sigv4.Verifier
}

func newSignatures(keys *auth.Service) *signatures {
	return &signatures{keys: keys, verifier: sigv4.New(sigv4.Options{
		Service: "gamelift",
		Lookup: func(id string) (sigv4.Secret, bool) {
			secret, _, ok, err := keys.Secret(id)
			return sigv4.Secret{Key: secret}, ok && err == nil
		},
	})}
}

// Authenticate finds the key that signed a request.
func (s *signatures) Authenticate(r *http.Request, body []byte) (awsrpc.Principal, error) {
	id, err := s.verifier.Header(r, sigv4.HashPayload(body), time.Now())
	if err != nil {
		return awsrpc.Principal{}, err
	}
	return s.principal(id)
}

// principal is the caller behind a good signature.
func (s *signatures) principal(id sigv4.Identity) (awsrpc.Principal, error) {
	_, role, ok, err := s.keys.Secret(id.AccessKeyID)
	if err != nil {
		return awsrpc.Principal{}, err
	}
	if !ok {
		return awsrpc.Principal{}, fault.New(fault.UnrecognizedClient, "access key %s was deleted", id.AccessKeyID)
	}
	return awsrpc.Principal{AccessKeyID: id.AccessKeyID, Name: id.AccessKeyID, Role: string(role), Region: id.Region}, nil
}

// VerifyServer finds the role of the key that signed a game server's WebSocket URL.
func (s *signatures) VerifyServer(query url.Values, now time.Time, window time.Duration) (auth.Role, error) {
	id, err := s.verifier.GameServer(query, now, window)
	if err != nil {
		return "", err
	}
	p, err := s.principal(id)
	return auth.Role(p.Role), err
}
