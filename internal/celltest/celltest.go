// Package celltest opens the services of a cell for tests: the real ones on one store,
// from the event log up to the instances of fleets. A test adds what stands above them
// before it opens the store, and acts as the game servers and agents.
package celltest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/session"
)

// Home is the region and account of every cell.
var Home = arn.Home{Region: "us-east-1", Account: "000000000000"}

// Cell is the services of one cell. Its builds are all READY.
type Cell struct {
	rapid.TB
	Ctx       context.Context // of calls; it does not end
	Store     *store.Store
	Secrets   *auth.Master
	Events    *event.Log
	Tags      *tag.Service
	Fleets    *fleet.Service
	Computes  *compute.Service
	Sessions  *session.Service
	Instances *instance.Service

	life    context.Context // of the loops
	end     context.CancelFunc
	running sync.WaitGroup
	loops   bool // loops run, in virtual time
}

// Options are what tests change about a cell.
type Options struct {
	Driver    store.Driver // nil: a new one in memory
	Confirmed uint64       // the last sequence that is known to have been confirmed
	Pending   int          // commands that may wait for durability; 0: the store's default
	Computes  compute.Options
	Instances instance.Options
	Sessions  session.Options

	Quotas      fleet.Quotas
	Definitions fleet.Definitions // of container groups; nil: there are none
}

// New returns a cell whose store is not open yet.
func New(t rapid.TB, o Options) *Cell {
	if o.Driver == nil {
		o.Driver = store.NewMemory()
	}
	c := &Cell{TB: t, Ctx: context.Background(), Store: store.New(store.Options{
		Driver: o.Driver, MaxPending: o.Pending, Confirmed: func() uint64 { return o.Confirmed },
	})}
	c.life, c.end = context.WithCancel(c.Ctx)
	var err error
	c.Secrets, err = auth.NewMaster(make([]byte, auth.MasterKeySize))
	c.Must(err)
	c.Events, c.Tags = event.New(c.Store, event.Options{}), tag.New(c.Store)
	c.Fleets = fleet.New(c.Store, fleet.Deps{Events: c.Events, Tags: c.Tags}, fleet.Options{Home: Home, Quotas: o.Quotas, Builds: ready, Definitions: o.Definitions})
	o.Computes.Tokens = c.Secrets
	c.Computes = compute.New(c.Store, compute.Deps{Events: c.Events, Fleets: c.Fleets, Tags: c.Tags}, o.Computes)
	c.Sessions = session.New(c.Store, session.Deps{Events: c.Events, Fleets: c.Fleets, Computes: c.Computes}, o.Sessions)
	c.Instances = instance.New(c.Store, instance.Deps{
		Events: c.Events, Tags: c.Tags, Fleets: c.Fleets, Computes: c.Computes, Sessions: c.Sessions,
	}, o.Instances)
	return c
}

func ready(_ store.Reader, id string) (fleet.Build, error) {
	return fleet.Build{ID: id, Status: "READY", Ready: true, OS: "AMAZON_LINUX_2023", SHA256: "ab", Format: "zip", Bytes: 1}, nil
}

// Open opens the store.
func (c *Cell) Open() { c.Must(c.Store.Open(c.Ctx)) }

// Start runs loops until Stop, in virtual time.
func (c *Cell) Start(loops ...func(context.Context)) {
	c.loops = true
	for _, loop := range loops {
		c.Go(func() { loop(c.life) })
	}
}

// Go runs f. Stop waits for its end.
func (c *Cell) Go(f func()) { c.running.Go(f) }

// Stop ends the loops and waits for them.
func (c *Cell) Stop() {
	c.end()
	c.running.Wait()
}

// Close stops the loops and closes the store.
func (c *Cell) Close() {
	c.Stop()
	c.Must(c.Store.Close())
}

// Must ends the test if err is not nil.
func (c *Cell) Must(err error) {
	switch {
	case err == nil:
	case c.TB == nil: // a process that only measures
		panic(err)
	default:
		c.Helper()
		c.Fatal(err)
	}
}

// Update runs f in a transaction.
func (c *Cell) Update(f func(*store.Tx)) {
	c.Must(c.Store.Update(c.Ctx, func(tx *store.Tx) error { f(tx); return nil }))
}

// Refused fails the test unless do returns a kind of fault and changes nothing. What loops
// have to do is done before.
func (c *Cell) Refused(name string, kind fault.Kind, do func() error) {
	c.Helper()
	if c.loops {
		synctest.Wait()
	}
	before := c.Store.View().Digest()
	if err := do(); !fault.Is(err, kind) {
		c.Errorf("%s: got %v, want %s", name, err, kind)
	}
	if c.Store.View().Digest() != before {
		c.Errorf("%s: the refusal changed the state", name)
	}
}

