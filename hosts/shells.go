package hosts

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
)

// ShellOptions configure remote shells. Zero numbers and durations mean the defaults.
type ShellOptions struct {
	// Authenticate returns the sender of a request for a shell; the request has no body.
	Authenticate func(r *http.Request) (ShellVisit, error)

	Idle    time.Duration // a shell without data for so long is ended; default 20 min
	Longest time.Duration // a shell is ended after so long; default 8 h
	Host    int           // shells on one host; default 8
	Caller  int           // shells of one access key; default 8
	All     int           // shells; default 64
}

// ShellVisit is who may open a shell, and where.
type ShellVisit struct {
	Caller               auth.Caller
	FleetID, ComputeName string
	// Still returns an error, with a text for people, once the caller may no longer have a
	// shell there.
	Still func() error
}

func (o ShellOptions) withDefaults() ShellOptions {
	o.Idle = cmp.Or(o.Idle, 20*time.Minute)
	o.Longest = cmp.Or(o.Longest, 8*time.Hour)
	o.Host = cmp.Or(o.Host, 8)
	o.Caller = cmp.Or(o.Caller, 8)
	o.All = cmp.Or(o.All, 64)
	return o
}

// Times of a shell.
const (
	shellStarting = 10 * time.Second // from the client's connection to its first frame
	shellArriving = 15 * time.Second // until the agent has connected
	shellWriting  = 30 * time.Second // of one frame: neither end waits with reading
	shellLeaving  = 5 * time.Second  // until the client has read the end
	shellChecking = time.Second      // between checks that it may go on
)

// noShell is the exit code for a shell that was ended, or not started, by Muster.
const noShell = 255

// shells are the remote shells of all hosts. Frames pass through it one at a time in each
// direction; the ends limit what is under way (hosts/shell).
type shells struct {
	s    *Server
	opts ShellOptions

	mu   sync.Mutex
	open map[string]*remoteShell // by id
}

func newShells(s *Server) *shells {
	all := &shells{s: s, open: map[string]*remoteShell{}}
	s.mux.HandleFunc("GET "+protocol.PathShell, refusing(all.visit))
	if s.opts.Shells == nil {
		return all
	}
	all.opts = s.opts.Shells.withDefaults()
	s.mux.HandleFunc("GET "+protocol.PathShells+"{id}", s.known(all.arrive))
	return all
}

// errNoShells says what enables remote access.
var errNoShells = fault.Invalid("remote access is not enabled on this server: start it with --remote-access, and the agents of the hosts with --allow-shells")

// remoteShell is one shell.
type remoteShell struct {
	id         string
	hostID     string
	instanceID string
	visit      ShellVisit
	began      time.Time
	used       atomic.Int64 // time of the last data, in Unix nanoseconds
	recheck    chan struct{}
	arrived    chan struct{} // closed when the agent has connected
	done       chan struct{} // closed when the shell is over
	ending     sync.Once

	mu            sync.Mutex
	client, agent *shellSocket // agent is nil until arrived
	end           protocol.ShellEnd
	outcome       string // for the audit log
}

// shellSocket is the connection of one end.
type shellSocket struct {
	*websocket.Conn
	writing sync.Mutex
}

func (c *shellSocket) send(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.SetWriteDeadline(time.Now().Add(shellWriting))
	return c.WriteMessage(websocket.BinaryMessage, frame)
}

// Recheck ends the shells that may no longer go on, soon.
func (a *shells) Recheck() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, sh := range a.open {
		select {
		case sh.recheck <- struct{}{}:
		default:
		}
	}
}

// RecheckShells ends the shells whose callers may no longer have one.
func (s *Server) RecheckShells() { s.shells.Recheck() }

