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
)

// The limits in addition to those of keys, which have the names of roles.
const (
	limitAdministration = "administration" // requests below /admin/ of one key
	limitCredentials    = "credentials"    // requests with wrong credentials from one address
	limitJoins          = "joins"          // requests to join from one address
	limitAgents         = "agents"         // requests of one host
)

// DefaultLimits returns the limits for names that Options.Limits does not contain. One key
// of a backend may use all that a server can do (docs/benchmarks.md), and all game servers
// and machines of a data center may connect at the same time from one address.
func DefaultLimits() map[string]limit.Rate {
	whole := limit.Rate{PerSecond: 10_000, Burst: 20_000}
	return map[string]limit.Rate{
		string(auth.Admin):       whole,
		string(auth.Operator):    whole,
		string(auth.GameBackend): whole,
		string(auth.GameServer):  {PerSecond: 5000, Burst: 50_000},
		string(auth.PlayerData):  {PerSecond: 2000, Burst: 10_000},
		string(auth.ReadOnly):    {PerSecond: 1000, Burst: 5000},
		limitAdministration:      {PerSecond: 50, Burst: 500},
		limitCredentials:         {PerSecond: 20, Burst: 200},
		limitJoins:               {PerSecond: 100, Burst: 5000},
		limitAgents:              {PerSecond: 200, Burst: 5000},
	}
}

// limits are the limits of requests, for all doors.
type limits struct {
	keys           map[auth.Role]*limit.Buckets[string] // by access key id
	administration *limit.Buckets[string]
	credentials    *limit.Buckets[netip.Prefix]
	joins          *limit.Buckets[netip.Prefix]
	agents         *limit.Buckets[string] // by host id
	refused        *prometheus.CounterVec
}

// validateLimits returns an error that names an unknown limit.
func (o *Options) validateLimits() error {
	known := DefaultLimits()
	for name := range o.Limits {
		if _, ok := known[name]; !ok {
			return fmt.Errorf("limits: there is no limit %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
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
	l := &limits{
		keys:           map[auth.Role]*limit.Buckets[string]{},
		administration: limit.NewBuckets[string](rates[limitAdministration]),
		credentials:    limit.NewBuckets[netip.Prefix](rates[limitCredentials]),
		joins:          limit.NewBuckets[netip.Prefix](rates[limitJoins]),
		agents:         limit.NewBuckets[string](rates[limitAgents]),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_limited_total", Help: "Requests refused because of a limit (--limits), by its name."}, []string{"limit"}),
	}
	for _, role := range auth.Roles() {
		l.keys[role] = limit.NewBuckets[string](rates[string(role)])
	}
	if metrics != nil {
		metrics.MustRegister(l.refused)
	}
	return l
}

// refuse counts a refusal and returns its fault. The message names the refused caller, the
// limit, and the remedy.
func (l *limits) refuse(name string, rate limit.Rate, wait time.Duration, who, remedy string) error {
	l.refused.WithLabelValues(name).Inc()
	return limit.Refuse(wait, "Rate exceeded: %s has reached the limit %q, which is %s; %s, or raise it with --limits %s=RATE", who, name, rate, remedy, name)
}

// Key counts a request of an access key. The zero Caller has no key and is not counted.
func (l *limits) Key(caller auth.Caller) error {
	of := l.keys[caller.Role]
	wait := of.Take(caller.KeyID, time.Now())
	if wait == 0 {
		return nil
	}
	return l.refuse(string(caller.Role), of.Rate(), wait, "access key "+caller.KeyID, "send less, or spread the work over several keys")
}

// call is Key for the API's callers.
func (l *limits) call(p awsrpc.Principal, _ string) error { return l.Key(callerOf(p)) }

// administer counts a request below /admin/.
func (l *limits) administer(caller auth.Caller) error {
	wait := l.administration.Take(caller.KeyID, time.Now())
	if wait == 0 {
		return nil
	}
	return l.refuse(limitAdministration, l.administration.Rate(), wait, "access key "+caller.KeyID, "send less")
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
	default:
		return err
	}
	from := door.Client(r)
	wait := l.credentials.Take(door.Site(from), time.Now())
	if wait == 0 {
		return err
	}
	return l.refuse(limitCredentials, l.credentials.Rate(), wait, from.String(),
		"it sends wrong credentials or none (right ones are taken as ever): correct what sends them")
}

// Join counts a request to join.
func (l *limits) Join(r *http.Request) error {
	from := door.Client(r)
	wait := l.joins.Take(door.Site(from), time.Now())
	if wait == 0 {
		return nil
	}
	return l.refuse(limitJoins, l.joins.Rate(), wait, from.String(), "have machines join later")
}

// Agent counts a request of a host.
func (l *limits) Agent(hostID string) error {
	wait := l.agents.Take(hostID, time.Now())
	if wait == 0 {
		return nil
	}
	return l.refuse(limitAgents, l.agents.Rate(), wait, "host "+hostID, "see in its agent's log why it asks so often")
}
