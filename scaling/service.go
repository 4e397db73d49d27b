package scaling

import (
	"cmp"
	"iter"
	"log/slog"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// Deps are the services that a Service uses.
type Deps struct {
	Events     *event.Log
	Fleets     *fleet.Service
	Computes   *compute.Service
	Instances  *instance.Service
	Sessions   *session.Service
	Placements *placement.Service
	Logger     *slog.Logger // nil discards
}

// maxPolicies is the most policies of a fleet.
const maxPolicies = 50

// Service provides scaling policies to the doors, and applies them.
type Service struct {
	Deps
	// Put creates a policy of a fleet, or replaces the one with its name.
	// Errors: NotFound, InvalidRequest.
	Put *store.Command[Input, *Policy]
	// Delete removes a policy. Errors: NotFound.
	Delete *store.Action[Name]

	st       *store.Store
	policies *store.Table[Policy]
	act      *store.Action[action]
	forget   *store.Action[struct{}]
	rest     *store.Action[session.Place]
	memories map[session.Place]Memory    // used by the loop only
	minutes  map[session.Place]*minute   // likewise
	idle     map[session.Place]time.Time // since when locations are idle; used by the loop only
}

// Name names a policy of a fleet.
type Name struct{ FleetID, Name string }

// New registers the package's table and commands on the store.
func New(st *store.Store, d Deps) *Service {
	d.Logger = cmp.Or(d.Logger, slog.New(slog.DiscardHandler))
	s := &Service{Deps: d, st: st, memories: map[session.Place]Memory{}, minutes: map[session.Place]*minute{}, idle: map[session.Place]time.Time{}}
	s.policies = store.NewTable(st, store.TableSpec[Policy]{
		Name: "scaling_policy", Key: func(p *Policy) string { return key(p.FleetID, p.Name) },
	})
	s.Put = store.NewCommand(st, "scaling.put", s.runPut)
	s.Delete = store.NewAction(st, "scaling.delete", s.runDelete)
	s.act = store.NewAction(st, "scaling.act", s.runAct)
	s.rest = store.NewAction(st, "scaling.rest", s.runRest)
	s.forget = store.NewAction(st, "scaling.forget", s.runForget)
	return s
}

// key returns a policy's key, which sorts a fleet's policies by name. Fleet ids contain
// no slash.
func key(fleetID, name string) string { return fleetID + "/" + name }

func (s *Service) runPut(tx *store.Tx, in Input) (*Policy, error) {
	f, err := s.Fleets.Find(tx, in.FleetID)
	if err != nil {
		return nil, err
	}
	in.FleetID = f.ID
	if f.Managed == nil {
		return nil, fault.Invalid("FleetId: fleet %s has no instances of its own, so its capacity cannot be scaled", f.ID)
	}
	if f.Status == fleet.Deleting || f.Status == "ERROR" {
		return nil, fault.Invalid("FleetId: fleet %s is in status %s", f.ID, f.Status)
	}
	p, err := in.policy()
	if err != nil {
		return nil, err
	}
	n := 0
	for other := range s.Of(tx, f.ID) {
		if other.Name == p.Name {
			continue
		}
		n++
		if p.Kind == TargetBased && other.Kind == TargetBased {
			return nil, fault.Invalid("PolicyType: fleet %s has the TargetBased policy %s; one is allowed", f.ID, other.Name)
		}
	}
	if n >= maxPolicies {
		return nil, fault.Invalid("Name: fleet %s has %d policies; more are not allowed", f.ID, n)
	}
	p.Set = tx.Now()
	s.policies.Put(tx, p)
	s.record(tx, f.ID, "Scaling policy "+p.Name+" was put")
	return p, nil
}

func (s *Service) runDelete(tx *store.Tx, n Name) error {
	f, err := s.Fleets.Find(tx, n.FleetID)
	if err != nil {
		return err
	}
	if !s.policies.Delete(tx, key(f.ID, n.Name)) {
		return fault.Missing("Name: fleet %s has no scaling policy %s", f.ID, n.Name)
	}
	s.record(tx, f.ID, "Scaling policy "+n.Name+" was deleted")
	return nil
}

// Of returns an iterator over a fleet's policies, by name.
func (s *Service) Of(r store.Reader, fleetID string) iter.Seq[*Policy] {
	return s.After(r, fleetID, "")
}

// After returns an iterator over a fleet's policies after a name, by name.
func (s *Service) After(r store.Reader, fleetID, name string) iter.Seq[*Policy] {
	return func(yield func(*Policy) bool) {
		for p := range s.policies.After(r, key(fleetID, name)) {
			if p.FleetID != fleetID || !yield(p) {
				return
			}
		}
	}
}

func (s *Service) record(tx *store.Tx, fleetID, text string) {
	s.Events.Append(tx, event.Event{Code: event.FleetUpdated, FleetID: fleetID, Message: text})
}
