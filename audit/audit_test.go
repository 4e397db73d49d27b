package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

type thing struct{ ID string }

// site is a store with an audit log and a command that changes something.
type site struct {
	*store.Store
	log    *audit.Log
	things *store.Table[thing]
	make   *store.Command[string, struct{}]
}

func newSite(t testing.TB, driver store.Driver, o audit.Options) *site {
	t.Helper()
	s := &site{Store: store.New(store.Options{Driver: driver})}
	s.log = audit.New(s.Store, o)
	s.things = store.NewTable(s.Store, store.TableSpec[thing]{Name: "thing", Key: func(v *thing) string { return v.ID }})
	s.make = store.NewCommand(s.Store, "thing.make", func(tx *store.Tx, id string) (struct{}, error) {
		if id == "bad" {
			return struct{}{}, errors.New("no")
		}
		if id != "" {
			s.things.Put(tx, &thing{id})
			tx.Concerns("arn:thing/" + id)
		}
		return struct{}{}, nil
	})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// begin begins a request to the API.
func (s *site) begin(o audit.Origin) (context.Context, *audit.Request) {
	return s.log.Begin(context.Background(), "api", func() audit.Origin { return o })
}

// act simulates a request by a key that runs commands.
func (s *site) act(t *testing.T, action auth.Action, outcome string, things ...string) {
	t.Helper()
	ctx, q := s.begin(audit.Origin{Source: "10.0.0.1", UserAgent: "test\x1b", RequestID: "r-1"})
	q.SetCaller(auth.Caller{KeyID: "KEY", Name: "ci", Role: auth.Operator}, action)
	for _, id := range things {
		s.make.Do(ctx, id) // callers of act pass the outcome
	}
	q.End(outcome)
}

// lines returns the records in the log.
func (s *site) lines(t *testing.T) []string {
	t.Helper()
	s.log.Flush(t.Context())
	entries, err := s.log.Read(t.Context(), audit.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		r := e.Value
		out = append(out, fmt.Sprintf("%d %s %s%s %s %v x%d", e.Seq, r.Action, r.KeyID, r.ClaimedKeyID, r.Outcome, r.Resources, r.Count))
	}
	return out
}

func (s *site) whole(t *testing.T) audit.Verdict {
	t.Helper()
	v, err := s.log.Verify(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRecords(t *testing.T) {
	t.Parallel()
	s := newSite(t, store.NewMemory(), audit.Options{})
	s.act(t, "CreateFleet", audit.OK, "a", "b")               // one record, with the first change
	s.act(t, "UpdateAlias", audit.OK, "")                     // changed nothing
	s.act(t, "DeleteFleet", "InvalidRequestException", "bad") // failed
	s.act(t, "CreateFleet", "InternalServiceException", "c")  // changed something and failed
	s.act(t, "DescribeFleetAttributes", audit.OK)             // reads
	s.act(t, "GetComputeAuthToken", audit.OK)                 // reads a secret
	s.act(t, "CreateGameSession", audit.OK, "d")              // game traffic
	want := []string{
		"1 CreateFleet KEY ok [arn:thing/a] x0",
		"2 CreateFleet KEY ok [arn:thing/c] x0",
		"3 UpdateAlias KEY ok [] x0",
		"4 DeleteFleet KEY InvalidRequestException [] x0",
		"5 CreateFleet KEY InternalServiceException [] x0",
		"6 GetComputeAuthToken KEY ok [] x0",
	}
	if got := s.lines(t); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	entries, err := s.log.Read(t.Context(), audit.Query{KeyID: "KEY", Action: "CreateFleet", Limit: 1, Newest: true})
	if err != nil || len(entries) != 1 || entries[0].Seq != 5 {
		t.Errorf("the newest CreateFleet of the key is %v, %v", entries, err)
	}
	if r := entries[0].Value; r.RequestID != "r-1" || r.UserAgent != `test\u001b` || r.Source != "10.0.0.1" || r.Role != "operator" || r.KeyName != "ci" {
		t.Errorf("the record is %+v", r)
	}
	if v := s.whole(t); v.Problem != "" || v.Records != 6 {
		t.Errorf("the chain is %+v", v)
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[audit.Level]int{audit.All: 2, audit.Operators: 1, audit.Off: 0} {
		s := newSite(t, store.NewMemory(), audit.Options{Level: level})
		s.act(t, "CreateGameSession", audit.OK, "a")
		s.act(t, "CreateFleet", audit.OK, "b")
		if got := s.lines(t); len(got) != want {
			t.Errorf("%s records %v", level, got)
		}
	}
}

// TestRefusals checks that a flood of refusals creates few records, and that all are
// counted.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, store.NewMemory(), audit.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		go s.log.Run(ctx)
		for i := range 5000 {
			_, q := s.begin(audit.Origin{Source: "10.0.0.9", ClaimedKeyID: "STOLEN"})
			if i%2 == 0 { // the claim counts until the body is checked
				q.SetCaller(auth.Caller{KeyID: "STOLEN", Role: auth.Admin}, "DeleteFleet")
			}
			q.SetRefused("DeleteFleet", fault.New(fault.InvalidSignature, "no"))
			q.End("HTTP 403")
		}
		wait.Pass(2 * time.Minute)
		cancel()
		want := []string{"1 DeleteFleet STOLEN InvalidSignatureException [] x0", "2 DeleteFleet STOLEN InvalidSignatureException [] x4999"}
		if got := s.lines(t); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("recorded %q", got)
		}
		for i := range 5000 { // each from another address
			_, q := s.begin(audit.Origin{Source: fmt.Sprint(i)})
			q.SetRefused("DeleteFleet", fault.New(fault.MissingAuthentication, "no"))
			q.End("HTTP 403")
		}
		s.log.Flush(t.Context())
		newest, err := s.log.Read(t.Context(), audit.Query{Newest: true, Action: "any", Limit: 1})
		if err != nil || len(newest) != 1 || newest[0].Seq > 1500 || newest[0].Value.Count < 3000 {
			t.Errorf("a flood from 5000 addresses ends with the record %+v, %v", newest, err)
		}
		if v := s.whole(t); v.Problem != "" {
			t.Errorf("the chain is %+v", v)
		}
		s.Close()
	})
}

