package door

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options of a Door. Zero numbers and durations mean the defaults.
type Options struct {
	BodyTimeout time.Duration // for a body to arrive, unless a handler sets another read deadline; default 30 s
	BodyBytes   int64         // of bodies held in memory at a time, a quarter of it for one network; default 128 MiB

	// WritePatience is how long a client may take nothing of what it is sent; one that takes
	// less than 1 KiB a second is cut off when that is used up. Default 30 s.
	WritePatience time.Duration

	Connections int // at a time; default 16,384
	Strangers   int // connections that have not shown who they are, of one network; default 256, all networks together have 16 times as many

	Pages   *Pages  // keeps web pages away; nil: credentials do
	Proxies Proxies // whose X-Forwarded-For is believed
	// Forwarded returns the client's address of a request that another node of the
	// cell vouches for; nil: there are none.
	Forwarded func(r *http.Request) (address string, ok bool)

	Registerer prometheus.Registerer // nil keeps no metrics
}

// Door bounds what clients can make a server hold. Make it with New, listen with
// Listen, and serve with Handler and ConnContext.
type Door struct {
	opts   Options
	conns  *conns
	budget *budget
}

// New makes a Door.
func New(o Options) *Door {
	fill(&o.BodyTimeout, 30*time.Second)
	fill(&o.BodyBytes, 128<<20)
	fill(&o.WritePatience, 30*time.Second)
	fill(&o.Connections, 16_384)
	fill(&o.Strangers, 256)
	d := &Door{opts: o, conns: newConns(o), budget: newBudget(o.BodyBytes, o.BodyBytes/4)}
	d.register(o.Registerer)
	return d
}

func fill[T comparable](to *T, v T) {
	var zero T
	if *to == zero {
		*to = v
	}
}

// Listen returns a listener that counts the connections of another.
func (d *Door) Listen(l net.Listener) net.Listener { return &listener{l, d.conns} }

// ConnContext lets Known find the connection of a request (http.Server).
func (d *Door) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if known := connOf(c); known != nil {
		return context.WithValue(ctx, connKey{}, known)
	}
	return ctx
}

// Handler returns a handler that passes requests on to next, with the client's
// address in RemoteAddr, and gives their bodies a deadline, whatever the method.
func (d *Door) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = d.receive(w, r)
		status, message := d.refusal(r)
		if r.ContentLength == 0 {
			if status != 0 {
				refuse(w, status, message)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		b := d.newBody(w, r)
		defer b.release()
		if status != 0 {
			refuse(w, status, message)
		} else {
			inner := *r // net/http looks at the body of its own request
			inner.Body = b
			next.ServeHTTP(w, &inner)
		}
		b.finish()
	})
}

// refusal returns why no handler shall see a request, or 0.
func (d *Door) refusal(r *http.Request) (status int, message string) {
	if r.ContentLength != 0 && strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Upgrade"), ",")), "websocket") {
		return http.StatusBadRequest, "Upgrade: a request for a WebSocket has no body" // which would be read from the WebSocket
	}
	if d.opts.Pages == nil {
		return 0, ""
	}
	return d.opts.Pages.refusal(r)
}

// receive puts the client's address into a request.
func (d *Door) receive(w http.ResponseWriter, r *http.Request) *http.Request {
	if d.opts.Forwarded != nil {
		if address, ok := d.opts.Forwarded(r); ok {
			r.RemoteAddr = address
			Known(r)
			return r.WithContext(context.WithValue(r.Context(), answerKey{}, w.Header()))
		}
	}
	if client, ok := d.opts.Proxies.client(r); ok {
		r.RemoteAddr = net.JoinHostPort(client.String(), "0")
	}
	return r
}

// refuse answers in a form that AWS's clients and all others read.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"__type": "AccessDeniedException", "message": message})
}
