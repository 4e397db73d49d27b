package notify

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/arn"
)

// Options configure the service. The zero value has no sinks and does nothing.
type Options struct {
	Sinks []SinkConfig
	Home  arn.Home // region and account in the notices

	// BaseURL returns the URL at which subscribers reach the handler, without a trailing
	// slash. It is part of the messages of sinks of kind sns.
	BaseURL func() string
	// KeyFile is a PEM file with the key and certificate that sign the messages of sinks
	// of kind sns; it is created if missing. Only those sinks need it.
	KeyFile string
	// Allow returns the sender of a request, or a fault if it is not allowed the action.
	// Nil refuses all requests of operators.
	Allow func(r *http.Request, action auth.Action, resources ...string) (auth.Caller, error)
	// Transport sends requests. Default: one with limits on everything, which
	// refuses link-local addresses.
	Transport http.RoundTripper

	Logger     *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil keeps no metrics
}

// Kind is the form in which a sink receives notices.
type Kind string

// The kinds of sinks.
const (
	Webhook     Kind = "webhook"     // HTTP POST of the EventBridge JSON, signed with a shared secret
	EventBridge Kind = "eventbridge" // HTTP POST of the EventBridge JSON and nothing else
	SNS         Kind = "sns"         // an HTTP/S subscription of Amazon SNS: handshake, signed messages
	Log         Kind = "log"         // a record in Muster's own log
)

// Everything is the topic of a sink that receives every notice, like the default event
// bus of AWS, whatever NotificationTarget says.
const Everything = "*"

// SinkConfig configures one sink. Its name identifies its cursor: a sink that is removed
// from the configuration and added again continues where it was.
type SinkConfig struct {
	Name   string   `yaml:"name" json:"name"` // 1 to 64 of a-z A-Z 0-9 _ -
	Kind   Kind     `yaml:"kind" json:"kind"`
	URL    string   `yaml:"url" json:"url,omitempty"` // http:// or https://; none for kind log
	Topics []string `yaml:"topics" json:"topics"`     // NotificationTargets, or Everything; kind sns requires topics by name

	// Secrets sign the requests of kind webhook, each with a separate signature: two
	// while a secret is being replaced. Without any, requests are not signed.
	Secrets []string `yaml:"secrets" json:"-"`
	// Headers are added to each request.
	Headers map[string]string `yaml:"headers" json:"-"`
	// Raw makes kind sns send the EventBridge JSON without the SNS message around it;
	// requests are then not signed.
	Raw bool `yaml:"raw" json:"raw,omitempty"`
	// SignatureVersion of kind sns: "1" (SHA1withRSA, default as in SNS) or "2" (SHA256withRSA).
	SignatureVersion string `yaml:"signature_version" json:"signature_version,omitempty"`

	// Timeout of one request. Default 15 s, as in SNS; at most 2 min.
	Timeout time.Duration `yaml:"timeout" json:"-"`
	// InFlight is the number of concurrent deliveries, 1 to 64. Default 1: all notices
	// are in order. With more, notices of one placement, and those of one matchmaking
	// configuration, still arrive in order.
	InFlight int `yaml:"in_flight" json:"in_flight"`
	// MaxAttempts is how often a delivery is tried before it becomes a dead letter, 1 to
	// 100. Default 12. If the receiver refuses it (most of 4xx), it is tried at most 3
	// times.
	MaxAttempts int `yaml:"max_attempts" json:"max_attempts"`
}

// Limits of a sink.
const (
	maxTimeout  = 2 * time.Minute
	maxInFlight = 64
	maxAttempts = 100
	maxSinks    = 100
)

func (c *SinkConfig) setDefaults() {
	c.Timeout = cmp.Or(c.Timeout, 15*time.Second)
	c.InFlight = cmp.Or(c.InFlight, 1)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 12)
	if c.Kind == SNS && c.SignatureVersion == "" {
		c.SignatureVersion = "1"
	}
}

func (c *SinkConfig) wants(target string) bool {
	return slices.Contains(c.Topics, Everything) || target != "" && slices.Contains(c.Topics, target)
}
