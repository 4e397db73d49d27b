package app

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/nearest"
)

// The limits in addition to those of keys, which have the names of roles.
const (
	limitAdministration = "administration" // requests below /admin/ of one key
	limitCredentials    = "credentials"    // requests with wrong credentials from one address
	limitJoins          = "joins"          // requests to join from one address
	limitAgents         = "agents"         // requests of one host
	limitLogins         = "logins"         // steps of logins with an identity provider, from one address
)

// DefaultLimits returns the limits for names that Options.Limits does not contain. One key
// of a backend may use all that a server can do (docs/benchmarks.md), and all game servers
// and machines of a data center may connect at the same time from one address.
func DefaultLimits() map[string]limit.Rate {
	whole := limit.Rate{PerSecond: 25_000, Burst: 50_000}
	return map[string]limit.Rate{
		string(auth.Admin):       whole,
		string(auth.Operator):    whole,
		string(auth.GameBackend): whole,
		string(auth.GameServer):  {PerSecond: 5000, Burst: 50_000},
		string(auth.PlayerData):  {PerSecond: 2000, Burst: 10_000},
		string(auth.RemoteShell): {PerSecond: 100, Burst: 1000},
		string(auth.ReadOnly):    {PerSecond: 1000, Burst: 5000},
		limitAdministration:      {PerSecond: 50, Burst: 500},
		limitCredentials:         {PerSecond: 20, Burst: 200},
		limitJoins:               {PerSecond: 100, Burst: 5000},
		limitAgents:              {PerSecond: 200, Burst: 5000},
		limitLogins:              {PerSecond: 2, Burst: 100},
	}
}

// limits are the limits of requests, for all doors.
type limits struct {
	keys           map[auth.Role]*bounded[string] // by access key id or person's id
	administration *bounded[string]               // the same
	credentials    *bounded[netip.Prefix]
	joins          *bounded[netip.Prefix]
	agents         *bounded[string] // by host id
	logins         *bounded[netip.Prefix]
}

// bounded is one limit. A nil one limits nothing.
type bounded[K comparable] struct {
	*limit.Buckets[K]
	name    string
	remedy  string // what a refused sender can do, besides raising the limit
	refused *prometheus.CounterVec
}

// take counts a request, or returns the fault that refuses it. who names its sender.
func (b *bounded[K]) take(key K, who func() string) error {
	if b == nil {
		return nil
	}
	wait := b.Take(key, time.Now())
	if wait == 0 {
		return nil
	}
	b.refused.WithLabelValues(b.name).Inc()
	return limit.Refuse(wait, "Rate exceeded: %s has reached the limit %q, which is %s; %s, or raise it with --limits %s=RATE", who(), b.name, b.Rate(), b.remedy, b.name)
}

// validateLimits returns an error that names an unknown limit.
func (o *Options) validateLimits() error {
	known := DefaultLimits()
	for name := range o.Limits {
		if _, ok := known[name]; !ok {
			return fmt.Errorf("limits: there is no limit %q%s; there are %s", name, nearest.DidYouMean(name, slices.Sorted(maps.Keys(known))), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

// newLimits returns the limits of an app: none if it accepts any caller.
func newLimits(o *Options, metrics prometheus.Registerer) *limits {
	rates := DefaultLimits()
	maps.Copy(rates, o.Limits)
	if o.AcceptAny {
		clear(rates)
	}
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "muster_limited_total", Help: "Requests refused because of a limit (--limits), by its name."}, []string{"limit"})
	for name := range DefaultLimits() {
		refused.WithLabelValues(name) // so that increase sees the first
	}
	if metrics != nil {
		metrics.MustRegister(refused)
	}
	named := func(name, remedy string) *bounded[string] {
		return &bounded[string]{limit.NewBuckets[string](rates[name]), name, remedy, refused}
	}
	sites := func(name, remedy string) *bounded[netip.Prefix] {
		return &bounded[netip.Prefix]{limit.NewBuckets[netip.Prefix](rates[name]), name, remedy, refused}
	}
	l := &limits{
		keys:           map[auth.Role]*bounded[string]{},
		administration: named(limitAdministration, "send less"),
		credentials:    sites(limitCredentials, "it sends wrong credentials or none (right ones are taken as ever): correct what sends them"),
		joins:          sites(limitJoins, "have machines join later"),
		agents:         named(limitAgents, "see in its agent's log why it asks so often"),
		logins:         sites(limitLogins, "log in later"),
	}
	for _, role := range auth.Roles() {
		l.keys[role] = named(string(role), "send less, or spread the work over several keys")
	}
	return l
}

// Key counts a request of an access key. The zero Caller has no key and is not counted.
func (l *limits) Key(caller auth.Caller) error {
	return l.keys[caller.Role].take(caller.KeyID, caller.Who)
}

// call is Key for the API's callers.
func (l *limits) call(p awsrpc.Principal, _ string) error { return l.Key(callerOf(p)) }

// administer counts a request below /admin/.
func (l *limits) administer(caller auth.Caller) error {
	return l.administration.take(caller.KeyID, caller.Who)
}

// Failed counts a request with wrong credentials, and returns the error to answer with:
// err itself, until there were too many from its address. It must be called after the
// credentials were checked, so that valid ones are accepted however many wrong ones come
// from the same address.
func (l *limits) Failed(r *http.Request, err error) error {
	f, ok := fault.As(err)
	if !ok {
		return err
	}
	switch f.Kind {
	case fault.MissingAuthentication, fault.InvalidSignature, fault.UnrecognizedClient, fault.Unauthorized:
		from := door.Client(r)
		if refused := l.credentials.take(door.Site(from), from.String); refused != nil {
			return refused
		}
	}
	return err
}

// Join counts a request to join.
func (l *limits) Join(r *http.Request) error {
	from := door.Client(r)
	return l.joins.take(door.Site(from), from.String)
}

// Agent counts a request of a host.
func (l *limits) Agent(hostID string) error {
	return l.agents.take(hostID, func() string { return "host " + hostID })
}

// login counts a step of a login with the identity provider, which asks that provider.
func (l *limits) login(r *http.Request) error {
	from := door.Client(r)
	return l.logins.take(door.Site(from), from.String)
}
