package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

func (s *Server) operatorRoutes() {
	s.operate("POST "+protocol.PathTokens, auth.JoinHost, s.locationAsked, s.makeToken)
	s.operate("GET "+protocol.PathTokens, auth.ReadHosts, nil, s.listTokens)
	s.operate("DELETE "+protocol.PathTokens+"/{id}", auth.JoinHost, s.locationOfToken, s.revokeToken)
	s.operate("GET "+protocol.PathShortages, auth.ReadHosts, nil, s.listShortages)
	s.operate("GET "+protocol.PathHosts, auth.ReadHosts, nil, s.list)
	s.operate("GET "+protocol.PathHosts+"/{id}", auth.ReadHosts, s.locationOfHost, s.show)
	s.operate("DELETE "+protocol.PathHosts+"/{id}", auth.ManageHosts, s.locationOfHost, s.remove)
	for name, change := range map[string]func(context.Context, string) error{
		"drain": s.opts.Instances.DrainHost.Do, "resume": s.opts.Instances.ResumeHost.Do, "rotate": s.opts.Instances.RotateHost.Do,
	} {
		s.operate("POST "+protocol.PathHosts+"/{id}/"+name, auth.ManageHosts, s.locationOfHost, func(r *http.Request) (any, error) {
			if err := change(r.Context(), r.PathValue("id")); err != nil {
				return nil, err
			}
			return s.show(r)
		})
	}
}

// operate adds a route for operators who may perform action in the location that the
// request concerns; if location is nil, it concerns all locations. Changes are recorded
// under the operator's key. serve returns the response.
func (s *Server) operate(pattern string, action auth.Action, location func(*http.Request) string, serve func(*http.Request) (any, error)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if s.opts.Allow == nil {
			refuse(w, fault.New(fault.AccessDenied, "this server has no operators"))
			return
		}
		var of []string
		if location != nil {
			of = []string{s.opts.Home.Of("location", location(r))}
		}
		caller, err := s.opts.Allow(r, action, of...)
		var response any
		if err == nil {
			response, err = serve(r.WithContext(store.WithActor(r.Context(), caller.Actor())))
		}
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, response)
	})
}

// locationAsked returns the location of a new join token.
func (s *Server) locationAsked(r *http.Request) string {
	return cmp.Or(r.URL.Query().Get("location"), s.opts.Home.Region)
}

// locationOfToken returns the location of a join token, "" if it does not exist.
func (s *Server) locationOfToken(r *http.Request) string {
	for t := range s.opts.Instances.JoinTokens(s.opts.Store.View(), time.Now()) {
		if t.ID() == r.PathValue("id") {
			return t.Location
		}
	}
	return ""
}

// locationOfHost returns the location of a host, "" if it does not exist.
func (s *Server) locationOfHost(r *http.Request) string {
	if h := s.opts.Instances.Host(s.opts.Store.View(), r.PathValue("id")); h != nil {
		return h.Location
	}
	return ""
}

// makeToken creates a join token: POST
// ?location=NAME&life=DURATION&uses=NUMBER&cidr=NETWORK,…&name=TEXT.
func (s *Server) makeToken(r *http.Request) (any, error) {
	q := r.URL.Query()
	in := instance.JoinTokenInput{Name: cut(q.Get("name")), Location: s.locationAsked(r)}
	var err error
	if text := q.Get("life"); text != "" {
		if in.Life, err = time.ParseDuration(text); err != nil {
			return nil, fault.Invalid("life: %q is no duration such as 30m", cut(text))
		}
	}
	if text := q.Get("uses"); text != "" {
		if in.MaxUses, err = strconv.Atoi(text); err != nil || in.MaxUses < 1 {
			return nil, fault.Invalid("uses: %q is no number above 0", cut(text))
		}
	}
	if text := q.Get("cidr"); text != "" {
		in.Networks = strings.Split(text, ",")
	}
	secret, made, err := s.opts.Instances.CreateJoinToken(r.Context(), in)
	if err != nil {
		return nil, err
	}
	t := tokenOf(made)
	t.Token, t.Path = secret, s.opts.Path
	return t, nil
}

// listTokens returns all join tokens that have not expired: GET.
func (s *Server) listTokens(*http.Request) (any, error) {
	all := []protocol.JoinToken{}
	for t := range s.opts.Instances.JoinTokens(s.opts.Store.View(), time.Now()) {
		all = append(all, tokenOf(t))
	}
	return all, nil
}

func tokenOf(t *instance.JoinToken) protocol.JoinToken {
	return protocol.JoinToken{
		TokenID: t.ID(), Name: t.Name, Location: t.Location, Networks: t.Networks, MaxUses: t.Uses + t.Left(), Uses: t.Uses,
		Created: t.Created, Expires: t.Expires, LastUsed: t.LastUsed,
	}
}

