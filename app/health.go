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

// health answers whether a replica accepts work.
type health struct {
	serves   atomic.Bool // the replica has settled and is not to be stopped
	member   *member
	store    *store.Store
	follows  atomic.Bool   // the node keeps the state in memory while it stands by
	patience time.Duration // requests wait out an outage of the database that is shorter
}

// alive answers that the process is running.
func (a *App) alive(w http.ResponseWriter, _ *http.Request) {
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

// nodeReadiness is the answer of /readyz of a node with several regions.
type nodeReadiness struct {
	Status  string               `json:"status"`
	Regions map[string]readiness `json:"regions"`
}

const notReady = "not ready"

// ready answers whether the node accepts work; with ?region=NAME, for one of several regions.
func (a *App) ready(w http.ResponseWriter, r *http.Request) {
	g := a.regions[0]
	if a.opts.several() {
		asked := r.URL.Query().Get("region")
		if asked == "" {
			all := a.readiness()
			answerReady(w, all.Status, all)
			return
		}
		if g = a.regionOf(asked); g == nil {
			refuse(w, http.StatusNotFound, a.opts.noRegion(asked))
			return
		}
	}
	one := g.now.Load().health.readiness()
	answerReady(w, one.Status, one)
}

// readiness returns how ready the node is in each region. It is ready if it is in any, unless
// there is one that it cannot reach: what a region lacks everywhere is no reason to send the
// requests of other regions elsewhere.
func (a *App) readiness() nodeReadiness {
	all := nodeReadiness{Status: notReady, Regions: map[string]readiness{}}
	cut := false
	for _, g := range a.regions {
		r := g.now.Load()
		one := r.health.readiness()
		all.Regions[g.name] = one
		if one.Status != notReady {
			all.Status = one.Status
		}
		cut = cut || r.member.joined() && r.member.gate.Unreachable() != nil
	}
	if cut {
		all.Status = notReady
	}
	return all
}

func answerReady(w http.ResponseWriter, status string, answer any) {
	code := http.StatusOK
	if status == notReady {
		code = http.StatusServiceUnavailable
	}
	body, err := json.Marshal(answer, json.Deterministic(true))
	if err != nil {
		body, code = []byte(`{"status":"not ready"}`), http.StatusInternalServerError
	}
	writeJSON(w, code, string(body))
}

// readiness returns whether the replica accepts work, and why not.
func (h *health) readiness() readiness {
	ready := h.condition()
	if ready.Reason != "" || !h.serves.Load() {
		ready.Status = notReady
	}
	return ready
}

func (h *health) condition() readiness {
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
