package aws

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/test/node"
)

// If keys are required, the first key works; every other request is refused with the
// error code that AWS uses and changes nothing.
func TestAccess(t *testing.T) {
	k := setupKeyed(t)
	k.active(t, k.Server(t), 1)
	before, first := k.app.Digest(), k.admin.Credentials
	for code, c := range map[string]client.Credentials{
		"UnrecognizedClientException":         {AccessKeyID: "AKIDUNKNOWN", SecretAccessKey: first.SecretAccessKey},
		"InvalidSignatureException":           {AccessKeyID: first.AccessKeyID, SecretAccessKey: "wrong"},
		"MissingAuthenticationTokenException": {},
	} {
		err := (&client.Client{Endpoint: k.app.URL(), Credentials: c}).Call(t.Context(), "CreateLocation", map[string]string{"LocationName": "custom-intruder"}, nil)
		if refusal, ok := errors.AsType[*client.Error](err); !ok || refusal.Code != code {
			t.Errorf("error %v, want the code %s", err, code)
		}
	}
	if k.app.Digest() != before {
		t.Error("a refused caller changed the state")
	}
}

// An SDK's client that exceeds its key's limit completes all of its requests with its
// own retries, only later.
func TestAccess_LimitsAreRetried(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := node.InProcess(t, func(o *app.Options) {
		o.AcceptAny, o.DataDir, o.Limits = false, dir, map[string]limit.Rate{"admin": {PerSecond: 10, Burst: 3}}
	})
	key := firstKey(t, dir)
	var throttled atomic.Int64
	c := node.ClientAs(a.URL(), key.AccessKeyID, key.SecretAccessKey, func(o *gamelift.Options) {
		o.HTTPClient = answers(func(r *http.Response) {
			if r.StatusCode == http.StatusBadRequest && r.Header.Get("Retry-After") != "" {
				throttled.Add(1)
			}
		})
	})
	for i := range 8 {
		if _, err := c.ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if throttled.Load() == 0 {
		t.Error("no call was refused at first")
	}
}

// answers is an HTTP client that shows its answers.
type answers func(*http.Response)

func (f answers) Do(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		f(answer)
	}
	return answer, err
}

// firstKey reads the access key that the server writes for the operator at its first
// start.
func firstKey(t *testing.T, dir string) client.Credentials {
	t.Helper()
	text := node.Must(os.ReadFile(filepath.Join(dir, "admin-credentials")))(t)
	m := regexp.MustCompile(`aws_access_key_id = (\S+)\naws_secret_access_key = (\S+)`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no key in %q", text)
	}
	return client.Credentials{AccessKeyID: string(m[1]), SecretAccessKey: string(m[2])}
}
