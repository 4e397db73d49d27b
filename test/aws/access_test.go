package aws

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/test/node"
)

// Where keys are required, the first key works, and everything else is refused
// with the code of AWS's front door and changes nothing.
func TestAccess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := node.InProcess(t, func(o *app.Options) { o.AcceptAny, o.DataDir = false, dir })
	id, secret := firstKey(t, dir)
	b := bundle{Place: node.NewPlace(t, node.ClientAs(a.URL(), id, secret)), app: a}
	b.active(t, b.Server(t), 1)

	before := a.Digest()
	location := "custom-intruder"
	for code, c := range map[string]*gamelift.Client{
		"UnrecognizedClientException": node.ClientAs(a.URL(), "AKIDUNKNOWN", secret),
		"InvalidSignatureException":   node.ClientAs(a.URL(), id, "wrong"),
	} {
		_, err := c.CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: &location})
		var api interface{ ErrorCode() string }
		if !errors.As(err, &api) || api.ErrorCode() != code {
			t.Errorf("error %v, want the code %s", err, code)
		}
	}
	if status, body := post(t, a.URL(), "CreateLocation", `{"LocationName":"custom-intruder"}`); status != 400 || !strings.Contains(body, "MissingAuthenticationTokenException") {
		t.Errorf("unsigned: %d %s", status, body)
	}
	if after := a.Digest(); after != before {
		t.Error("a refused caller changed the state")
	}
}

// firstKey reads the key that the first start leaves for the operator.
func firstKey(t *testing.T, dir string) (id, secret string) {
	t.Helper()
	text := must(os.ReadFile(filepath.Join(dir, "admin-credentials")))(t)
	m := regexp.MustCompile(`aws_access_key_id = (\S+)\naws_secret_access_key = (\S+)`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no key in %q", text)
	}
	return string(m[1]), string(m[2])
}
