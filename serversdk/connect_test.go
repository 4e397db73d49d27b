package serversdk_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/serversdk"
)

// refused fails the test unless a visit gets an HTTP status and changes nothing.
func (h *house) refused(t *testing.T, name string, v visit, status int) {
	t.Helper()
	before := h.Store.View().Digest()
	g, r, err := h.dial(v)
	if err == nil {
		t.Errorf("%s: was let in", name)
		g.raw.Close()
		return
	}
	if r == nil || r.StatusCode != status {
		t.Errorf("%s: got %v (%v), want status %d", name, r, err, status)
	} else if status == 403 && body(r) != "{\"message\":\"Forbidden\"}\n" {
		t.Errorf("%s: the body of the refusal tells more than needed", name)
	}
	if after := h.Store.View().Digest(); after != before {
		t.Errorf("%s: the refusal changed the state", name)
	}
}

func TestConnect_Refusals(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		long := make([]byte, 300)
		for i := range long {
			long[i] = 'x'
		}
		for _, c := range []struct {
			name   string
			visit  visit
			status int
		}{
			{"wrong token", visit{id: "p", auth: "68e1-00"}, 403},
			{"no credentials", visit{id: "p", auth: "-"}, 403},
			{"SigV4 where none is checked", visit{id: "p", auth: "SigV4"}, 403},
			{"unknown fleet", visit{id: "p", query: url.Values{"FleetId": {"fleet-x"}}}, 403},
			{"unknown compute", visit{id: "p", query: url.Values{"ComputeId": {"other"}}}, 403},
			{"empty process id", visit{id: ""}, 400},
			{"long process id", visit{id: string(long)}, 400},
			{"control character", visit{id: "a\x00b"}, 400},
			{"separator in the compute's name", visit{id: "p", query: url.Values{"ComputeId": {"a|b"}}}, 400},
			{"no UTF-8", visit{id: "\xff"}, 400},
		} {
			h.refused(t, c.name, c.visit, c.status)
		}
	})
}

// A process that has ended is refused for good; a living one may come back with a token
// that has expired in the meantime.
func TestConnect_EndedProcessAndEndedToken(t *testing.T) {
	in(t, config{computes: compute.Options{TokenLife: time.Minute}}, func(t *testing.T, h *house) {
		over, lives := h.ready("over"), h.ready("lives")
		over.want(200, over.ask("TerminateServerProcess", nil))
		over.lose()
		h.refused(t, "ended process", visit{id: "over"}, 403)
		wait.Settle(90 * time.Second)
		h.refused(t, "new process with an ended token", visit{id: "new"}, 403)
		lives.lose()
		h.connect("lives")
	})
}

// signer is a verifier for tests: it accepts one access key.
type signer struct {
	role    auth.Role
	scope   auth.Scope
	windows []time.Duration
	broken  error
}

func (s *signer) VerifyServer(q url.Values, _ time.Time, window time.Duration) (auth.Caller, error) {
	s.windows = append(s.windows, window)
	if s.broken != nil {
		return auth.Caller{}, s.broken
	}
	if q.Get("X-Amz-Signature") != "good" {
		return auth.Caller{}, fault.New(fault.InvalidSignature, "the signature does not match")
	}
	return auth.Caller{KeyID: "MSTRTEST", Role: s.role, Scope: s.scope}, nil
}

func TestConnect_SigV4(t *testing.T) {
	s := &signer{role: auth.GameServer}
	in(t, config{server: serversdk.Options{Signatures: s}}, func(t *testing.T, h *house) {
		good, bad := url.Values{"X-Amz-Signature": {"good"}}, url.Values{"X-Amz-Signature": {"bad"}}
		h.refused(t, "bad signature", visit{id: "p", auth: "SigV4", query: bad}, 403)
		s.role = auth.GameBackend
		h.refused(t, "role that may not host", visit{id: "p", auth: "SigV4", query: good}, 403)
		s.role, s.broken = auth.GameServer, errors.New("keys cannot be read")
		h.refused(t, "keys that cannot be read", visit{id: "p", auth: "SigV4", query: good}, 503)
		s.broken = nil
		const theFleet = "arn:aws:gamelift:*:*:fleet/*"
		s.scope = auth.Scope{Resources: []string{"arn:aws:gamelift:*:*:fleet/other"}}
		h.refused(t, "a key for another fleet", visit{id: "p", auth: "SigV4", query: good}, 403)
		s.scope.Resources = []string{theFleet, "arn:aws:gamelift:*:*:location/custom-away"}
		h.refused(t, "a key for the fleet in another location", visit{id: "p", auth: "SigV4", query: good}, 403)
		s.scope.Resources = []string{theFleet, "arn:aws:gamelift:*:*:location/" + location}
		first, _, err := h.dial(visit{id: "p", auth: "SigV4", query: good})
		must(t, err)
		if got := s.windows[len(s.windows)-1]; got != 24*time.Hour {
			t.Errorf("first connection: dates may be off by %s, want 24h", got)
		}
		first.lose()
		again, _, err := h.dial(visit{id: "p", auth: "SigV4", query: good})
		must(t, err)
		if got := s.windows[len(s.windows)-1]; got < 1000*time.Hour {
			t.Errorf("reconnect: dates may be off by %s, want any", got)
		}
		again.lose()
		h.refused(t, "no credentials, from another host", visit{id: "p", auth: "-", from: "203.0.113.9"}, 403)
		h.refused(t, "no credentials, another process", visit{id: "q", auth: "-"}, 403)
		bare, _, err := h.dial(visit{id: "p", auth: "-"})
		if err != nil {
			t.Fatalf("no credentials, from the host that signed before: %v", err)
		}
		bare.want(200, bare.ask("TerminateServerProcess", nil))
		bare.lose()
		h.refused(t, "no credentials, ended process", visit{id: "p", auth: "-"}, 403)
	})
}

