package compute

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/address"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
)

// registry holds the computes, but not the processes on them.
type registry struct {
	opts   Options
	events *event.Log
	fleets *fleet.Service
	tags   *tag.Service

	rows     *store.Table[Compute]
	placed   *store.Index[Compute] // by fleet and location
	tally    *store.Sum[Compute]   // number in a fleet
	register *store.Command[RegisterInput, *Compute]
	notice   *store.Action[noticeArgs]
	certify  *store.Action[certificateArgs]
	moved    []func(*store.Tx, Move)
}

func newRegistry(st *store.Store, d Deps, o Options) *registry {
	g := &registry{opts: o, events: d.Events, fleets: d.Fleets, tags: d.Tags}
	g.rows = store.NewTable(st, store.TableSpec[Compute]{Name: "compute", Key: func(c *Compute) string { return c.Key }})
	g.placed = store.NewIndex(g.rows, "place", func(c *Compute, emit func(string)) { emit(store.Key(c.FleetID, c.Location)) })
	g.tally = store.NewSum(g.rows, "tally", func(c *Compute, add func(string, int)) { add(c.FleetID, 1) })
	g.register = store.NewCommand(st, "compute.register", g.runRegister)
	g.notice = store.NewAction(st, "process.notice", g.runNotice)
	g.certify = store.NewAction(st, "compute.certificate", g.runCertify)
	d.Tags.Kind("compute", g.taggable)
	return g
}

// RegisterInput describes a compute to register.
type RegisterInput struct {
	FleetID, Name, Location             string
	IPAddress, DNSName, CertificatePath string

	IPv6Address string // beside an IPv4 address; the API has no member for it
}

// Register adds a machine to an Anywhere fleet. A machine that the fleet has in that location is
// registered again: the addresses and the certificate path replace those that it had, and its
// processes, their game sessions and its tokens are left alone.
// Errors: InvalidRequest, Conflict (name taken in another location of the fleet), LimitExceeded,
// NotReady (fleet not ACTIVE).
func (g *registry) Register(ctx context.Context, in RegisterInput) (*Compute, error) {
	return g.register.Do(ctx, in)
}

func (g *registry) runRegister(tx *store.Tx, in RegisterInput) (*Compute, error) {
	f := g.fleets.Get(tx, in.FleetID)
	if f == nil {
		return nil, fault.Invalid("FleetId: fleet %s does not exist", in.FleetID)
	}
	if err := g.checkRegister(tx, f, in); err != nil {
		return nil, err
	}
	c := &Compute{
		Key: Key(f.ID, in.Name), FleetID: f.ID, Name: in.Name, Location: in.Location,
		Address: Address{IPAddress: in.IPAddress, IPv6Address: in.IPv6Address, DNSName: in.DNSName}, CertificatePath: in.CertificatePath, Registered: tx.Now(),
	}
	if old := g.rows.Get(tx, c.Key); old != nil {
		c.Registered = old.Registered
		if *c != *old {
			g.relocated(tx, old, Move{Compute: c})
		}
		return c, nil
	}
	g.rows.Put(tx, c)
	g.events.Append(tx, event.Event{Code: event.ComputeRegistered, FleetID: f.ID, Location: c.Location, ComputeName: c.Name})
	return c, nil
}

func (g *registry) checkRegister(r store.Reader, f *fleet.Fleet, in RegisterInput) error {
	switch {
	case f.ComputeType != fleet.Anywhere:
		return fault.Invalid("FleetId: computes register with ANYWHERE fleets only; %s is %s", f.ID, f.ComputeType)
	case f.Status != fleet.Active:
		return fault.New(fault.NotReady, "FleetId: fleet %s is in status %s; it must be ACTIVE", f.ID, f.Status)
	case in.Location == "":
		return fault.Invalid("Location: required for an ANYWHERE fleet")
	case !f.Has(in.Location):
		return fault.Invalid("Location: %s is not a location of fleet %s", in.Location, f.ID)
	case in.IPAddress == "":
		return fault.Invalid("IpAddress: required for an ANYWHERE fleet; players are given DnsName where there is one")
	}
	if err := address.Check(in.IPAddress); err != nil {
		return fault.Invalid("IpAddress: %v", err)
	}
	if err := address.CheckHost(in.DNSName); err != nil {
		return fault.Invalid("DnsName: %v", err)
	}
	if old := g.rows.Get(r, Key(f.ID, in.Name)); old != nil && old.Location != in.Location {
		return fault.New(fault.Conflict, "ComputeName: %s is registered in fleet %s already, at %s; deregister it there, or give this machine another name", in.Name, f.ID, old.Location)
	} else if old != nil {
		return nil
	}
	if q := g.opts.ComputesAFleet; q > 0 && g.tally.Of(r, f.ID) >= q {
		return fault.New(fault.LimitExceeded, "fleet %s has %d computes, which is the quota", f.ID, q)
	}
	return nil
}

