package remote

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/placement"
)

// answering returns a remote that answers each request with a status and a body.
func answering(t *testing.T, status int, body any) *Remote {
	t.Helper()
	return servedBy(t, func(w http.ResponseWriter, _ *http.Request) { in(w, status, body) })
}

// at returns a remote at a URL.
func at(t *testing.T, url string) *Remote {
	t.Helper()
	config, err := checked(t, url, "")
	if err != nil {
		t.Fatal(err)
	}
	return open(config, slog.New(slog.DiscardHandler))
}

// A game session that a remote returns is taken only if it is one of the fleet that it was asked
// for; such an answer is a refusal, as one that says that nothing was made. After any other error
// there may be a game session.
func TestCreate(t *testing.T) {
	t.Parallel()
	at := somewhere
	made := func(fleetID, token string) any {
		id := arn.Home{Region: "eu-west-1"}.OfSession(fleetID, at.Location, token)
		return map[string]any{"GameSession": map[string]any{"GameSessionId": id, "Status": "ACTIVATING", "IpAddress": "192.0.2.9", "Port": 7000}}
	}
	failed := func(code string) any {
		return map[string]string{"__type": "com.amazonaws.gamelift#" + code, "Message": "no", "message": "no"}
	}
	for _, test := range []struct {
		name    string
		status  int
		body    any
		want    string                // in the error; "" is none
		refused placement.RefusalKind // if it is a refusal
	}{
		{"its own", 200, made("fleet-1", "t"), "", ""},
		{"of another fleet", 200, made("fleet-2", "t"), "which is of another fleet than fleet-1", placement.Refused},
		{"of a longer name", 200, made("fleet-12", "t"), "which is of another fleet than fleet-1", placement.Refused},
		{"of no fleet", 200, map[string]any{"GameSession": map[string]any{"GameSessionId": "fleet-1"}}, "which is of another fleet than fleet-1", placement.Refused},
		{"too long", 200, made("fleet-1", strings.Repeat("t", maxText)), "too long", placement.Refused},
		{"none", 200, map[string]any{}, "the answer has no game session", ""},
		{"full", 400, failed("FleetCapacityExceededException"), "FleetCapacityExceededException: no", placement.Full},
		{"throttled", 400, failed("ThrottlingException"), "ThrottlingException: no", placement.Throttled},
		{"unknown code", 400, failed("NewException"), "NewException: no", placement.Refused},
		{"failed", 500, failed("InternalServiceException"), "InternalServiceException: no", ""},
	} {
		g, err := answering(t, test.status, test.body).Create(t.Context(), at, "t", &placement.Request{MaxPlayers: 2})
		if test.want == "" && (err != nil || arn.SessionFleet(g.ID) != at.FleetID || g.Port != 7000) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %+v, %v", test.name, g, err)
		}
		var kind placement.RefusalKind
		if no := placement.RefusalOf(err); no != nil {
			kind = no.Kind
		}
		if kind != test.refused {
			t.Errorf("%s: it is refused as %q, want %q", test.name, kind, test.refused)
		}
	}
}