// OffersShells returns a fault, with what would change that, if no shell can be opened in an
// instance now. Errors: InvalidRequest.
func (s *Server) OffersShells(i *instance.Instance) error {
	if s.opts.Shells == nil {
		return errNoShells
	}
	l := s.link(i.HostID)
	if l == nil {
		return fault.Invalid("instance %s: the agent of its host %s is not connected; try again when it is back", i.ID, i.HostID)
	}
	l.mu.Lock()
	present, offer := l.present, l.shells
	if len(i.Groups) > 0 {
		offer = l.inside
	}
	l.mu.Unlock()
	switch {
	case !present:
		return fault.Invalid("instance %s: the agent of its host %s is about to connect; try again", i.ID, i.HostID)
	case offer == nil:
		return fault.Invalid("instance %s: the agent of its host %s is older than remote shells; replace it by one of this version", i.ID, i.HostID)
	case !offer.Offered:
		return fault.Invalid("instance %s: its host %s refuses remote shells: %s", i.ID, i.HostID, cmp.Or(cut(offer.Why), "its agent does not say why"))
	}
	return nil
}

// visit serves the WebSocket of an operator.
func (a *shells) visit(w http.ResponseWriter, r *http.Request) error {
	if a.s.opts.Shells == nil {
		return errNoShells
	}
	visit, err := a.opts.Authenticate(r)
	if err != nil {
		return err
	}
	sh, err := a.enter(visit)
	if err != nil {
		return err
	}
	defer a.s.open.Done()
	defer a.leave(sh)
	ws, err := a.s.upgrader.Upgrade(w, r, door.UpgradeHeader(r))
	if err != nil {
		return nil // the upgrader has responded
	}
	sh.client = &shellSocket{Conn: ws}
	defer ws.Close()
	a.serve(sh, audit.From(r.Context()))
	return nil
}