// Locate creates the locations that do not exist.
func (c *Cell) Locate(locations ...string) {
	for _, l := range locations {
		if !slices.ContainsFunc(slices.Collect(c.Fleets.Locations.All(c.Store.View(), "")), func(have *fleet.Location) bool { return have.Name == l }) {
			_, err := c.Fleets.Locations.Create(c.Ctx, l, nil)
			c.Must(err)
		}
	}
}

// Anywhere creates an Anywhere fleet in locations.
func (c *Cell) Anywhere(name string, locations ...string) *fleet.Fleet {
	c.Locate(locations...)
	f, err := c.Fleets.Create.Do(c.Ctx, fleet.CreateInput{Name: name, ComputeType: fleet.Anywhere, Locations: locations})
	c.Must(err)
	return f
}

// Register registers a compute of an Anywhere fleet.
func (c *Cell) Register(f *fleet.Fleet, name, location string) *compute.Compute {
	made, err := c.Computes.Register(c.Ctx, compute.RegisterInput{FleetID: f.ID, Name: name, Location: location, IPAddress: "192.0.2.1"})
	c.Must(err)
	return made
}

// Join lets a machine join a location and connects its agent.
func (c *Cell) Join(location string, machine instance.HostInfo) instance.Joined {
	token, _, err := c.Instances.CreateJoinToken(c.Ctx, instance.JoinTokenInput{Location: location})
	c.Must(err)
	j, err := c.Instances.Join(c.Ctx, instance.JoinInput{Token: token, HostInfo: machine})
	c.Must(err)
	c.Must(c.Instances.HostConnected.Do(c.Ctx, instance.HostPresence{HostID: j.HostID, Info: machine}))
	return j
}

// Managed creates a managed fleet on c5.large whose instances run a number of processes.
func (c *Cell) Managed(processes int, change func(*fleet.CreateInput)) *fleet.Fleet {
	in := fleet.CreateInput{
		Name: "managed", ComputeType: fleet.EC2, Managed: &fleet.Managed{BuildID: "build-1", InstanceType: "c5.large"},
		Runtime: fleet.Runtime{Processes: []fleet.ProcessSpec{{LaunchPath: "/local/game/arena", Concurrent: processes}}},
	}
	if change != nil {
		change(&in)
	}
	f, err := c.Fleets.Create.Do(c.Ctx, in)
	c.Must(err)
	return f
}

// Link records what a process is sent.
type Link struct {
	Starts     []compute.Start
	Updates    []compute.Update
	Terminates []time.Time
	Dropped    int
}

func (l *Link) StartGameSession(s compute.Start)   { l.Starts = append(l.Starts, s) }
func (l *Link) UpdateGameSession(u compute.Update) { l.Updates = append(l.Updates, u) }
func (l *Link) Terminate(by time.Time)             { l.Terminates = append(l.Terminates, by) }
func (l *Link) Drop()                              { l.Dropped++ }

// Ready connects a process by a link and makes it ready for a game session on a port.
func (c *Cell) Ready(ref compute.Ref, l compute.Link, port int) {
	_, err := c.Computes.Connect(c.Ctx, compute.ConnectInput{Ref: ref}, l)
	c.Must(err)
	c.Must(c.Computes.Ready(c.Ctx, compute.ReadyInput{Ref: ref, Port: port}))
	c.Must(c.Computes.Hearing(c.Ctx, ref))
}

// Recorded returns every event of a code, oldest first.
func (c *Cell) Recorded(code event.Code) (all []*event.Event) {
	for after := uint64(0); ; {
		entries, err := c.Events.Read(c.Ctx, event.Query{After: after, Limit: 1000})
		c.Must(err)
		for _, e := range entries {
			after = e.Seq
			if e.Value.Code == code {
				all = append(all, e.Value)
			}
		}
		if len(entries) < 1000 {
			return all
		}
	}
}

// Accounts adds the accounts of players, with the provider "studio". It must be called
// before Open.
func (c *Cell) Accounts() *identity.Service {
	ids, err := identity.New(c.Store, identity.Deps{Events: c.Events, Secrets: c.Secrets, Client: &http.Client{Transport: studio{}}}, identity.Options{
		Issuer:    func() string { return "https://play.example/player" },
		Providers: []identity.ProviderConfig{{Name: "studio", Kind: identity.Custom, URL: "https://studio.example/who", Secret: "sixteen letters or more"}},
	})
	c.Must(err)
	return ids
}

// studio is an operator's webhook: a token is the name of its account.
type studio struct{}

func (studio) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	var in struct{ Token string }
	if err := json.UnmarshalRead(r.Body, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, err
	}
	err := json.MarshalWrite(w, map[string]string{"subject": in.Token})
	return w.Result(), err
}
