package hosts_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/hosts"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

const region = "us-east-1"

// facts is what each machine of the tests offers: room for one instance of c5.large.
var facts = protocol.Facts{
	Name: "machine", IPAddress: "192.0.2.9", OS: "linux", Arch: "amd64", CPUMillis: 2000, MemoryMiB: 4096, PortFrom: 20000, PortTo: 20999,
}

// yard is the door in front of the real domain. The tests are its agents and operators.
type yard struct {
	*celltest.Cell
	t       *testing.T
	objects *object.Service
	images  *container.Service
	url     string
	door    *hosts.Server
}

func open(t *testing.T) *yard {
	t.Helper()
	return openWith(t, func(*hosts.Options, *yard) {})
}

// openWith is like open, with changed options.
func openWith(t *testing.T, change func(*hosts.Options, *yard)) *yard {
	t.Helper()
	t.Parallel()
	y := &yard{t: t}
	y.Cell = celltest.New(t, celltest.Options{Definitions: y.definition})
	y.images = container.New(y.Store, container.Deps{Events: y.Events, Tags: y.Tags}, container.Options{Home: celltest.Home})
	y.objects = object.New(y.Store, object.Options{Blobs: blob.New(t.TempDir())})
	builds := build.New(y.Store, build.Deps{Events: y.Events, Tags: y.Tags, Objects: y.objects}, build.Options{Home: celltest.Home})
	o := hosts.Options{
		Store: y.Store, Computes: y.Computes, Instances: y.Instances, Builds: builds, Containers: y.images, Objects: y.objects,
		GameServerURL: "wss://muster.test", Home: celltest.Home, BuildKey: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)),
		Allow: func(r *http.Request, _ auth.Action, _ ...string) (auth.Caller, error) {
			if r.Header.Get("Operator") == "" {
				return auth.Caller{}, fault.New(fault.AccessDenied, "not an operator")
			}
			return auth.Caller{Name: "operator"}, nil
		},
	}
	change(&o, y)
	door := hosts.New(o)
	y.door = door
	y.Open()
	y.Start(y.Computes.Run, y.Instances.Run)
	srv := httptest.NewServer(door)
	y.url = srv.URL
	t.Cleanup(func() {
		door.Stop()
		srv.Close()
		y.Close()
	})
	return y
}

// definition looks up a container group definition, as the server does.
func (y *yard) definition(r store.Reader, name string) (fleet.Definition, error) {
	v, err := y.images.Find(r, name, 0)
	if err != nil {
		return fleet.Definition{}, err
	}
	d := fleet.Definition{Group: fleet.Group{Name: v.Name, Version: v.Number, MemoryMiB: v.Memory, CPUMillis: 500, Ports: v.Ports()}, Status: string(v.Status), Ready: true}
	for c := range v.Containers() {
		for _, p := range c.Ports {
			d.Ranges = append(d.Ranges, fleet.PortRange{Container: c.Name, Game: c == v.Game, From: p.From, To: p.To, Protocol: p.Protocol})
		}
	}
	return d, nil
}

// request sends a request and decodes the response into out, unless that is nil. It fails
// the test unless the response has a status.
func (y *yard) request(status int, method, path string, header http.Header, body io.Reader, out any) {
	y.Helper()
	r, err := http.NewRequestWithContext(y.Ctx, method, y.url+path, body)
	y.Must(err)
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	y.Must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	y.Must(err)
	if answer.StatusCode != status {
		y.Fatalf("%s %s: %s %s, want %d", method, path, answer.Status, text, status)
	}
	if out != nil {
		y.Must(json.Unmarshal(text, out))
	}
}

// operate sends a request of an operator.
func (y *yard) operate(method, path string, out any) {
	y.Helper()
	y.request(http.StatusOK, method, path, http.Header{"Operator": {"yes"}}, nil, out)
}

