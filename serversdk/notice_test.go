package serversdk_test

import (
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/wait"
)

// The reasons of refused connections are in the fleet's events: the first immediately,
// those of the next minute as one.
func TestRefusal_IsTold(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		told := func() (texts []string) {
			synctest.Wait()
			for _, e := range h.entries() {
				if e.Code == event.GenericEvent {
					if e.FleetID != h.fleet.ID || e.Location != location || e.ComputeName != computeName {
						t.Errorf("the event is of %s, %s, %s", e.FleetID, e.Location, e.ComputeName)
					}
					texts = append(texts, e.Message)
				}
			}
			return texts
		}
		over := h.ready("over")
		over.want(200, over.ask("TerminateServerProcess", nil))
		over.lose()
		h.refused(t, "ended process", visit{id: "over"}, 403)
		if got := told(); len(got) != 1 || !strings.Contains(got[0], "process over") || !strings.Contains(got[0], "a new run needs a new process id") {
			t.Errorf("told %q", got)
		}
		for range 20 {
			h.refused(t, "wrong token", visit{id: "p", auth: "no"}, 403)
		}
		h.refused(t, "fleet that does not exist", visit{id: "p", query: url.Values{"FleetId": {"fleet-x"}}}, 403)
		if got := told(); len(got) != 1 {
			t.Errorf("told %d times within a minute: %q", len(got), got)
		}
		wait.Pass(70 * time.Second)
		if got := told(); len(got) != 2 || !strings.Contains(got[1], "the auth token was not issued for compute") || !strings.Contains(got[1], "and 19 refusals before it") {
			t.Errorf("told %q", got)
		}
	})
}
