package door

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options configure a Door. Zero numbers and durations mean the defaults.
type Options struct {
	BodyTimeout time.Duration // for a body to arrive, unless a handler sets another read deadline; default 30 s
	BodyBytes   int64         // of bodies in memory at the same time; one network has at most a quarter; default 128 MiB

	// WritePatience is how long a client may read nothing of what it is sent; a client
	// that reads less than 1 KiB per second uses it up and is then disconnected.
	// Default 30 s.
	WritePatience time.Duration

	Connections int // open at the same time; default 16,384
	Strangers   int // connections that are not authenticated, per network; default 256; all networks together may have 16 times as many

	Pages   *Pages  // keeps web pages away; nil if credentials do that
	Proxies Proxies // those whose X-Forwarded-For is trusted
	// Forwarded returns the client's address of a request that another node of the cell
	// has forwarded; nil if no nodes do.
	Forwarded func(r *http.Request) (address string, ok bool)

	Registerer prometheus.Registerer // nil means no metrics
}

// Door bounds the resources that clients can make a server use. Create it with New,
// listen with Listen, and serve with Handler and ConnContext.
type Door struct {
	opts   Options
	conns  *conns
	budget *budget
}

// New returns a Door.
func New(o Options) *Door {
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 30*time.Second)
	o.BodyBytes = cmp.Or(o.BodyBytes, 128<<20)
	o.WritePatience = cmp.Or(o.WritePatience, 30*time.Second)
	o.Connections = cmp.Or(o.Connections, 16_384)
	o.Strangers = cmp.Or(o.Strangers, 256)
	d := &Door{opts: o, conns: newConns(o), budget: newBudget(o.BodyBytes, o.BodyBytes/4)}
	d.register(o.Registerer)
	return d
}

// Listen returns a listener that counts and limits the connections of another.
func (d *Door) Listen(l net.Listener) net.Listener { return &listener{l, d.conns} }

// ConnContext is for http.Server.ConnContext: it lets Known find the connection of a
// request.
func (d *Door) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if known := connOf(c); known != nil {
		return context.WithValue(ctx, connKey{}, known)
	}
	return ctx
}

// Handler returns a handler that passes requests to next, with the client's address in
// RemoteAddr and a deadline for their bodies, whatever the method.
func (d *Door) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = d.receive(w, r)
		status, message := d.refusal(r)
		if r.ContentLength == 0 {
			if status != 0 {
				d.refuse(w, r, status, message)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		b := d.newBody(w, r)
		defer b.release()
		if status != 0 {
			d.refuse(w, r, status, message)
		} else {
			inner := *r // net/http uses the body of its own request
			inner.Body = b
			next.ServeHTTP(w, &inner)
		}
		b.finish()
	})
}

// refusal returns the status and message if a request must not reach a handler, or 0.
func (d *Door) refusal(r *http.Request) (status int, message string) {
	if r.ContentLength != 0 && strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Upgrade"), ",")), "websocket") {
		return http.StatusBadRequest, "Upgrade: a request for a WebSocket has no body" // its body would be read from the WebSocket
	}
	if d.opts.Pages == nil {
		return 0, ""
	}
	return d.opts.Pages.refusal(r)
}

// refuse answers a request that must not reach a handler.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	if d.opts.Pages != nil {
		d.opts.Pages.refuse(w, r, status, message)
		return
	}
	refuse(w, status, message)
}

// receive sets RemoteAddr of a request to the client's address.
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

// refuse responds with an error in a form that AWS's clients and others can read.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"__type": "AccessDeniedException", "message": message})
}