// tryJoin sends a machine's request to join.
func (y *yard) tryJoin(status int, token string, out any) {
	y.Helper()
	body, err := json.Marshal(protocol.JoinRequest{Token: token, Facts: facts})
	y.Must(err)
	y.request(status, http.MethodPost, protocol.PathJoin, http.Header{}, bytes.NewReader(body), out)
}

// join makes a machine a host, with a new token.
func (y *yard) join() (j protocol.JoinResponse) {
	y.Helper()
	var token protocol.JoinToken
	y.operate(http.MethodPost, "/agent/v1/tokens?life=1h", &token)
	y.tryJoin(http.StatusOK, token.Token, &j)
	return j
}

func credential(j protocol.JoinResponse) http.Header {
	return http.Header{"Authorization": {"Bearer " + j.HostID + "." + j.Secret}}
}

// agent is a host's agent.
type agent struct {
	*yard
	protocol.JoinResponse
	ws *websocket.Conn
}

// connect connects the agent of a host, which says Hello.
func (y *yard) connect(j protocol.JoinResponse) *agent {
	y.Helper()
	return y.connectAs(j, facts)
}

// connectAs is like connect, with other facts.
func (y *yard) connectAs(j protocol.JoinResponse, facts protocol.Facts) *agent {
	y.Helper()
	ws, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(y.url, "http")+protocol.PathHost, credential(j))
	y.Must(err)
	answer.Body.Close()
	y.t.Cleanup(func() { ws.Close() })
	a := &agent{yard: y, JoinResponse: j, ws: ws}
	a.send(protocol.Message{Hello: &protocol.Hello{Facts: facts, Run: "run-1"}})
	return a
}

func (a *agent) send(m protocol.Message) {
	a.Helper()
	frame, err := protocol.Encode(m)
	a.Must(err)
	a.Must(a.ws.WriteMessage(websocket.TextMessage, frame))
}

// await returns the first message for which is returns true; others before it are
// skipped.
func (a *agent) await(what string, is func(protocol.Message) bool) protocol.Message {
	a.Helper()
	a.Must(a.ws.SetReadDeadline(time.Now().Add(wait.Patience())))
	for {
		_, frame, err := a.ws.ReadMessage()
		if err != nil {
			a.Fatalf("waiting for %s: %v", what, err)
		}
		m, err := protocol.Decode(frame)
		a.Must(err)
		if is(m) {
			return m
		}
	}
}

// assigned waits until a number of instances is assigned.
func (a *agent) assigned(n int) []protocol.Desired {
	a.Helper()
	m := a.await("an assignment", func(m protocol.Message) bool { return m.Assign != nil && len(m.Assign.Instances) == n })
	return m.Assign.Instances
}

// status reports an instance with processes that run there.
func (a *agent) status(d protocol.Desired, phase protocol.Phase, processes ...string) {
	a.Helper()
	i := protocol.Instance{InstanceID: d.InstanceID, Phase: phase}
	for _, id := range processes {
		i.Processes = append(i.Processes, protocol.Process{ProcessID: id, PID: 1, Started: time.Now()})
	}
	a.send(protocol.Message{Status: &protocol.Status{Instances: []protocol.Instance{i}}})
}

// exited reports the end of a process, and returns Muster's request for its logs.
func (a *agent) exited(e protocol.Exited) protocol.Collect {
	a.Helper()
	a.send(protocol.Message{Exited: &e})
	return *a.await("a request for logs", func(m protocol.Message) bool { return m.Collect != nil }).Collect
}

// managed creates a managed fleet.
func (y *yard) managed() *fleet.Fleet { return y.certified("") }

// certified creates a managed fleet whose game servers have certificates of a type.
func (y *yard) certified(certificates string) *fleet.Fleet {
	y.Helper()
	return y.Managed(2, func(in *fleet.CreateInput) { in.Managed.CertificateType = certificates })
}

