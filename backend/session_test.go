package backend

import (
	"net/http"
	"testing"

	"github.com/musterhq/muster/internal/arn"
)

// The name of a game session leads back to its ARN and needs no escaping in a path.
func TestSessionName(t *testing.T) {
	t.Parallel()
	home := arn.Home{Region: "eu-central-1", Account: "123456789012"}
	for _, c := range []struct{ arn, name string }{
		{home.OfSession("fleet-1", "eu-west-3", "gsess-a"), "eu-west-3:fleet-1:gsess-a"},
		{home.OfSession("containerfleet-1", "custom-here", "My-Token"), "eu-central-1:containerfleet-1:custom-here:My-Token"},
	} {
		if got := sessionName(c.arn); got != c.name {
			t.Errorf("%s is named %s, want %s", c.arn, got, c.name)
		}
		r := &http.Request{}
		r.SetPathValue("session", c.name)
		if got := sessionOf(&request{http: r}); got != c.arn {
			t.Errorf("%s leads to %q, want %s", c.name, got, c.arn)
		}
	}
}
