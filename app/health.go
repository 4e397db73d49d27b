package app

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/store"
)

// health answers whether the node runs, and whether it accepts work.
type health struct {
	serves   atomic.Bool // the app has started and is not to be stopped
	member   *member
	store    *store.Store
	follows  atomic.Bool   // the node keeps the state in memory while it stands by
	patience time.Duration // requests wait out an outage of the database that is shorter
}

// alive answers that the process is running.
func (h *health) alive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, `{"status":"ok"}`)
}

// readiness is the answer of /readyz.
type readiness struct {
	Status string `json:"status"`
	Role   string `json:"role,omitzero"`
	Owner  string `json:"owner,omitzero"`
	State  string `json:"state,omitzero"`  // of a standby: warm if it is in memory, otherwise cold
	Reason string `json:"reason,omitzero"` // why the node is not ready
	Clock  string `json:"clock,omitzero"`  // the error of the node's clock, if it is too large to own the cell
	Aside  string `json:"aside,omitzero"`  // why the node's release must not own the cell
}

// ready answers whether the node accepts work.
func (h *health) ready(w http.ResponseWriter, _ *http.Request) {
	ready := h.readiness()
	status := http.StatusOK
	if ready.Reason != "" || !h.serves.Load() {
		ready.Status, status = "not ready", http.StatusServiceUnavailable
	}
	body, err := json.Marshal(ready)
	if err != nil {
		body, status = []byte(`{"status":"not ready"}`), http.StatusInternalServerError
	}
	writeJSON(w, status, string(body))
}

func (h *health) readiness() readiness {
	ready := readiness{Status: "ready"}
	if !h.member.joined() {
		ready.Reason = h.unwritable()
		return ready
	}
	_, ready.Clock = h.member.keeper.Skew()
	if aside := h.member.keeper.Aside(); aside != nil {
		ready.Aside = aside.Error()
	}
	route, _ := h.member.keeper.Route()
	switch {
	case route.Mine:
		ready.Role = "owner"
		if ready.Reason = h.unwritable(); ready.Reason == "" && !h.member.gate.Serves() {
			ready.Role, ready.Reason = "", "this node owns the cell and reads its state, or could not renew its lease in time"
		}
	case !route.Live && ready.Aside != "":
		ready.Reason = "no node owns the cell; " + ready.Aside + "; this node does not take it"
	case !route.Live && ready.Clock != "":
		ready.Reason = "no node owns the cell; " + ready.Clock + ", so this one does not take it"
	case !route.Live:
		ready.Reason = "no node owns the cell"
	default:
		ready.Role, ready.Owner, ready.State = "standby", route.Owner.Address, "cold"
		if h.follows.Load() && h.store.Standby().Warm {
			ready.State = "warm"
		}
		if h.member.gate.Unreachable() != nil {
			ready.Reason = "the owner cannot be reached from here; the log has the error"
		}
	}
	return ready
}

// unwritable returns why no change becomes durable. It returns "" if changes do, or if the
// outage has lasted less than patience. The database's own error may name hosts and
// users, so it is only logged.
func (h *health) unwritable() string {
	lasted, err := h.store.Stalled()
	if lasted < h.patience {
		return ""
	}
	what := "the database refuses changes or is away; the log has the error"
	if errors.Is(err, store.ErrFull) {
		what = "the disk of the database is full"
	}
	return fmt.Sprintf("no change could be made durable for %s: %s", lasted.Round(time.Second), what)
}