// sync waits until everything that the agent has sent is handled.
func (a *agent) sync() {
	a.Helper()
	a.send(protocol.Message{Exited: &protocol.Exited{Seq: 1, InstanceID: "unknown"}})
	a.await("the acknowledgment", func(m protocol.Message) bool { return m.Ack != nil })
}

// ready runs a game server that the agent has reported until it is ready, with the token of its
// instance.
func (a *agent) ready(d protocol.Desired, id string) compute.Ref {
	a.Helper()
	a.sync()
	ref := compute.Ref{FleetID: d.FleetID, ComputeName: d.Compute, ProcessID: id}
	a.Must(a.Computes.CheckToken(ref, d.AuthToken, time.Now()))
	a.Ready(ref, &celltest.Link{}, d.PortFrom)
	return ref
}

// shown returns the host as operators see it.
func (a *agent) shown() (h protocol.Host) {
	a.Helper()
	a.operate(http.MethodGet, protocol.PathHosts+"/"+a.HostID, &h)
	return h
}

// A token admits one machine; the status of a refusal shows its cause.
func TestJoin(t *testing.T) {
	y := open(t)
	var token protocol.JoinToken
	y.operate(http.MethodPost, "/agent/v1/tokens", &token)
	var j protocol.JoinResponse
	y.tryJoin(http.StatusOK, token.Token, &j)
	if h := y.Instances.Host(y.Store.View(), j.HostID); h == nil || h.Name != facts.Name || h.CPUMillis != facts.CPUMillis || h.JoinToken != token.TokenID || h.Connected {
		t.Errorf("the host is %+v", h)
	}
	if j.Location != region || len(j.BuildKey) != ed25519.PublicKeySize {
		t.Errorf("joined %s, with a build key of %d bytes", j.Location, len(j.BuildKey))
	}
	y.tryJoin(http.StatusUnauthorized, token.Token, nil)
	y.tryJoin(http.StatusUnauthorized, "join-unknown", nil)
	y.request(http.StatusBadRequest, http.MethodPost, protocol.PathJoin, http.Header{}, strings.NewReader("{"), nil)
	y.request(http.StatusForbidden, http.MethodPost, "/agent/v1/tokens", http.Header{}, nil, nil)
}

// An agent needs the secret of a host that was not removed.
func TestConnect_Refused(t *testing.T) {
	y := open(t)
	j := y.join()
	y.request(http.StatusUnauthorized, http.MethodGet, protocol.PathHost, http.Header{}, nil, nil)
	y.request(http.StatusUnauthorized, http.MethodGet, protocol.PathHost, credential(protocol.JoinResponse{HostID: j.HostID, Secret: "guess"}), nil, nil)
	var gone protocol.Removal
	y.operate(http.MethodDelete, "/agent/v1/hosts/"+j.HostID+"?now=true", &gone)
	if !gone.Gone {
		t.Error("the host is still there")
	}
	y.request(http.StatusGone, http.MethodGet, protocol.PathHost, credential(j), nil, nil)
	y.request(http.StatusUnauthorized, http.MethodGet, protocol.PathHost, credential(protocol.JoinResponse{HostID: j.HostID, Secret: "guess"}), nil, nil)
}

// An agent is told that the server stops, so that it looks for it again at once.
func TestStop(t *testing.T) {
	y := open(t)
	a := y.connect(y.join())
	a.await("an assignment", func(m protocol.Message) bool { return m.Assign != nil })
	y.door.Stop()
	for {
		if _, _, err := a.ws.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
				t.Errorf("the connection ended with %v", err)
			}
			return
		}
	}
}

