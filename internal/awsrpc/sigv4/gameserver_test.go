package sigv4_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/fault"
)

// gameServerURL returns a query that AWS's Go server SDK 5.6.0 was observed to send.
func gameServerURL() url.Values {
	return url.Values{
		"pID": {"proc-1"}, "sdkVersion": {"5.6.0"}, "sdkLanguage": {"Go"}, "IdempotencyToken": {"x"},
		"ComputeId": {"compute-1"}, "FleetId": {"fleet-2222bbbb-33cc-44dd-55ee-6666ffff77aa"},
		"Authorization": {"SigV4"}, "X-Amz-Algorithm": {"AWS4-HMAC-SHA256"},
		"X-Amz-Credential": {"AKID/20261121/us-west-2/gamelift/aws4_request"}, "X-Amz-Date": {"20261121T013911Z"},
		"X-Amz-Signature": {"7b530d04adf912388211a6eb84d107254fa7a52f9303aca7be8df5585e639886"},
	}
}

func TestGameServer(t *testing.T) {
	v := sigv4.New(sigv4.Options{Service: "gamelift", Lookup: func(id string) (sigv4.Secret, bool) {
		return sigv4.Secret{Key: "SECRETSECRET"}, id == "AKID"
	}})
	day := 24 * time.Hour
	for _, c := range []struct {
		name   string
		change func(q url.Values)
		after  time.Duration
		kind   fault.Kind // "" if accepted
	}{
		{"as observed", func(url.Values) {}, 0, ""},
		{"other host, token and version", func(q url.Values) { q.Set("sdkVersion", "9"); q.Set("IdempotencyToken", "y") }, 0, ""},
		{"a day later", func(url.Values) {}, day, ""},
		{"more than the window", func(url.Values) {}, day + time.Second, fault.InvalidSignature},
		{"another process", func(q url.Values) { q.Set("pID", "proc-2") }, 0, fault.InvalidSignature},
		{"another compute", func(q url.Values) { q.Set("ComputeId", "compute-2") }, 0, fault.InvalidSignature},
		{"another fleet", func(q url.Values) { q.Set("FleetId", "fleet-1") }, 0, fault.InvalidSignature},
		{"unknown key", func(q url.Values) { q.Set("X-Amz-Credential", "NO/20261121/us-west-2/gamelift/aws4_request") }, 0, fault.UnrecognizedClient},
		{"no signature", func(q url.Values) { q.Del("X-Amz-Signature") }, 0, fault.MissingAuthentication},
		{"algorithm", func(q url.Values) { q.Del("X-Amz-Algorithm") }, 0, fault.InvalidSignature},
		{"token of nobody", func(q url.Values) { q.Set("X-Amz-Security-Token", "t") }, 0, fault.UnrecognizedClient},
	} {
		q := gameServerURL()
		c.change(q)
		id, err := v.GameServer(q, testNow.Add(c.after), day)
		switch {
		case c.kind == "" && (err != nil || id.AccessKeyID != "AKID" || id.Region != "us-west-2"):
			t.Errorf("%s: got %+v, %v", c.name, id, err)
		case c.kind != "" && !fault.Is(err, c.kind):
			t.Errorf("%s: got %v, want %s", c.name, err, c.kind)
		}
	}
}
