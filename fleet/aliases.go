package fleet

import (
	"context"
	"iter"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// AliasInput describes the alias to create.
type AliasInput struct {
	Name, Description string
	Routing           Routing
	FleetID, Message  string
	Tags              map[string]string
}

// CreateAlias creates an alias.
// Errors: InvalidRequest, LimitExceeded, TaggingFailed.
func (s *Service) CreateAlias(ctx context.Context, in AliasInput) (*Alias, error) {
	return s.createAlias.Do(ctx, in)
}

func (s *Service) runCreateAlias(tx *store.Tx, in AliasInput) (*Alias, error) {
	if err := s.checkRoute(tx, in.Routing, in.FleetID, in.Message); err != nil {
		return nil, err
	}
	if q := s.opts.Quotas.Aliases; q > 0 && s.t.aliases.Len(tx) >= q {
		return nil, fault.New(fault.LimitExceeded, "there are %d aliases; the quota is %d", s.t.aliases.Len(tx), q)
	}
	a := &Alias{
		ID: tx.ID("alias-"), Name: in.Name, Description: in.Description, Routing: in.Routing,
		FleetID: s.opts.Home.ID("fleet", in.FleetID), Message: in.Message, Created: tx.Now(), Updated: tx.Now(),
	}
	if err := s.tags.Put(tx, s.opts.Home.OfAlias(a.ID), in.Tags); err != nil {
		return nil, err
	}
	s.t.aliases.Put(tx, a)
	s.recordAlias(tx, event.AliasCreated, a)
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

// UpdateAlias changes an alias. A new route takes effect immediately.
// Errors: NotFound, InvalidRequest.
func (s *Service) UpdateAlias(ctx context.Context, in AliasUpdate) (*Alias, error) {
	return s.updateAlias.Do(ctx, in)
}

func (s *Service) runUpdateAlias(tx *store.Tx, in AliasUpdate) (*Alias, error) {
	old, err := s.FindAlias(tx, in.AliasID)
	if err != nil {
		return nil, err
	}
	a := *old
	set(&a.Name, in.Name)
	set(&a.Description, in.Description)
	if in.Routing != "" {
		if err := s.checkRoute(tx, in.Routing, in.FleetID, in.Message); err != nil {
			return nil, err
		}
		a.Routing, a.FleetID, a.Message = in.Routing, s.opts.Home.ID("fleet", in.FleetID), in.Message
	}
	a.Updated = tx.Now()
	s.t.aliases.Put(tx, &a)
	s.recordAlias(tx, event.AliasUpdated, &a)
	return &a, nil
}

// DeleteAlias removes an alias. Errors: NotFound.
func (s *Service) DeleteAlias(ctx context.Context, idOrARN string) error {
	_, err := s.deleteAlias.Do(ctx, idOrARN)
	return err
}

func (s *Service) runDeleteAlias(tx *store.Tx, idOrARN string) (struct{}, error) {
	a, err := s.FindAlias(tx, idOrARN)
	if err != nil {
		return struct{}{}, err
	}
	s.t.aliases.Delete(tx, a.ID)
	s.tags.Drop(tx, s.opts.Home.OfAlias(a.ID))
	s.recordAlias(tx, event.AliasDeleted, a)
	return struct{}{}, nil
}

// FindAlias returns an alias by id or ARN. Errors: NotFound.
func (s *Service) FindAlias(r store.Reader, idOrARN string) (*Alias, error) {
	if a := s.t.aliases.Get(r, s.opts.Home.ID("alias", idOrARN)); a != nil {
		return a, nil
	}
	return nil, fault.Missing("AliasId: alias %s does not exist", idOrARN)
}

// Aliases returns an iterator over the aliases after an id, oldest first.
func (s *Service) Aliases(r store.Reader, after string) iter.Seq[*Alias] {
	return s.t.aliases.After(r, after)
}

// Resolve returns the fleet that an alias leads to.
// Errors: NotFound (alias, or the fleet it leads to), TerminalRoutingStrategy with the
// alias's message.
func (s *Service) Resolve(r store.Reader, aliasIDOrARN string) (*Fleet, error) {
	a, err := s.FindAlias(r, aliasIDOrARN)
	if err != nil {
		return nil, err
	}
	if a.Routing == Terminal {
		return nil, fault.New(fault.TerminalRoutingStrategy, "%s", a.Message)
	}
	if f := s.Get(r, a.FleetID); f != nil {
		return f, nil
	}
	return nil, fault.Missing("AliasId: alias %s leads to fleet %s, which does not exist", a.ID, a.FleetID)
}

// Target returns the fleet that a request names by exactly one of fleet and alias.
// Errors: InvalidRequest, and those of Find and Resolve.
func (s *Service) Target(r store.Reader, fleetIDOrARN, aliasIDOrARN string) (*Fleet, error) {
	switch {
	case fleetIDOrARN != "" && aliasIDOrARN != "":
		return nil, fault.Invalid("FleetId and AliasId: give one of them, not both")
	case fleetIDOrARN != "":
		return s.Find(r, fleetIDOrARN)
	case aliasIDOrARN != "":
		return s.Resolve(r, aliasIDOrARN)
	}
	return nil, fault.Invalid("FleetId or AliasId: one of them is required")
}

func (s *Service) checkRoute(r store.Reader, routing Routing, fleetID, message string) error {
	if err := checkRouting(routing, fleetID, message); err != nil {
		return err
	}
	if routing == Simple && s.Get(r, fleetID) == nil {
		return fault.Invalid("RoutingStrategy.FleetId: fleet %s does not exist", fleetID)
	}
	return nil
}

func (s *Service) recordAlias(tx *store.Tx, code event.Code, a *Alias) {
	s.events.Append(tx, event.Event{Code: code, FleetID: a.FleetID, Resource: s.opts.Home.OfAlias(a.ID), Message: a.Name})
}
