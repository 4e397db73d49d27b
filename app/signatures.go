package app

import (
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
)

// signatures authenticates callers by a signature made with an access key.
type signatures struct {
	keys     *auth.Service
	verifier *sigv4.Verifier
}

// newSignatures returns what authenticates requests that are signed for a service.
func newSignatures(keys *auth.Service, service string) *signatures {
	return &signatures{keys: keys, verifier: sigv4.New(sigv4.Options{
		Service: service,
		Lookup: func(id string) (sigv4.Secret, bool) {
			secret, ok := keys.Secret(id)
			return sigv4.Secret{Key: secret}, ok
		},
	})}
}

// claim returns the claim of a request to be signed, and the caller whose key it names.
func (s *signatures) claim(r *http.Request) (*sigv4.Claim, auth.Caller, error) {
	claim, err := s.verifier.Claim(r, time.Now())
	if err != nil {
		return nil, auth.Caller{}, err
	}
	caller, err := s.keys.Caller(claim.Identity.AccessKeyID)
	return claim, caller, err
}

// prove checks a claim against the body of its request.
func (s *signatures) prove(claim *sigv4.Claim, body []byte) error {
	return s.used(claim.Identity.AccessKeyID, claim.Body(body))
}

// VerifyServer returns the caller who signed a game server's WebSocket URL.
func (s *signatures) VerifyServer(query url.Values, now time.Time, window time.Duration) (auth.Caller, error) {
	id, err := s.verifier.GameServer(query, now, window)
	if err != nil {
		return auth.Caller{}, err
	}
	caller, err := s.keys.Caller(id.AccessKeyID)
	return caller, s.used(id.AccessKeyID, err)
}

// used records the use of a key, if there was no error.
func (s *signatures) used(keyID string, err error) error {
	if err == nil {
		s.keys.Used(keyID)
	}
	return err
}
