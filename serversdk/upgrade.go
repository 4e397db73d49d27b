package serversdk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
)

// maxName limits the parts of a process's identity, in bytes; the Go SDK sends at most
// 256 for compute and fleet.
const maxName = 256

// arrival is what an upgrade request says of the process.
type arrival struct {
	ref   compute.Ref
	sdk   compute.SDK
	query url.Values
	host  string  // that it comes from
	hosts *string // the game session that it hosts, or "", if its host's agent says
}

// Match reports whether a request is a game server's: an upgrade, on any path, whose
// query names a process. The C++ SDK appends a slash to the path that it was given, so
// no path is redirected.
func Match(r *http.Request) bool {
	if !websocket.IsWebSocketUpgrade(r) {
		return false
	}
	q := r.URL.Query()
	return q.Has("pID") && q.Has("ComputeId") && q.Has("FleetId")
}

// ServeHTTP accepts a process's connection, or refuses it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := parseArrival(r.URL.Query(), hostOf(r.RemoteAddr))
	if err == nil && !door.SameOrigin(r) {
		err = fault.New(fault.AccessDenied, "Origin: web pages are no game servers")
	}
	if err == nil {
		err = s.admit(a)
	}
	if err != nil {
		s.refuse(w, r, a, err)
		return
	}
	door.Known(r)
	err = s.connect(context.WithoutCancel(r.Context()), a, func() (door.Socket, error) {
		lent := &lender{ResponseWriter: w}
		ws, err := s.upgrader.Upgrade(lent, r, door.UpgradeHeader(r))
		if err != nil {
			return nil, fmt.Errorf("upgrade: %w", errors.Join(errAnswered, err))
		}
		return direct{ws, lent.in, descriptor(ws)}, nil
	})
	if err != nil {
		s.release(a.ref)
		s.refuse(w, r, a, err)
	}
}

// parseArrival reads what an upgrade's query says of the process. Errors: InvalidRequest.
func parseArrival(q url.Values, host string) (arrival, error) {
	a := arrival{
		ref:   compute.Ref{FleetID: q.Get("FleetId"), ComputeName: q.Get("ComputeId"), ProcessID: q.Get("pID")},
		sdk:   compute.SDK{Version: cut(q.Get("sdkVersion")), Language: cut(q.Get("sdkLanguage"))},
		query: q,
		host:  host,
	}
	for _, part := range []struct{ member, value string }{
		{"pID", a.ref.ProcessID}, {"ComputeId", a.ref.ComputeName}, {"FleetId", a.ref.FleetID},
	} {
		if !validName(part.value) || part.member != "pID" && strings.Contains(part.value, "|") {
			return a, fault.Invalid("%s: must have 1 to %d bytes of printable UTF-8", part.member, maxName)
		}
	}
	return a, nil
}

func validName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// cut limits a text that is only kept for display. The result is a copy, so that the
// request's memory is not kept.
func cut(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 64)], "")
	return strings.Clone(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s))
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// admit authenticates a process, and counts its connection.
func (s *Server) admit(a arrival) error {
	if err := s.authenticate(a, time.Now()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := a.ref.FleetID + "|" + a.ref.ComputeName
	if s.stopping {
		return errors.New("the server is stopping")
	}
	if s.sockets[key] >= s.opts.MaxConnections {
		return fault.New(fault.Throttling, "compute %s has %d connections, which is the limit", a.ref.ComputeName, s.sockets[key])
	}
	s.sockets[key]++
	s.readers.Add(1)
	return nil
}

// release undoes admit once the connection has closed.
func (s *Server) release(ref compute.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := ref.FleetID + "|" + ref.ComputeName
	if s.sockets[key]--; s.sockets[key] == 0 {
		delete(s.sockets, key)
	}
	s.readers.Done()
}

// connect makes the connection durable, and then opens it. Reading starts immediately,
// because the C# SDK gives a new connection two seconds to answer a ping.
func (s *Server) connect(ctx context.Context, a arrival, open func() (door.Socket, error)) error {
	p, err := s.enter(ctx, a)
	if err != nil {
		return err
	}
	ws, err := open()
	if err != nil {
		p.depart(s.ctx)
		return err
	}
	c := newConn(s, p, ws)
	s.metrics.connections.Inc()
	p.open(c)
	if s.isStopping() { // Stop may have dropped all connections before this one was open
		c.drop()
	}
	p.hearAgain(c)
	go c.run()
	return nil
}

// errAnswered marks an error for which the upgrader has already answered the client.
var errAnswered = errors.New("answered")

// enter adds the process to the store, or marks it as connected again.
func (s *Server) enter(ctx context.Context, a arrival) (*peer, error) {
	for {
		p := s.peer(a.ref)
		err := p.attach(ctx, a)
		if !errors.Is(err, errGone) {
			return p, err
		}
	}
}

// refuse answers an upgrade that is not accepted. AWS's SDKs try again whatever the
// status. The reason goes to the log, not to a client without credentials.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, a arrival, err error) {
	if errors.Is(err, errAnswered) {
		s.log.Info("connection not made", "process", a.ref.Key(), "remote", a.host, "error", err)
		return
	}
	request := audit.From(r.Context())
	request.SetRefused(auth.ConnectGameServer, err)
	request.AddResources(func() []string { return []string{s.opts.Computes.FleetARN(a.ref.FleetID), a.ref.ComputeName} })
	status, message := http.StatusServiceUnavailable, "Service Unavailable"
	if f, ok := fault.As(err); ok {
		switch f.Kind {
		case fault.InvalidRequest:
			status, message = http.StatusBadRequest, f.Message
		case fault.Throttling:
			status, message = http.StatusTooManyRequests, "Too Many Requests"
		case fault.InternalService:
		default:
			status, message = http.StatusForbidden, "Forbidden"
		}
	}
	if status == http.StatusForbidden || status == http.StatusBadRequest {
		if wait := s.refused.count(door.Site(door.Client(r)), &a, time.Now()); wait > 0 {
			err = limit.Refuse(wait, "too many refused connections from %s", a.host)
			status, message = http.StatusTooManyRequests, "Too Many Requests"
		}
	}
	if status != http.StatusTooManyRequests {
		s.warnings.Warn(a.host, "connection refused", "process", a.ref.Key(), "remote", a.host, "status", status, "error", err)
	}
	s.metrics.refusals.WithLabelValues(strconv.Itoa(status)).Inc()
	s.noteRefusal(a, err)
	limit.Advise(w.Header(), err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, "{\"message\":%q}\n", message)
}
