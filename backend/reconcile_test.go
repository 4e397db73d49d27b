package backend

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/session"
)

// deaf is the real services, and a backend that receives no events: it reads a log that
// nothing is written to.
type deaf struct {
	*testing.T
	ctx     context.Context
	st      *store.Store
	events  *event.Log // that the services write to
	matches *flexmatch.Service
	places  *placement.Service
	b       *Backend
	loops   []func(context.Context) // all except the backend's
	stops   []func()

	committing func() // called before each commit, if set
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

const (
	patient = time.Minute // of a request for a match
	whole   = reconcileEvery + 2*time.Second
	duel    = `{"name":"duel","ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`
)

func newDeaf(t *testing.T) *deaf {
	t.Helper()
	d := &deaf{T: t, ctx: context.Background()}
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	d.must(err)
	d.st = store.New(store.Options{Driver: telling{store.NewMemory(), d}})
	events, tags, home := event.New(d.st), tag.New(d.st), arn.Home{Region: "us-east-1", Account: "000000000000"}
	d.events = events
	fleets := fleet.New(d.st, fleet.Deps{Events: events, Tags: tags}, fleet.Options{Home: home})
	computes := compute.New(d.st, compute.Deps{Events: events, Fleets: fleets, Tags: tags}, compute.Options{Tokens: master})
	sessions := session.New(d.st, events, fleets, computes, session.Options{})
	d.places = placement.New(d.st, placement.Deps{Events: events, Tags: tags, Fleets: fleets, Computes: computes, Sessions: sessions}, placement.Options{})
	d.matches = flexmatch.New(d.st, flexmatch.Deps{Home: home, Events: events, Tags: tags, Sessions: sessions, Placements: d.places}, flexmatch.Options{})
	ids, err := identity.New(d.st, identity.Deps{Events: events, Secrets: master, Client: &http.Client{Transport: studio{}}}, identity.Options{
		Issuer:    func() string { return "https://play.example/player" },
		Providers: []identity.ProviderConfig{{Name: "studio", Kind: identity.Custom, URL: "https://studio.example/who", Secret: "sixteen letters or more"}},
	})
	d.must(err)
	silence := store.New(store.Options{Driver: store.NewMemory()})
	nothing := event.New(silence)
	d.b, err = New(Deps{
		Store: d.st, Events: nothing, Identity: ids, Matching: NewMatching(d.st, d.matches), Fleets: fleets, Sessions: sessions, Placements: d.places,
		Base: func() string { return "http://play.example" },
	}, Config{Open: true})
	d.must(err)
	d.must(silence.Open(d.ctx))
	d.must(d.st.Open(d.ctx))
	d.loops = []func(context.Context){computes.Run, sessions.Run, d.places.Run, d.matches.Run}
	d.configure(fleets)
	d.stops = append(d.stops, func() { d.must(d.st.Close()); d.must(silence.Close()) })
	return d
}

// configure creates a queue without game servers, and the matchmakers "placed", whose
// matches wait for one, "slow", which searches longer than a ticket is kept after its
// end, and "alone", whose matches have no game session.
func (d *deaf) configure(fleets *fleet.Service) {
	d.Helper()
	_, err := fleets.Locations.Create(d.ctx, "custom-home", nil)
	d.must(err)
	f, err := fleets.Create.Do(d.ctx, fleet.CreateInput{Name: "f", ComputeType: fleet.Anywhere, Locations: []string{"custom-home"}})
	d.must(err)
	_, err = d.places.Queues.Create.Do(d.ctx, placement.QueueInput{Queue: placement.Queue{
		Name: "empty", Timeout: patient, Destinations: []string{fleets.Home().Of("fleet", f.ID)},
	}})
	d.must(err)
	_, err = d.matches.RuleSets.Create(d.ctx, flexmatch.RuleSetInput{Name: "duel", Body: duel})
	d.must(err)
	for _, c := range []flexmatch.Configuration{
		{Name: "placed", Queues: []string{d.places.Queues.ARN("empty")}, RequestTimeout: patient},
		{Name: "slow", Mode: flexmatch.Standalone, RequestTimeout: 2 * ticketKept},
		{Name: "alone", Mode: flexmatch.Standalone, RequestTimeout: patient},
	} {
		c.RuleSet = "duel"
		_, err = d.matches.Configurations.Create(d.ctx, flexmatch.ConfigurationInput{Configuration: c})
		d.must(err)
	}
}

func (d *deaf) must(err error) {
	if err != nil {
		d.Helper()
		d.Fatal(err)
	}
}

// run starts a loop; the returned function ends it.
func (d *deaf) run(loop func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(d.ctx)
	var running sync.WaitGroup
	running.Go(func() { loop(ctx) })
	return func() { cancel(); running.Wait() }
}

// inDeaf runs f in virtual time, with the matchmaker and the backend's watcher running.
func inDeaf(t *testing.T, f func(*deaf)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDeaf(t)
		for _, loop := range append(d.loops, d.b.Run) {
			d.stops = append(d.stops, d.run(loop))
		}
		defer func() {
			for i := range d.stops {
				d.stops[len(d.stops)-1-i]()
			}
		}()
		f(d)
		synctest.Wait()
	})
}