// enter takes a place for a shell.
func (a *shells) enter(visit ShellVisit) (*remoteShell, error) {
	view := a.s.opts.Store.View()
	c := a.s.opts.Computes.Get(view, visit.FleetID, visit.ComputeName)
	if c == nil {
		return nil, fault.Missing("compute %s does not exist any more", cut(visit.ComputeName))
	}
	i := a.s.opts.Instances.Instance(view, c.InstanceID)
	if i == nil || i.FleetID != visit.FleetID {
		return nil, fault.Missing("the instance of compute %s does not exist any more", cut(visit.ComputeName))
	}
	if err := a.s.OffersShells(i); err != nil {
		return nil, err
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if a.s.stopping {
		return nil, errors.New("the server stops")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	host, caller := 0, 0
	for _, other := range a.open {
		if other.hostID == i.HostID {
			host++
		}
		if other.visit.Caller.Actor() == visit.Caller.Actor() {
			caller++
		}
	}
	const full = "%s has %d remote shells open, which is the limit; end one first"
	switch {
	case host >= a.opts.Host:
		return nil, fault.New(fault.Throttling, full, "host "+i.HostID, host)
	case caller >= a.opts.Caller:
		return nil, fault.New(fault.Throttling, full, "access key "+visit.Caller.Actor(), caller)
	case len(a.open) >= a.opts.All:
		return nil, fault.New(fault.Throttling, full, "this server", len(a.open))
	}
	now := time.Now()
	sh := &remoteShell{
		id: rand.Text(), hostID: i.HostID, instanceID: i.ID, visit: visit, began: now,
		recheck: make(chan struct{}, 1), arrived: make(chan struct{}), done: make(chan struct{}),
	}
	sh.used.Store(now.UnixNano())
	a.open[sh.id] = sh
	a.s.open.Add(1)
	a.s.metrics.shells.Set(float64(len(a.open)))
	return sh, nil
}

func (a *shells) leave(sh *remoteShell) {
	sh.stop(protocol.ShellEnd{Code: noShell}, "Disconnected")
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, sh.id)
	a.s.metrics.shells.Set(float64(len(a.open)))
}

// serve runs a shell from its first frame to its end.
func (a *shells) serve(sh *remoteShell, request *audit.Request) {
	first, err := a.first(sh.client)
	if err != nil {
		return
	}
	start, err := protocol.ParseShellFrame(first)
	var command protocol.ShellCommand
	if err == nil {
		command, err = start.Command()
	}
	if err != nil {
		sh.stop(protocol.ShellEnd{Code: noShell, Problem: err.Error()}, "InvalidCommand")
		return
	}
	names := []string{a.s.opts.Home.Of("fleet", sh.visit.FleetID), sh.visit.ComputeName, sh.hostID, "shell/" + sh.id, program(command)}
	if command.Container != "" {
		names = append(names, "container "+cut(strconv.Quote(command.Container)))
	}
	record := func(action auth.Action, outcome string) error {
		ctx, cancel := context.WithTimeout(context.Background(), shellArriving)
		defer cancel()
		return request.Record(ctx, action, outcome, names...)
	}
	if err := record(auth.BeginShell, audit.OK); err != nil {
		a.s.log.Error("a remote shell is refused, since it cannot be recorded", "compute", sh.visit.ComputeName, "error", err)
		sh.stop(protocol.ShellEnd{Code: noShell, Problem: "the audit log takes no record now, so no shell is opened"}, "NotRecorded")
		return
	}
	a.s.log.Info("a remote shell begins", "shell", sh.id, "caller", sh.visit.Caller.Actor(), "compute", sh.visit.ComputeName, "host_id", sh.hostID)
	a.connect(sh, first)
	sh.stop(protocol.ShellEnd{Code: noShell}, "Disconnected")
	a.s.log.Info("a remote shell has ended", "shell", sh.id, "outcome", sh.outcome, "code", sh.end.Code)
	if err := record(auth.EndShell, sh.outcome); err != nil {
		a.s.log.Error("the end of a remote shell is not recorded", "shell", sh.id, "error", err)
	}
}

// first reads a client's first frame.
func (a *shells) first(client *shellSocket) ([]byte, error) {
	defer context.AfterFunc(a.s.ctx, func() { client.Close() })()
	client.SetReadLimit(protocol.MaxShellFrame)
	client.SetReadDeadline(time.Now().Add(shellStarting))
	_, first, err := client.ReadMessage()
	return first, err
}

// program returns what runs in a shell, for the audit log: without the arguments, which may
// be secret.
func program(c protocol.ShellCommand) string {
	if len(c.Command) == 0 {
		return "a shell"
	}
	return "program " + cut(strconv.Quote(c.Command[0]))
}

// connect has the agent connect, and passes it the client's frames until the client has
// read the end.
func (a *shells) connect(sh *remoteShell, first []byte) {
	go a.watch(sh)
	l := a.s.link(sh.hostID)
	if l == nil {
		sh.stop(protocol.ShellEnd{Code: noShell, Problem: "the host's agent has just lost its connection; try again"}, "NoAgent")
		return
	}
	l.send(protocol.Message{Shell: &protocol.Shell{ID: sh.id, InstanceID: sh.instanceID, Compute: sh.visit.ComputeName}})
	late := time.NewTimer(shellArriving)
	defer late.Stop()
	select {
	case <-sh.arrived:
	case <-sh.done:
		return
	case <-late.C:
		sh.stop(protocol.ShellEnd{Code: noShell, Problem: "the host's agent did not connect in time; try again, or look into its log"}, "NoAgent")
		return
	}
	if err := sh.agent.send(first); err != nil {
		sh.stop(protocol.ShellEnd{Code: noShell, Problem: "the connection to the host's agent broke"}, "NoAgent")
		return
	}
	err := readFrames(sh.client.Conn, protocol.MaxShellFrame, func(frame []byte) error {
		f, err := protocol.ParseShellFrame(frame)
		if err == nil && !f.Op.FromClient() {
			err = errors.New("the client of a remote shell sent a frame of the host")
		}
		if err != nil {
			return err
		}
		if f.Op.IsData() {
			sh.used.Store(time.Now().UnixNano())
		}
		select {
		case <-sh.done: // until the client has read the end
			return nil
		default:
			return sh.agent.send(frame)
		}
	})
	a.s.log.Debug("the client of a remote shell has gone", "shell", sh.id, "error", err)
}

// arrive serves the WebSocket of the agent that was sent a shell.
func (a *shells) arrive(w http.ResponseWriter, r *http.Request, hostID string) error {
	a.mu.Lock()
	sh := a.open[r.PathValue("id")]
	a.mu.Unlock()
	if sh == nil || sh.hostID != hostID {
		return fault.Missing("there is no such shell on this host")
	}
	ws, err := a.s.upgrader.Upgrade(w, r, door.UpgradeHeader(r))
	if err != nil {
		return nil // the upgrader has responded
	}
	agent := &shellSocket{Conn: ws}
	defer ws.Close()
	if !sh.attach(agent) {
		return nil
	}
	err = readFrames(ws, protocol.MaxShellFrame, func(frame []byte) error {
		f, err := protocol.ParseShellFrame(frame)
		if err == nil && !f.Op.FromHost() {
			err = errors.New("the host of a remote shell sent a frame of the client")
		}
		if err != nil {
			return err
		}
		if f.Op == protocol.ShellExit {
			end, err := f.End()
			if err != nil {
				return err
			}
			sh.stop(end, cmp.Or(outcomeOf(end), audit.OK))
			return errShellOver
		}
		if f.Op.IsData() {
			sh.used.Store(time.Now().UnixNano())
		}
		return sh.client.send(frame)
	})
	problem := "the connection to the host's agent broke"
	sh.stop(protocol.ShellEnd{Code: noShell, Problem: problem}, "NoAgent")
	a.s.log.Debug("the host of a remote shell has gone", "shell", sh.id, "error", err)
	return nil
}

var errShellOver = errors.New("the shell is over")

// outcomeOf returns the outcome of a shell that its host did not run; "" if it did.
func outcomeOf(end protocol.ShellEnd) string {
	if end.Problem != "" {
		return "Refused"
	}
	return ""
}

// attach makes a connection that of the shell's host. It reports false if there is one, or
// the shell is over.
func (sh *remoteShell) attach(agent *shellSocket) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	select {
	case <-sh.done:
		return false
	default:
	}
	if sh.agent != nil {
		return false
	}
	sh.agent = agent
	close(sh.arrived)
	return true
}