// Get returns a compute, or nil.
func (g *registry) Get(r store.Reader, fleetID, name string) *Compute {
	return g.rows.Get(r, Key(fleetID, name))
}

// PutInstance writes the compute of an instance.
func (g *registry) PutInstance(tx *store.Tx, c *Compute) { g.rows.Put(tx, c) }

type certificateArgs struct{ FleetID, Name, Path string }

// SetCertificate records the folder in which the host of a compute stores its certificate.
func (g *registry) SetCertificate(ctx context.Context, c *Compute, path string) error {
	if c.CertificatePath == path {
		return nil
	}
	return g.certify.Do(ctx, certificateArgs{c.FleetID, c.Name, path})
}

func (g *registry) runCertify(tx *store.Tx, a certificateArgs) error {
	old := g.Get(tx, a.FleetID, a.Name)
	if old == nil {
		return fault.Missing("compute %s does not exist in fleet %s", a.Name, a.FleetID)
	}
	c := *old
	c.CertificatePath = a.Path
	g.rows.Put(tx, &c)
	return nil
}

// DropInstance deletes the compute of an instance on which nothing runs.
func (g *registry) DropInstance(tx *store.Tx, fleetID, name string) {
	if g.Get(tx, fleetID, name) != nil {
		g.rows.Delete(tx, Key(fleetID, name))
	}
}

// Find returns a compute of a fleet. Errors: NotFound.
func (g *registry) Find(r store.Reader, fleetID, name string) (*Compute, error) {
	f, err := g.fleets.Find(r, fleetID)
	if err != nil {
		return nil, err
	}
	if c := g.Get(r, f.ID, name); c != nil {
		return c, nil
	}
	return nil, fault.Missing("ComputeName: compute %s does not exist in fleet %s", name, f.ID)
}

// InFleet returns the computes of a fleet's location, "" meaning all, after a name, ordered
// by name.
func (g *registry) InFleet(r store.Reader, fleetID, location, after string) iter.Seq[*Compute] {
	places := []string{store.Key(fleetID, location)}
	if location == "" {
		places = g.placed.Groups(r, store.Key(fleetID), 1)
	}
	return g.placed.Across(r, places, "", Key(fleetID, after))
}

// ARN returns a compute's ARN: compute/FLEET-ID/NAME (AWS does not document its form). That
// of a container group has no fleet, since the API's pattern allows two parts only.
func (g *registry) ARN(c *Compute) string {
	if strings.Contains(c.Name, "/") {
		return g.fleets.Home().Of("compute", c.Name)
	}
	return g.fleets.Home().Of("compute", c.FleetID+"/"+c.Name)
}

// FleetARN returns the ARN of a fleet, whether or not it exists.
func (g *registry) FleetARN(fleetID string) string { return g.fleets.Home().OfFleet(fleetID) }

// LocationARN returns the ARN of a location, whether or not it exists.
func (g *registry) LocationARN(name string) string { return g.fleets.Home().Of("location", name) }

// HasFleet reports whether a fleet exists.
func (g *registry) HasFleet(r store.Reader, fleetID string) bool {
	return g.fleets.Get(r, fleetID) != nil
}

// IssueToken returns a token with which processes on the compute may connect.
func (g *registry) IssueToken(c *Compute, now time.Time) (token string, expires time.Time) {
	expires = now.Add(g.opts.TokenLife).Truncate(time.Second)
	return g.opts.Tokens.Issue(grant(c), expires), expires
}

func grant(c *Compute) auth.ComputeGrant {
	return auth.ComputeGrant{FleetID: c.FleetID, ComputeName: c.Name, Registered: c.Registered}
}

func (g *registry) taggable(r store.Reader, resourceARN string) bool {
	fleetID, name, _ := strings.Cut(g.fleets.Home().ID("compute", resourceARN), "/")
	return g.rows.Get(r, Key(fleetID, name)) != nil
}

// remove deletes a compute on which nothing runs.
func (g *registry) remove(tx *store.Tx, c *Compute) {
	g.rows.Delete(tx, c.Key)
	g.tags.Drop(tx, g.ARN(c))
	g.events.Append(tx, event.Event{Code: event.ComputeDeregistered, FleetID: c.FleetID, Location: c.Location, ComputeName: c.Name})
}
