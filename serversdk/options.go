package serversdk

import (
	"cmp"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/session"
)

// Options configure a Server. Zero numbers and durations mean the defaults.
type Options struct {
	Store      *store.Store          // required
	Computes   *compute.Service      // required
	Sessions   *session.Service      // required
	Matches    *flexmatch.Service    // required
	Signatures Signatures            // nil refuses processes that sign with SigV4
	Logger     *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil keeps no metrics
	Tracer     *tracing.Tracer       // of the spans of requests; nil makes none

	// AcceptAnyCredentials lets every process on a registered compute connect,
	// whatever it presents: for a Muster that only its own machine can reach.
	AcceptAnyCredentials bool

	MaxConnections int     // of one compute at a time; default 1000
	MessageRate    float64 // requests of one process per second, beyond the burst; default 100
	MessageBurst   int     // default 500
	RefusalRate    float64 // refused upgrades per compute named, address and second, beyond the burst; default 20
	RefusalBurst   int     // default 200; for all computes together an address has ten times both

	WriteTimeout     time.Duration // of one frame, and of the rest of a frame that began to arrive; default 10 s
	RequestTimeout   time.Duration // from a request to its answer with an error; default 15 s, below the SDKs' 20 s
	HearAfter        time.Duration // from the answer to ActivateServerProcess until pushes are sure to be received; default 200 ms
	PingAfter        time.Duration // for which nothing was read when a WebSocket ping is sent at the latest, or 5 s before, and again after each; below 0: never; default 25 s
	HeartbeatTimeout time.Duration // from the last heartbeat until a process counts as unhealthy; default 180 s
	EndLinger        time.Duration // until the sockets of an ended or killed process are dropped; default and minimum 30 s
	SupersededIdle   time.Duration // until a silent older connection of a process is dropped; default 3 min
	ReplayWindow     time.Duration // for how long an answer can be repeated; default 4 min
}

// Signatures verifies the SigV4 parameters in the URL of a game server, which sign only
// ComputeId, FleetId and pID.
type Signatures interface {
	// VerifyServer returns who signed. The signature's date may differ from now by at
	// most window. Its errors are faults, except if the keys cannot be read.
	VerifyServer(query url.Values, now time.Time, window time.Duration) (auth.Caller, error)
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.MaxConnections = cmp.Or(o.MaxConnections, 1000)
	o.MessageRate = cmp.Or(o.MessageRate, 100)
	o.MessageBurst = cmp.Or(o.MessageBurst, 500)
	o.RefusalRate = cmp.Or(o.RefusalRate, 20)
	o.RefusalBurst = cmp.Or(o.RefusalBurst, 200)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.RequestTimeout = cmp.Or(o.RequestTimeout, 15*time.Second)
	o.HearAfter = cmp.Or(o.HearAfter, 200*time.Millisecond)
	o.PingAfter = cmp.Or(o.PingAfter, 25*time.Second)
	o.HeartbeatTimeout = cmp.Or(o.HeartbeatTimeout, 180*time.Second)
	o.EndLinger = cmp.Or(o.EndLinger, 30*time.Second)
	o.SupersededIdle = cmp.Or(o.SupersededIdle, 3*time.Minute)
	o.ReplayWindow = cmp.Or(o.ReplayWindow, 4*time.Minute)
	return o
}

// refusals returns how often refusals are explained; without limit if only this
// machine can connect.
func (o *Options) refusals() limit.Rate {
	if o.AcceptAnyCredentials {
		return limit.Off
	}
	return limit.Rate{PerSecond: o.RefusalRate, Burst: o.RefusalBurst}
}
