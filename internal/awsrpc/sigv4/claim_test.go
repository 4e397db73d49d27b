package sigv4

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/musterhq/muster/internal/fault"
)

// Everything that the headers allow to check is checked before the body arrives.
func TestClaim(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	v := New(Options{Service: "gamelift", Lookup: func(id string) (Secret, bool) { return Secret{Key: "secret"}, id == "AKID" }})
	const body = `{"FleetId":"fleet-1"}`
	for _, c := range []struct {
		name        string
		id, secret  string
		announce    bool // send the body's hash in a signed header
		late        time.Duration
		came        string // the body that arrives
		early, body fault.Kind
	}{
		{"good", "AKID", "secret", false, 0, body, "", ""},
		{"good, announced", "AKID", "secret", true, 0, body, "", ""},
		{"unknown key", "AKIDOTHER", "secret", false, 0, body, fault.UnrecognizedClient, ""},
		{"late", "AKID", "secret", false, 6 * time.Minute, body, fault.InvalidSignature, ""},
		{"wrong secret", "AKID", "wrong", false, 0, body, "", fault.InvalidSignature},
		{"wrong secret, announced", "AKID", "wrong", true, 0, body, fault.InvalidSignature, ""},
		{"other body", "AKID", "secret", false, 0, "{}", "", fault.InvalidSignature},
		{"other body, announced", "AKID", "secret", true, 0, "{}", "", fault.InvalidSignature},
	} {
		r, err := http.NewRequest("POST", "http://muster.test/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if c.announce {
			r.Header.Set("X-Amz-Content-Sha256", HashPayload([]byte(body)))
		}
		creds := aws.Credentials{AccessKeyID: c.id, SecretAccessKey: c.secret}
		if err := v4.NewSigner().SignHTTP(t.Context(), creds, r, HashPayload([]byte(body)), "gamelift", "us-east-1", now); err != nil {
			t.Fatal(err)
		}
		r.Host, r.Body = r.URL.Host, nil // no body yet
		claim, err := v.Claim(r, now.Add(c.late))
		if !same(err, c.early) {
			t.Errorf("%s: the headers give %v, want %q", c.name, err, c.early)
		}
		if err != nil {
			continue
		}
		if claim.Identity.AccessKeyID != c.id {
			t.Errorf("%s: the claim is %s's", c.name, claim.Identity.AccessKeyID)
		}
		if err := claim.Body([]byte(c.came)); !same(err, c.body) {
			t.Errorf("%s: the body gives %v, want %q", c.name, err, c.body)
		}
	}
}

func same(err error, kind fault.Kind) bool {
	return err == nil && kind == "" || kind != "" && fault.Is(err, kind)
}
