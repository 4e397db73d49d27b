package app

import (
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
)

// signatures authenticates callers by a signature made with an access key.
type signatures struct {
	keys     *auth.Service
	verifier *sigv4.Verifier
}

func newSignatures(keys *auth.Service) *signatures {
	return &signatures{keys: keys, verifier: sigv4.New(sigv4.Options{
		Service: "gamelift",
		Lookup: func(id string) (sigv4.Secret, bool) {
			secret, ok := keys.Secret(id)
			return sigv4.Secret{Key: secret}, ok
		},
	})}
}

// Authenticate returns the caller whose key claims to have signed a request.
func (s *signatures) Authenticate(r *http.Request) (awsrpc.Principal, awsrpc.Proof, error) {
	claim, err := s.verifier.Claim(r, time.Now())
	if err != nil {
		return awsrpc.Principal{}, nil, err
	}
	caller, err := s.keys.Caller(claim.Identity.AccessKeyID)
	if err != nil {
		return awsrpc.Principal{}, nil, err
	}
	return awsrpc.Principal{
		AccessKeyID: caller.KeyID, Name: caller.Actor(), Region: claim.Identity.Region, Identity: caller,
	}, func(body []byte) error { return s.used(caller, claim.Body(body)) }, nil
}

// VerifyServer returns the caller who signed a game server's WebSocket URL.
func (s *signatures) VerifyServer(query url.Values, now time.Time, window time.Duration) (auth.Caller, error) {
	id, err := s.verifier.GameServer(query, now, window)
	if err != nil {
		return auth.Caller{}, err
	}
	caller, err := s.keys.Caller(id.AccessKeyID)
	return caller, s.used(caller, err)
}

// used records the use of the caller's key, if there was no error.
func (s *signatures) used(caller auth.Caller, err error) error {
	if err == nil {
		s.keys.Used(caller.KeyID)
	}
	return err
}