func (d *deaf) ask(player, matchmaker string) *Ticket {
	d.Helper()
	t, err := d.b.start(d.ctx, player, "guest", &protocol.TicketRequest{Matchmaker: matchmaker})
	d.must(err)
	return t
}

// state returns what a player would see.
func (d *deaf) state(id string) State {
	d.Helper()
	synctest.Wait()
	t := d.b.t.tickets.Get(d.b.st.View(), id)
	if t == nil {
		return ""
	}
	return t.Found.State
}

func (d *deaf) wants(id string, want State) {
	d.Helper()
	if got := d.state(id); got != want {
		d.Errorf("the ticket is %q, want %q", got, want)
	}
}

// With every event lost, each end of a ticket is seen within one round of the
// reconciler, and an hour later the ticket is deleted.
func TestReconcile_TicketsEndWithoutEvents(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		timesOut, cancelled := d.ask("anna", "placed"), d.ask("bert", "alone")
		d.must(d.matches.Stop(d.ctx, cancelled.ID)) // by an operator, without the backend
		time.Sleep(whole)
		d.wants(timesOut.ID, protocol.TicketStateSearching)
		d.wants(cancelled.ID, protocol.TicketStateCancelled)
		one, two := d.ask("carl", "alone"), d.ask("dora", "alone")
		time.Sleep(whole)
		d.wants(one.ID, protocol.TicketStateCompleted)
		d.wants(two.ID, protocol.TicketStateCompleted)
		time.Sleep(patient)
		d.wants(timesOut.ID, protocol.TicketStateTimedOut)
		time.Sleep(ticketKept + whole)
		for _, ticket := range []*Ticket{timesOut, cancelled, one, two} {
			d.wants(ticket.ID, "")
		}
	})
}

// An observation does not overwrite a newer state.
func TestObserve_OldNews(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		ticket := d.ask("anna", "placed")
		time.Sleep(time.Second) // the matchmaker has searched; the row shows that after the next look
		old, differs := d.b.see(d.ctx, ticket)
		if !differs || old.Found.State != protocol.TicketStateSearching {
			t.Fatalf("seen: %+v", old.Found)
		}
		d.ask("bert", "placed")
		time.Sleep(whole)
		d.wants(ticket.ID, protocol.TicketStatePlacing)
		_, err := d.b.cmd.observe.Do(d.ctx, []observation{old})
		d.must(err)
		d.wants(ticket.ID, protocol.TicketStatePlacing)
	})
}

// A match that never gets a game server ends too.
func TestReconcile_MatchWithoutAGameServer(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		one, two := d.ask("anna", "placed"), d.ask("bert", "placed")
		time.Sleep(whole)
		d.wants(one.ID, protocol.TicketStatePlacing)
		time.Sleep(2*patient + whole)
		for _, ticket := range []*Ticket{one, two} {
			if got := d.state(ticket.ID); !over(got) || got == protocol.TicketStateCompleted {
				t.Errorf("the ticket is %q, want its end", got)
			}
		}
	})
}

// A ticket is kept as long as it is open, however long that takes.
func TestReconcile_OpenTicketsAreKept(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		one := d.ask("anna", "slow") // and nobody else requests one
		time.Sleep(2*ticketKept - patient)
		d.wants(one.ID, protocol.TicketStateSearching)
		time.Sleep(2*patient + whole)
		if got := d.state(one.ID); !over(got) {
			t.Errorf("the ticket is %q, want its end", got)
		}
	})
}

// A ticket that the matchmaker never received, because the server ended between the two
// writes, is not waited for; the player can request another.
func TestReconcile_LostTicket(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		lost, err := d.b.cmd.open.Do(d.ctx, openArgs{Ticket: Ticket{Matchmaker: "alone", Configuration: "alone", Players: []string{"anna"}}})
		d.must(err)
		time.Sleep(lostAfter - time.Second)
		d.wants(lost.ID, protocol.TicketStateQueued)
		time.Sleep(time.Second + whole)
		d.wants(lost.ID, protocol.TicketStateFailed)
		again := d.ask("anna", "alone")
		time.Sleep(whole)
		d.wants(again.ID, protocol.TicketStateSearching)
	})
}

// What ended while the backend was away is seen when it is back.
func TestReconcile_AtStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDeaf(t)
		for _, loop := range d.loops {
			d.stops = append(d.stops, d.run(loop))
		}
		ticket := d.ask("anna", "alone")
		d.must(d.matches.Stop(d.ctx, ticket.ID))
		time.Sleep(patient)
		d.wants(ticket.ID, protocol.TicketStateQueued) // nobody has looked
		d.stops = append(d.stops, d.run(d.b.Run))
		d.wants(ticket.ID, protocol.TicketStateCancelled)
		for i := range d.stops {
			d.stops[len(d.stops)-1-i]()
		}
	})
}
