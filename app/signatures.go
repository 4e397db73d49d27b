package app

import (
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
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
			secret, ok := keys.Secret(id)
			return sigv4.Secret{Key: secret}, ok
		},
	})}
}

// Authenticate finds the key that signed a request.
func (s *signatures) Authenticate(r *http.Request, body []byte) (awsrpc.Principal, error) {
	id, err := s.verifier.Header(r, sigv4.HashPayload(body), time.Now())
	if err != nil {
		return awsrpc.Principal{}, err
	}
	caller, err := s.keys.Caller(id.AccessKeyID)
	if err != nil {
		return awsrpc.Principal{}, err
	}
	return awsrpc.Principal{
		AccessKeyID: caller.KeyID, Name: caller.Actor(), Role: string(caller.Role), Region: id.Region, Identity: caller,
	}, nil
}

// VerifyServer returns the caller who signed a game server's WebSocket URL.
func (s *signatures) VerifyServer(query url.Values, now time.Time, window time.Duration) (auth.Caller, error) {
	id, err := s.verifier.GameServer(query, now, window)
	if err != nil {
		return auth.Caller{}, err
	}
	return s.keys.Caller(id.AccessKeyID)
}
