package app

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/store"
)

// readiness is the answer of /readyz.
type readiness struct {
	Status string `json:"status"`
	Role   string `json:"role,omitzero"`
	Owner  string `json:"owner,omitzero"`
	Reason string `json:"reason,omitzero"` // why the node is not ready
	Clock  string `json:"clock,omitzero"`  // the error of the node's clock, if it is too large to own the cell
}

// readyz answers whether the node accepts work.
func (a *App) readyz(w http.ResponseWriter, _ *http.Request) {
	ready := a.readiness()
	status := http.StatusOK
	if ready.Reason != "" || !a.ready.Load() {
		ready.Status, status = "not ready", http.StatusServiceUnavailable
	}
	body, err := json.Marshal(ready)
	if err != nil {
		body, status = []byte(`{"status":"not ready"}`), http.StatusInternalServerError
	}
	writeJSON(w, status, string(body))
}

func (a *App) readiness() readiness {
	ready := readiness{Status: "ready"}
	if a.keeper == nil {
		ready.Reason = a.unwritable()
		return ready
	}
	_, ready.Clock = a.keeper.Skew()
	route, _ := a.keeper.Route()
	switch {
	case route.Mine:
		ready.Role = "owner"
		if ready.Reason = a.unwritable(); ready.Reason == "" && !a.gate.Serves() {
			ready.Role, ready.Reason = "", "this node owns the cell and reads its state, or could not renew its lease in time"
		}
	case !route.Live && ready.Clock != "":
		ready.Reason = "no node owns the cell; " + ready.Clock + ", so this one does not take it"
	case !route.Live:
		ready.Reason = "no node owns the cell"
	default:
		ready.Role, ready.Owner = "standby", route.Owner.Address
		if a.gate.Unreachable() != nil {
			ready.Reason = "the owner cannot be reached from here; the log has the error"
		}
	}
	return ready
}

// unwritable returns why no change becomes durable, or "" if changes do, or if the outage
// has not lasted longer than requests wait. The database's own error may name hosts and
// users, so it is only logged.
func (a *App) unwritable() string {
	lasted, err := a.domain.store.Stalled()
	if lasted < a.opts.LeaseTTL {
		return ""
	}
	what := "the database refuses changes or is away; the log has the error"
	if errors.Is(err, store.ErrFull) {
		what = "the disk of the database is full"
	}
	return fmt.Sprintf("no change could be made durable for %s: %s", lasted.Round(time.Second), what)
}