// Only a process that had signed may come back without credentials, not one that had
// connected with a token.
func TestConnect_NoCredentialsAfterToken(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		h.ready("p").lose()
		h.refused(t, "no credentials", visit{id: "p", auth: "-"}, 403)
	})
}

func TestConnect_AnyCredentials(t *testing.T) {
	in(t, config{server: serversdk.Options{AcceptAnyCredentials: true}}, func(t *testing.T, h *house) {
		for _, auth := range []string{"-", "whatever", "SigV4"} {
			if _, _, err := h.dial(visit{id: "p" + auth, auth: auth}); err != nil {
				t.Errorf("credentials %q: %v", auth, err)
			}
		}
		h.refused(t, "unknown compute", visit{id: "p", query: url.Values{"ComputeId": {"other"}}}, 403)
	})
}

func TestConnect_Limits(t *testing.T) {
	opts := serversdk.Options{MaxConnections: 2, RefusalBurst: 3, RefusalRate: 1}
	in(t, config{server: opts}, func(t *testing.T, h *house) {
		first := h.connect("p1")
		h.connect("p2")
		h.refused(t, "third connection of the compute", visit{id: "p3"}, 429)
		first.lose()
		h.connect("p3")
		for range 3 {
			h.refused(t, "wrong token", visit{id: "x", auth: "no"}, 403)
		}
		h.refused(t, "wrong token, too often", visit{id: "x", auth: "no"}, 429)
		h.refused(t, "wrong token, another host", visit{id: "x", auth: "no", from: "203.0.113.9"}, 403)
		h.refused(t, "wrong token, another compute", visit{id: "x", auth: "no", query: url.Values{"ComputeId": {"other"}}}, 403)
		wait.Settle(time.Second)
		h.refused(t, "wrong token, later", visit{id: "x", auth: "no"}, 403)
	})
}

// Refusals for invented computes count against a limit per address, ten times as high.
func TestConnect_RefusalsOfOneAddress(t *testing.T) {
	in(t, config{server: serversdk.Options{RefusalBurst: 2, RefusalRate: 1}}, func(t *testing.T, h *house) {
		for i := range 20 {
			h.refused(t, "made up", visit{id: "x", auth: "no", query: url.Values{"ComputeId": {fmt.Sprint("c", i)}}}, 403)
		}
		h.refused(t, "one too many", visit{id: "x", auth: "no", query: url.Values{"ComputeId": {"c20"}}}, 429)
		h.connect("good")
	})
}

// Processes with valid credentials are accepted from a host with too many refusals,
// living ones and new ones.
func TestConnect_GoodCredentialsPassTheRefusalLimit(t *testing.T) {
	in(t, config{server: serversdk.Options{RefusalBurst: 1}}, func(t *testing.T, h *house) {
		h.ready("p").lose()
		h.refused(t, "wrong token", visit{id: "x", auth: "no"}, 403)
		h.refused(t, "wrong token", visit{id: "x", auth: "no"}, 429)
		h.connect("p")
		h.connect("new")
	})
}

// While so many changes wait that those of the API are refused, game servers still
// connect, and are answered as soon as the store continues.
func TestConnect_BeforeTheAPI(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver, pending: 8}, func(t *testing.T, h *house) {
		driver.shut()
		api := store.WithYield(h.Ctx)
		for i := range 6 {
			go h.Fleets.Locations.Create(api, fmt.Sprint("custom-", i), nil)
		}
		synctest.Wait()
		if _, err := h.Fleets.Locations.Create(api, "custom-6", nil); !fault.Is(err, fault.Throttling) {
			t.Errorf("a change by the API: %v", err)
		}
		connected := make(chan error)
		go func() {
			_, _, err := h.dial(visit{id: "p"})
			connected <- err
		}()
		synctest.Wait()
		driver.open()
		if err := <-connected; err != nil {
			t.Errorf("a game server: %v", err)
		}
		if _, err := h.Fleets.Locations.Create(api, "custom-6", nil); err != nil {
			t.Errorf("a change by the API, with room: %v", err)
		}
	})
}

// A failing store is 503: the SDKs try again.
func TestConnect_StoreTrouble(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver}, func(t *testing.T, h *house) {
		driver.failing.Store(true)
		_, r, err := h.dial(visit{id: "p"})
		if err == nil || r == nil || r.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("got %v, %v; want 503", r, err)
		}
		driver.failing.Store(false)
		wait.Pass(time.Minute) // the store reads its state again
		h.connect("p")
	})
}

// A client that gives up before its connection is complete is not left counted as
// connected.
func TestConnect_ClientGivesUp(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver}, func(t *testing.T, h *house) {
		driver.shut()
		raw, err := h.wire.dial(h.Ctx, "198.51.100.1")
		must(t, err)
		u, _ := url.Parse(h.url(visit{id: "p"}))
		must(t, writeUpgrade(raw, u))
		synctest.Wait()
		raw.Close()
		driver.open()
		synctest.Wait()
		if p := h.process("p"); p.Connected {
			t.Error("the process counts as connected")
		}
		if n := h.server.Connections(); n != 0 {
			t.Errorf("%d connections are counted", n)
		}
	})
}
