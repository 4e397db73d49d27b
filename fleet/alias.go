package fleet

import (
	"iter"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
)

// Routing is how an alias routes requests.
type Routing string

// The routing strategies of the API.
const (
	Simple   Routing = "SIMPLE"
	Terminal Routing = "TERMINAL"
)

// Alias names a fleet, or returns a message to callers instead.
type Alias struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Routing     Routing   `json:"routing"`
	FleetID     string    `json:"fleet_id,omitzero"`
	Message     string    `json:"message,omitzero"` // for callers if Routing is Terminal; AWS's tools send one with Simple too
	Created     time.Time `json:"created"`
	Updated     time.Time `json:"updated"`
}

// Aliases are the names of fleets.
type Aliases struct {
	fleets *Fleets
	tags   *tag.Service
	quota  int
	table  *store.Table[Alias]
	// Create creates an alias.
	// Errors: InvalidRequest, LimitExceeded, TaggingFailed.
	Create *store.Command[AliasInput, *Alias]
	// Update changes an alias. A new route takes effect immediately.
	// Errors: NotFound, InvalidRequest.
	Update *store.Command[AliasUpdate, *Alias]
	// Delete removes an alias. Errors: NotFound.
	Delete *store.Action[string]
}

func newAliases(st *store.Store, fleets *Fleets, tags *tag.Service, quota int) *Aliases {
	s := &Aliases{fleets: fleets, tags: tags, quota: quota}
	s.table = store.NewTable(st, store.TableSpec[Alias]{Name: "alias", Key: func(a *Alias) string { return a.ID }})
	s.Create = store.NewCommand(st, "alias.create", s.runCreate)
	s.Update = store.NewCommand(st, "alias.update", s.runUpdate)
	s.Delete = store.NewAction(st, "alias.delete", s.runDelete)
	tags.Kind("alias", func(r store.Reader, a string) bool { return s.table.Get(r, fleets.home.ID("alias", a)) != nil })
	return s
}

// AliasInput describes the alias to create.
type AliasInput struct {
	Name, Description string
	Routing           Routing
	FleetID, Message  string
	Tags              map[string]string
}

func (s *Aliases) runCreate(tx *store.Tx, in AliasInput) (*Alias, error) {
	if err := s.checkRoute(tx, in.Routing, in.FleetID, in.Message); err != nil {
		return nil, err
	}
	if q := s.quota; q > 0 && s.table.Len(tx) >= q {
		return nil, fault.New(fault.LimitExceeded, "there are %d aliases; the quota is %d", s.table.Len(tx), q)
	}
	a := &Alias{
		ID: tx.ID("alias-"), Name: in.Name, Description: in.Description, Routing: in.Routing,
		FleetID: s.fleets.home.FleetID(in.FleetID), Message: in.Message, Created: tx.Now(), Updated: tx.Now(),
	}
	if err := s.tags.Put(tx, s.fleets.home.OfAlias(a.ID), in.Tags); err != nil {
		return nil, err
	}
	s.table.Put(tx, a)
	s.record(tx, event.AliasCreated, a)
	return a, nil
}

// AliasUpdate patches an alias: nil members leave the value unchanged; a routing is
// replaced as a whole.
type AliasUpdate struct {
	AliasID           string
	Name, Description *string
	Routing           Routing // "" leaves it unchanged
	FleetID, Message  string
}

func (s *Aliases) runUpdate(tx *store.Tx, in AliasUpdate) (*Alias, error) {
	old, err := s.Find(tx, in.AliasID)
	if err != nil {
		return nil, err
	}
	a := *old
	patch.Set(&a.Name, in.Name)
	patch.Set(&a.Description, in.Description)
	if in.Routing != "" {
		if err := s.checkRoute(tx, in.Routing, in.FleetID, in.Message); err != nil {
			return nil, err
		}
		a.Routing, a.FleetID, a.Message = in.Routing, s.fleets.home.FleetID(in.FleetID), in.Message
	}
	a.Updated = tx.Now()
	s.table.Put(tx, &a)
	s.record(tx, event.AliasUpdated, &a)
	return &a, nil
}

func (s *Aliases) runDelete(tx *store.Tx, idOrARN string) error {
	a, err := s.Find(tx, idOrARN)
	if err != nil {
		return err
	}
	s.table.Delete(tx, a.ID)
	s.tags.Drop(tx, s.fleets.home.OfAlias(a.ID))
	s.record(tx, event.AliasDeleted, a)
	return nil
}

// Find returns an alias by id or ARN. Errors: NotFound.
func (s *Aliases) Find(r store.Reader, idOrARN string) (*Alias, error) {
	if a := s.table.Get(r, s.fleets.home.ID("alias", idOrARN)); a != nil {
		return a, nil
	}
	return nil, fault.Missing("AliasId: alias %s does not exist", idOrARN)
}

// All returns an iterator over the aliases after an id, oldest first.
func (s *Aliases) All(r store.Reader, after string) iter.Seq[*Alias] {
	return s.table.After(r, after)
}

// Resolve returns the fleet that an alias leads to.
// Errors: NotFound (alias, or the fleet it leads to), TerminalRoutingStrategy with the
// alias's message.
func (s *Aliases) Resolve(r store.Reader, aliasIDOrARN string) (*Fleet, error) {
	a, err := s.Find(r, aliasIDOrARN)
	if err != nil {
		return nil, err
	}
	if a.Routing == Terminal {
		return nil, fault.New(fault.TerminalRoutingStrategy, "%s", a.Message)
	}
	if f := s.fleets.Get(r, a.FleetID); f != nil {
		return f, nil
	}
	return nil, fault.Missing("AliasId: alias %s leads to fleet %s, which does not exist", a.ID, a.FleetID)
}

// Target returns the fleet that a request names by exactly one of fleet and alias.
// Errors: InvalidRequest, and those of Fleets.Find and Resolve.
func (s *Aliases) Target(r store.Reader, fleetIDOrARN, aliasIDOrARN string) (*Fleet, error) {
	switch {
	case fleetIDOrARN != "" && aliasIDOrARN != "":
		return nil, fault.Invalid("FleetId and AliasId: give one of them, not both")
	case fleetIDOrARN != "":
		return s.fleets.Find(r, fleetIDOrARN)
	case aliasIDOrARN != "":
		return s.Resolve(r, aliasIDOrARN)
	}
	return nil, fault.Invalid("FleetId or AliasId: one of them is required")
}

// checkRoute checks the rules of RoutingStrategy that span several members.
func (s *Aliases) checkRoute(r store.Reader, routing Routing, fleetID, message string) error {
	switch {
	case routing == Simple && fleetID == "":
		return fault.Invalid("RoutingStrategy.FleetId: required when RoutingStrategy.Type is SIMPLE")
	case routing == Terminal && message == "":
		return fault.Invalid("RoutingStrategy.Message: required when RoutingStrategy.Type is TERMINAL")
	case routing == Terminal && fleetID != "":
		return fault.Invalid("RoutingStrategy.FleetId: allowed only when RoutingStrategy.Type is SIMPLE")
	case routing == Simple && s.fleets.Get(r, fleetID) == nil:
		return fault.Invalid("RoutingStrategy.FleetId: fleet %s does not exist", fleetID)
	}
	return nil
}

func (s *Aliases) record(tx *store.Tx, code event.Code, a *Alias) {
	s.fleets.events.Append(tx, event.Event{Code: code, FleetID: a.FleetID, Resource: s.fleets.home.OfAlias(a.ID), Message: a.Name})
}