// A host is assigned an instance, its reports make the fleet ACTIVE, and what Muster ends
// is ended there.
func TestAssignAndReport(t *testing.T) {
	y := open(t)
	a := y.connect(y.join())
	a.assigned(0)
	f := y.managed()
	d := a.assigned(1)[0]
	if d.FleetID != f.ID || d.Build.SHA256 != "ab" || d.SDKURL != "wss://muster.test" || len(d.Runtime.Processes) != 1 || d.Stop != protocol.Keep {
		t.Errorf("assigned %+v", d)
	}
	if err := d.Build.Verify(a.BuildKey); err != nil {
		t.Errorf("the build is not signed with the key of the join: %v", err)
	}
	for _, phase := range []protocol.Phase{protocol.Downloading, protocol.Validating, protocol.Building} {
		a.status(d, phase)
	}
	a.status(d, protocol.Activating, "p", "q")
	ref := a.ready(d, "p")
	if got := y.Fleets.Get(y.Store.View(), f.ID).Status; got != fleet.Active {
		t.Errorf("with a ready process the fleet is %s", got)
	}
	y.Must(y.Store.Update(t.Context(), func(tx *store.Tx) error {
		y.Computes.Kill(tx, ref.Key(), event.ServerProcessForceTerminated, "a test")
		return nil
	}))
	kill := a.await("the order to kill", func(m protocol.Message) bool { return m.Kill != nil }).Kill
	if kill.ProcessID != "p" || kill.InstanceID != d.InstanceID || kill.Reason != string(event.ServerProcessForceTerminated) {
		t.Errorf("to kill: %+v", kill)
	}
	_, err := y.Fleets.Capacities.Update.Do(t.Context(), fleet.CapacityInput{FleetID: f.ID, Desired: new(0)})
	y.Must(err)
	a.await("the end of the instance", func(m protocol.Message) bool {
		return m.Assign != nil && len(m.Assign.Instances) == 1 && m.Assign.Instances[0].Stop == protocol.Drain
	})
	if h := a.shown(); h.Instances != 1 || h.Processes != 2 {
		t.Errorf("the host shows %d instances and %d processes, want 1 and 2", h.Instances, h.Processes)
	}
	a.status(d, protocol.Gone)
	a.assigned(0)
	if h := a.shown(); h.Instances != 0 {
		t.Errorf("the host shows %d instances, and the last is GONE", h.Instances)
	}
}

// A process that had not connected when its instance was removed is killed, also by an agent that
// was gone before it could do so. While that is away, its host has what it was told to run.
func TestKill_AgentStartedAgain(t *testing.T) {
	y := open(t)
	a := y.connect(y.join())
	f := y.managed()
	d := a.assigned(1)[0]
	a.status(d, protocol.Activating, "p", "q")
	a.ready(d, "q") // which makes the fleet ACTIVE
	_, err := y.Fleets.Capacities.Update.Do(t.Context(), fleet.CapacityInput{FleetID: f.ID, Desired: new(0)})
	y.Must(err)
	kills := func(m protocol.Message) bool { return m.Kill != nil && m.Kill.ProcessID == "p" }
	a.await("the order to kill", kills)
	a.ws.Close()
	h := a.shown()
	for h.Connected {
		h = a.shown()
	}
	if h.Instances != 1 || h.Processes != 1 {
		t.Errorf("the host of an agent that is away shows %d instances and %d processes, want 1 and the one that was not killed", h.Instances, h.Processes)
	}
	b := y.connect(a.JoinResponse)
	b.status(d, protocol.Draining, "p")
	if got := b.await("the order to kill, again", kills).Kill.Reason; got != string(event.InstanceDraining) {
		t.Errorf("killed because of %s", got)
	}
}

