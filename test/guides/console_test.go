package guides

import (
	"regexp"
	"strings"
	"testing"
)

// TestConsole types the commands of the guide: a location comes on the map, logins are listed and
// ended, and what a page shows is read.
func TestConsole(t *testing.T) {
	t.Parallel()
	needs(t, "aws curl")
	g := newGuide(t, "docs/console.md")
	g.serve("local", "--demo=false")
	local := g.muster
	g.enter("export AWS_ENDPOINT_URL=" + local + "; LOCATION_ARN=$(aws gamelift create-location --location-name custom-lab --query Location.LocationArn --output text)\n" +
		"aws gamelift create-fleet --name lab --compute-type ANYWHERE --locations Location=custom-lab")
	g.types("aws gamelift tag-resource")
	g.prints(g.until("curl -sf "+local+"/console/api/views/world", "Berlin"), "52.5", "13.4")

	admin := g.starts("serve") // local has no logins
	g.enter("export MUSTER_ENDPOINT=" + g.muster + " MUSTER_CREDENTIALS=" + admin)
	logins := strings.SplitAfter(g.next("muster admin logins"), "\n")
	login := func() string {
		t.Helper()
		g.enter(`curl -sf -o /dev/null -H 'Content-Type: application/json' -H "Origin: $MUSTER_ENDPOINT" -d "$(sed -n 's/^aws_access_key_id *= *\(.*\)/{"key_id": "\1",/p; s/^aws_secret_access_key *= *\(.*\)/"secret": "\1"}/p' $MUSTER_CREDENTIALS)" $MUSTER_ENDPOINT/console/api/login`)
		return regexp.MustCompile(`login-[0-9a-f]+`).FindString(g.enter(logins[0]))
	}
	for i, name := range []string{"login-5f1c0a93be0427d1", "oidc-9b0477c1d3a2f0e85a6b1c22"} {
		id := login()
		if id == "" {
			t.Fatal("nobody is logged in")
		}
		whose := []string{id, "$(sed -n 's/^aws_access_key_id *= *//p' $MUSTER_CREDENTIALS)"}[i] // a key ends like a person
		g.enter(strings.ReplaceAll(logins[1+i], name, whose))
		if out := g.enter(logins[0]); strings.Contains(out, id) {
			t.Errorf("the login %s has ended, and is in the list still:\n%s", id, out)
		}
	}
	g.prints(g.types("curl -s http"), `"players"`)
}
