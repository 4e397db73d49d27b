package fleet

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
)

// CustomPrefix is the prefix of every location that an operator creates.
const CustomPrefix = "custom-"

// Location is a custom location. Region names are locations too (Regions), but not rows.
type Location struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

// IsCustom reports whether a location name is that of a custom location.
func IsCustom(name string) bool { return strings.HasPrefix(name, CustomPrefix) }

// Locations are the places where fleets can be: regions, and custom locations.
type Locations struct {
	fleets  *Fleets
	tags    *tag.Service
	quota   int      // of custom locations
	regions []string // that exist without being created
	table   *store.Table[Location]
	create  *store.Command[locationArgs, *Location]
	// Delete removes a custom location, by name or ARN, that no fleet uses.
	// Errors: NotFound, InvalidRequest (in use).
	Delete *store.Action[string]
}

func newLocations(st *store.Store, fleets *Fleets, tags *tag.Service, o *Options) *Locations {
	s := &Locations{fleets: fleets, tags: tags, quota: o.Quotas.Locations, regions: regionsOf(o)}
	s.table = store.NewTable(st, store.TableSpec[Location]{Name: "location", Key: func(l *Location) string { return l.Name }})
	s.create = store.NewCommand(st, "location.create", s.runCreate)
	s.Delete = store.NewAction(st, "location.delete", s.runDelete)
	tags.Kind("location", func(r store.Reader, a string) bool { return s.table.Get(r, fleets.home.ID("location", a)) != nil })
	return s
}

type locationArgs struct {
	Name string
	Tags map[string]string
}

// Create creates a custom location.
// Errors: Conflict (name taken), LimitExceeded, TaggingFailed.
func (s *Locations) Create(ctx context.Context, name string, tags map[string]string) (*Location, error) {
	return s.create.Do(ctx, locationArgs{name, tags})
}

func (s *Locations) runCreate(tx *store.Tx, a locationArgs) (*Location, error) {
	if s.table.Get(tx, a.Name) != nil {
		return nil, fault.New(fault.Conflict, "LocationName: location %s exists already", a.Name)
	}
	if q := s.quota; q > 0 && s.table.Len(tx) >= q {
		return nil, fault.New(fault.LimitExceeded, "there are %d custom locations; the quota is %d", s.table.Len(tx), q)
	}
	l := &Location{Name: a.Name, Created: tx.Now()}
	resource := s.fleets.home.Of("location", a.Name)
	if err := s.tags.Put(tx, resource, a.Tags); err != nil {
		return nil, err
	}
	s.table.Put(tx, l)
	s.fleets.events.Append(tx, event.Event{Code: event.LocationCreated, Location: a.Name, Resource: resource})
	return l, nil
}

func (s *Locations) runDelete(tx *store.Tx, nameOrARN string) error {
	name := s.fleets.home.ID("location", nameOrARN)
	if s.table.Get(tx, name) == nil {
		return fault.Missing("LocationName: location %s does not exist", nameOrARN)
	}
	if f := s.fleets.using.First(tx, name); f != nil {
		return fault.Invalid("LocationName: location %s is used by fleet %s; remove it there first", name, f.ID)
	}
	resource := s.fleets.home.Of("location", name)
	s.table.Delete(tx, name)
	s.tags.Drop(tx, resource)
	s.fleets.events.Append(tx, event.Event{Code: event.LocationDeleted, Location: name, Resource: resource})
	return nil
}

// All returns an iterator over the custom locations after a name, in order of
// names.
func (s *Locations) All(r store.Reader, after string) iter.Seq[*Location] {
	return s.table.After(r, after)
}

// regions are the AWS Regions of Amazon GameLift (Amazon GameLift endpoints and quotas).
// Programs and operators can use them as names of places: hosts join them and managed
// fleets list them, like custom locations.
var regions = []string{
	"af-south-1", "ap-east-1", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-south-2",
	"ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-5", "ap-southeast-7",
	"ca-central-1", "cn-north-1", "cn-northwest-1", "eu-central-1", "eu-north-1", "eu-south-1", "eu-south-2",
	"eu-west-1", "eu-west-2", "eu-west-3", "il-central-1", "me-south-1", "mx-central-1", "sa-east-1",
	"us-east-1", "us-east-2", "us-west-1", "us-west-2",
}

// Regions returns the names of the locations that exist without being created: the regions
// of the deployment, the home region first, and AWS's Regions.
func (s *Locations) Regions() []string { return slices.Clone(s.regions) }

// regionsOf returns what Regions does.
func regionsOf(o *Options) (names []string) {
	for _, name := range slices.Concat([]string{o.Home.Region}, o.Regions, regions) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Known reports whether a location exists: a region or a custom one.
func (s *Locations) Known(r store.Reader, location string) bool {
	return slices.Contains(s.regions, location) || s.table.Get(r, location) != nil
}