// stop ends the shell once: it sends the client how, and disconnects the agent, which ends
// the program.
func (sh *remoteShell) stop(end protocol.ShellEnd, outcome string) {
	sh.ending.Do(func() {
		sh.mu.Lock()
		sh.end, sh.outcome = end, outcome
		close(sh.done)
		agent := sh.agent
		sh.mu.Unlock()
		if agent != nil {
			agent.Close()
		}
		if sh.client == nil {
			return
		}
		time.AfterFunc(shellLeaving, func() { sh.client.Close() })
		if err := sh.client.send(end.Frame().Bytes()); err != nil {
			sh.client.Close()
		}
	})
}

// watch ends the shell when it is idle, too old, or no longer allowed, or when the server
// stops.
func (a *shells) watch(sh *remoteShell) {
	tick := time.NewTicker(shellChecking)
	defer tick.Stop()
	for {
		select {
		case <-sh.done:
			return
		case <-a.s.ctx.Done():
			sh.stop(protocol.ShellEnd{Code: noShell, Problem: "the server stops; open another shell in a moment"}, "ServerStops")
			sh.client.Close()
			return
		case <-sh.recheck:
		case <-tick.C:
		}
		if problem, outcome := a.over(sh, time.Now()); problem != "" {
			sh.stop(protocol.ShellEnd{Code: noShell, Problem: problem}, outcome)
			return
		}
	}
}

// over returns why a shell must end, for people and for the audit log; "" if it may go on.
func (a *shells) over(sh *remoteShell, now time.Time) (problem, outcome string) {
	i := a.s.opts.Instances.Instance(a.s.opts.Store.View(), sh.instanceID)
	switch {
	case i == nil || i.HostID != sh.hostID:
		return "the instance has ended", "InstanceEnded"
	case now.Sub(time.Unix(0, sh.used.Load())) >= a.opts.Idle:
		return fmt.Sprintf("nothing was sent in either direction for %v", a.opts.Idle), "Idle"
	case now.Sub(sh.began) >= a.opts.Longest:
		return fmt.Sprintf("it was open for %v, which is the limit", a.opts.Longest), "TooLong"
	}
	if err := sh.visit.Still(); err != nil {
		return err.Error(), "Revoked"
	}
	return "", ""
}