// revokeToken revokes a join token: DELETE.
func (s *Server) revokeToken(r *http.Request) (any, error) {
	return struct{}{}, s.opts.Instances.RevokeJoinToken.Do(r.Context(), r.PathValue("id"))
}

// list returns all hosts and what runs on them: GET.
func (s *Server) list(*http.Request) (any, error) {
	all := []protocol.Host{}
	for row := range s.opts.Instances.Hosts(s.opts.Store.View()) {
		all = append(all, s.hostOf(row))
	}
	return all, nil
}

// listShortages returns the shortages of hosts: GET.
func (s *Server) listShortages(*http.Request) (any, error) {
	all := []protocol.Shortage{}
	for _, m := range s.opts.Instances.Shortages(s.opts.Store.View()) {
		all = append(all, protocol.Shortage{
			FleetID: m.FleetID, Location: m.Location, Missing: m.Missing, OS: m.OS, CPUMillis: m.CPUMillis, MemoryMiB: m.MemoryMiB,
			Ports: m.Ports, Why: m.Why,
		})
	}
	return all, nil
}

// show returns one host: GET.
func (s *Server) show(r *http.Request) (any, error) {
	row := s.opts.Instances.Host(s.opts.Store.View(), r.PathValue("id"))
	if row == nil {
		return nil, fault.Missing("host %s does not exist", cut(r.PathValue("id")))
	}
	return s.hostOf(row), nil
}

// remove removes a host: DELETE; with ?now=true it does not wait for game servers to
// end.
func (s *Server) remove(r *http.Request) (any, error) {
	now := false
	if text := r.URL.Query().Get("now"); text != "" {
		var err error
		if now, err = strconv.ParseBool(text); err != nil {
			return nil, fault.Invalid("now: %q is neither true nor false", cut(text))
		}
	}
	gone, err := s.opts.Instances.RemoveHost.Do(r.Context(), instance.HostRemoval{HostID: r.PathValue("id"), Now: now})
	return protocol.Removal{HostID: r.PathValue("id"), Gone: gone}, err
}

// shown returns what a host says of shells, as operators see it.
func shown(o *protocol.ShellOffer) *protocol.ShellOffer {
	if o == nil {
		return nil
	}
	return &protocol.ShellOffer{Offered: o.Offered, Why: cut(o.Why)}
}

// hostOf returns a host with its agent's last report.
func (s *Server) hostOf(row *instance.Host) protocol.Host {
	h := protocol.Host{
		HostID: row.ID, InstanceID: row.InstanceID(), Name: row.Name, Location: row.Location, IPAddress: row.IPAddress, IPv6: row.IPv6Address, DNSName: row.DNSName,
		OS: row.OS, Arch: row.Arch, Version: row.Version, Unsupported: unsupported(row.Version), Isolation: row.Isolation, Connected: row.Connected, Draining: row.Draining, Removing: row.Removing,
		Joined: row.Joined, JoinToken: row.JoinToken, SecretSince: row.SecretSince(), Rotating: row.Rotating,
		CPUMillis: row.CPUMillis, MemoryMiB: row.MemoryMiB,
		PortFrom: row.PortFrom, PortTo: row.PortTo, PortRoom: s.opts.Instances.PortRoom(s.opts.Store.View(), row),
	}
	var last *protocol.Status
	if l := s.link(row.ID); l != nil {
		l.mu.Lock()
		h.Shells, h.ContainerShells, last = shown(l.shells), shown(l.inside), l.last
		l.mu.Unlock()
	}
	if last == nil {
		s.countAssigned(&h)
		return h
	}
	h.Resources, h.Instance, h.Own = last.Resources, last.Instances, last.Own
	for _, i := range last.Instances {
		if i.Phase != protocol.Gone {
			h.Instances++
		}
		h.Processes += processes(i)
	}
	for _, i := range last.Own {
		h.Processes += processes(i)
	}
	return h
}

// countAssigned sets the numbers of a host whose agent has not reported: those of what it was told to run, and
// may be running.
func (s *Server) countAssigned(h *protocol.Host) {
	view := s.opts.Store.View()
	for _, a := range s.opts.Instances.Assignments(view, h.HostID) {
		h.Instances++
		for range s.opts.Computes.OfInstance(view, a.FleetID, a.ID) {
			h.Processes++
		}
	}
}

// processes returns how many game server processes an instance runs, in containers or not.
func processes(i protocol.Instance) int {
	n := len(i.Processes)
	for _, g := range i.Groups {
		if g.ProcessID != "" {
			n++
		}
	}
	return n
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(v)
}