// The end of a process is an event that names the cause. Its logs are accepted once they
// are awaited, and the report is acknowledged after them.
func TestExited(t *testing.T) {
	y := open(t)
	a := y.connect(y.join())
	f := y.managed()
	d := a.assigned(1)[0]
	logs := protocol.PathLogs + d.InstanceID + "/p"
	y.request(http.StatusConflict, http.MethodPut, logs, credential(a.JoinResponse), strings.NewReader("zip"), nil)
	a.status(d, protocol.Activating, "p")
	e := protocol.Exited{Seq: 7, InstanceID: d.InstanceID, FleetID: f.ID, ProcessID: "p", Known: true, Code: 3, Cause: "the program exited with code 3: no map"}
	if c := a.exited(e); c.ProcessID != "p" || c.GameSessionID != "" {
		t.Errorf("to collect: %+v", c)
	}
	y.request(http.StatusNoContent, http.MethodPut, logs, credential(a.JoinResponse), strings.NewReader("zip"), nil)
	a.send(protocol.Message{LogsStored: &protocol.LogsStored{InstanceID: d.InstanceID, ProcessID: "p", Bytes: 3}})
	if ack := a.await("the acknowledgement", func(m protocol.Message) bool { return m.Ack != nil }).Ack; ack.Seq != 7 {
		t.Errorf("acknowledged %d, want 7", ack.Seq)
	}
	if !slices.ContainsFunc(y.Recorded(event.ServerProcessCrashed), func(e *event.Event) bool {
		return e.ProcessID == "p" && strings.Contains(e.Message, "no map")
	}) {
		t.Error("no event names the cause")
	}
	stored := ""
	for o := range y.objects.List(y.Store.View(), object.LogBucket, f.ID+"/", "") {
		stored += o.Key
	}
	if want := (compute.Ref{FleetID: f.ID, ComputeName: d.InstanceID, ProcessID: "p"}).LogKey(""); stored != want {
		t.Errorf("stored logs %q, want %q", stored, want)
	}
	y.request(http.StatusNotFound, http.MethodGet, protocol.PathBuilds+"cd", credential(a.JoinResponse), nil, nil)
}

// Shortages of hosts can be read until a host joins that has room.
func TestShortages(t *testing.T) {
	y := open(t)
	f := y.managed()
	var short []protocol.Shortage
	y.operate(http.MethodGet, "/agent/v1/shortages", &short)
	if len(short) != 1 || short[0].FleetID != f.ID || short[0].Location != region || short[0].Missing != 1 || short[0].OS != "linux" ||
		short[0].CPUMillis != 2000 || short[0].MemoryMiB == 0 || short[0].Ports != instance.PortsAnInstance || !strings.Contains(short[0].Why, "no host has joined") {
		t.Errorf("short of %+v", short)
	}
	y.connect(y.join()).assigned(1)
	var all []protocol.Host // with 1000 ports, of which the instance has 100
	y.operate(http.MethodGet, "/agent/v1/hosts", &all)
	if instance.PortsAnInstance != protocol.PortsAnInstance || len(all) != 1 || all[0].PortFrom != 20000 || all[0].PortTo != 20999 || all[0].PortRoom != 9 {
		t.Errorf("the hosts are %+v; an instance takes %d ports", all, instance.PortsAnInstance)
	}
	y.operate(http.MethodGet, "/agent/v1/shortages", &short)
	if len(short) != 0 {
		t.Errorf("with a host it is short of %+v", short)
	}
	y.request(http.StatusForbidden, http.MethodGet, "/agent/v1/shortages", http.Header{}, nil, nil)
}

// A host whose agent is older than certificates gets no instance of a fleet that has them.
func TestCertificates_OlderAgent(t *testing.T) {
	y := open(t)
	y.certified("GENERATED")
	j := y.join()
	y.connect(j).assigned(0)
	var short []protocol.Shortage
	y.operate(http.MethodGet, "/agent/v1/shortages", &short)
	if len(short) != 1 || !strings.Contains(short[0].Why, "upgrade the agent") {
		t.Errorf("short of %+v", short)
	}
	newer := facts
	newer.Certificates = true
	d := y.connectAs(j, newer).assigned(1)[0]
	if d.Certificate == nil || d.Certificate.IPAddress != facts.IPAddress {
		t.Errorf("the host is to run %+v", d)
	}
}