// held is a driver whose commits wait for a gate, if there is one.
type held struct {
	store.Driver
	gate chan struct{}
}

func (h *held) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := h.Driver.Open(ctx, cell, schema)
	return heldDB{db, h}, err
}

type heldDB struct {
	store.DB
	held *held
}

func (d heldDB) Commit(ctx context.Context, b *store.Batch) error {
	if d.held.gate != nil {
		<-d.held.gate
	}
	return d.DB.Commit(ctx, b)
}

// Records that are being appended when Run is ended are kept.
func TestRun_Finishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := &held{Driver: store.NewMemory()}
		s := newSite(t, driver, audit.Options{})
		driver.gate = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.log.Run(ctx)
		}()
		s.act(t, "DeleteFleet", "NotFoundException")
		wait.Pass(time.Second) // Run has taken the record, and waits for the commit
		cancel()
		synctest.Wait()
		close(driver.gate)
		<-ended
		if got := s.lines(t); len(got) != 1 {
			t.Errorf("the log has %q, want the refusal", got)
		}
		s.Close()
	})
}

// TestAnchor prunes by retention: the chain is valid from its new beginning.
func TestAnchor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, store.NewMemory(), audit.Options{Retention: time.Hour})
		for i := range 5 {
			s.act(t, "CreateFleet", audit.OK, fmt.Sprint(i))
			wait.Pass(20 * time.Minute)
		}
		if err := s.log.Anchor(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if v := s.whole(t); v.Problem != "" || v.From != 3 || v.Records != 3 {
			t.Errorf("after an hour and 40 minutes the chain is %+v", v)
		}
		wait.Pass(48 * time.Hour) // the store prunes in this time
		if err := s.log.Anchor(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if v := s.whole(t); v.Problem != "" || v.Records != 0 || v.From != 6 {
			t.Errorf("after two days the chain is %+v", v)
		}
		s.act(t, "CreateFleet", audit.OK, "new")
		if v := s.whole(t); v.Problem != "" || v.Records != 1 {
			t.Errorf("with a new record the chain is %+v", v)
		}
		s.Close()
	})
}
