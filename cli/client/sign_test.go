package client

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/awsrpc/sigv4"
)

// TestSign checks our signatures with the verifier, which is tested against AWS's SDKs.
func TestSign(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	secrets := map[string]sigv4.Secret{"KEY": {Key: "secret"}, "SHORT": {Key: "secret", SessionToken: "token"}}
	verifier := sigv4.New(sigv4.Options{Service: "gamelift", Lookup: func(id string) (sigv4.Secret, bool) {
		s, ok := secrets[id]
		return s, ok
	}})
	for name, c := range map[string]struct {
		credentials Credentials
		target      string
		body, sent  string
		good        bool
	}{
		"call":          {Credentials{AccessKeyID: "KEY", SecretAccessKey: "secret"}, "/", `{"a":1}`, `{"a":1}`, true},
		"query":         {Credentials{AccessKeyID: "KEY", SecretAccessKey: "secret"}, "/console/api/events?session=arn%3Aaws%3A%2Fa+b~&after=3", "", "", true},
		"escaped path":  {Credentials{AccessKeyID: "KEY", SecretAccessKey: "secret"}, "/console/api/tickets/a%20b%2Fc/explain", "", "", true},
		"session token": {Credentials{AccessKeyID: "SHORT", SecretAccessKey: "secret", SessionToken: "token"}, "/", "{}", "{}", true},
		"wrong token":   {Credentials{AccessKeyID: "SHORT", SecretAccessKey: "secret", SessionToken: "other"}, "/", "{}", "{}", false},
		"wrong secret":  {Credentials{AccessKeyID: "KEY", SecretAccessKey: "other"}, "/", "{}", "{}", false},
		"changed body":  {Credentials{AccessKeyID: "KEY", SecretAccessKey: "secret"}, "/", `{"a":1}`, `{"a":2}`, false},
	} {
		r := httptest.NewRequest("POST", "http://muster.example:9080"+c.target, strings.NewReader(c.sent))
		r.Header.Set("X-Amz-Target", "GameLift.ListFleets")
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
		caller := &Client{Credentials: c.credentials, Region: "eu-west-1"}
		if err := caller.sign(r, []byte(c.body), now); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		id, err := verifier.Header(r, sigv4.HashPayload([]byte(c.sent)), now)
		if (err == nil) != c.good {
			t.Errorf("%s: %v, want good %v", name, err, c.good)
		}
		if c.good && (id.AccessKeyID != c.credentials.AccessKeyID || id.Region != "eu-west-1") {
			t.Errorf("%s: identity is %+v", name, id)
		}
	}
}
