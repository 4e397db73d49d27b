package hosts

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// JoinToken is the answer to an operator who wants to let a machine join.
type JoinToken struct {
	Token    string
	Location string
	Expires  time.Time
}

// Host is a host as operators see it.
type Host struct {
	HostID    string
	Name      string
	Location  string
	IPAddress string
	Connected bool
	CPUMillis int
	MemoryMiB int
	Instances int
	Processes int
	Resources protocol.Resources
	Instance  []protocol.Instance `json:",omitempty"`
}

// allowed lets operators through who may do what action says. What they do is
// done in their name.
func (s *Server) allowed(action auth.Action, next func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.opts.Allow == nil {
			refuse(w, fault.New(fault.AccessDenied, "this server has no operators"))
			return
		}
		caller, err := s.opts.Allow(r, action)
		if err != nil {
			refuse(w, err)
			return
		}
		next(w, r.WithContext(store.WithActor(r.Context(), caller.Actor())))
	}
}

// makeToken makes a join token: POST ?location=NAME&life=DURATION.
func (s *Server) makeToken(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var life time.Duration
	if text := q.Get("life"); text != "" {
		var err error
		if life, err = time.ParseDuration(text); err != nil {
			refuse(w, fault.Invalid("life: %q is no duration such as 30m", cut(text)))
			return
		}
	}
	location := q.Get("location")
	if location == "" {
		location = s.opts.Region
	}
	token, expires, err := s.opts.Computes.CreateJoinToken(r.Context(), location, life)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, JoinToken{token, location, expires})
}

// list gives every host with what runs there: GET.
func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	view := s.opts.Store.View()
	all := []Host{}
	for row := range s.opts.Computes.Hosts(view) {
		h := Host{
			HostID: row.ID, Name: row.Name, Location: row.Location, IPAddress: row.IPAddress, Connected: row.Connected,
			CPUMillis: row.CPUMillis, MemoryMiB: row.MemoryMiB,
		}
		if l := s.link(row.ID); l != nil {
			l.show(&h)
		}
		all = append(all, h)
	}
	answer(w, all)
}

// show adds what the agent said last.
func (l *link) show(h *Host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return
	}
	h.Resources, h.Instance, h.Instances = l.last.Resources, l.last.Instances, len(l.last.Instances)
	for _, i := range l.last.Instances {
		h.Processes += len(i.Processes)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(v)
}
