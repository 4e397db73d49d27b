package gameserver

import (
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// Options says who the process is and how it behaves.
type Options struct {
	// Endpoint is the ws:// or wss:// URL that RegisterCompute returned.
	Endpoint string
	// Token is the AuthToken of the compute.
	Token string
	// FleetID and ComputeName say where the process runs.
	FleetID, ComputeName string
	// ProcessID names the process; default a new UUID.
	ProcessID string
	// Port is where players would connect; default 7777.
	Port int
	// Manual leaves activating game sessions, and ending the process when it is told
	// to terminate, to the test.
	Manual bool
	// Retry is the pause between attempts to reconnect; default 50 ms (AWS's SDKs
	// start with 4 to 8 s).
	Retry time.Duration
	// Timeout limits each call and each connection attempt; default 10 s.
	Timeout time.Duration
	// Logger receives the process's log; default none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.ProcessID == "" {
		o.ProcessID = uuid.NewString()
	}
	if o.Port == 0 {
		o.Port = 7777
	}
	if o.Retry == 0 {
		o.Retry = 50 * time.Millisecond
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// url returns the URL to connect to, which is always the same (Go SDK, observed).
func (o Options) url() string {
	q := url.Values{}
	q.Set("pID", o.ProcessID)
	q.Set("sdkVersion", "5.4.0")
	q.Set("sdkLanguage", "Go")
	q.Set("ComputeId", o.ComputeName)
	q.Set("FleetId", o.FleetID)
	q.Set("IdempotencyToken", uuid.NewString())
	q.Set("Authorization", o.Token)
	return o.Endpoint + "?" + q.Encode()
}
