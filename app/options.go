package app

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth/oidc"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet/price"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/registry"
	"github.com/musterhq/muster/notify"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/placement/remote"
	"github.com/musterhq/muster/session"
)

// Options configure an app. The zero value serves on 127.0.0.1:9080 from SQLite in
// ./muster-data and requires a key of every caller.
type Options struct {
	// Listen is HOST:PORT of the one listener; port 0 picks a free one.
	// Default 127.0.0.1:9080.
	Listen string
	// PublicURL is the base URL at which game servers and clients reach the server, if
	// that is not the listen address (a load balancer, a container): http:// or https://,
	// no path. Default: from Listen.
	PublicURL string
	// TLSCert and TLSKey are PEM files; both or none. With them the base URL is https://
	// and plain connections are refused. Without them the listener answers plain HTTP, and
	// TLS with a self-signed certificate.
	TLSCert, TLSKey string
	// TLSSelfSigned makes the listener accept only TLS, with the self-signed certificate:
	// for networks whose clients can be given that certificate.
	TLSSelfSigned bool
	// TLSMinVersion is "1.2" or "1.3". Default "1.2", which AWS's game server SDKs need.
	TLSMinVersion string
	// InsecurePlainHTTP allows plain HTTP on an address that other machines can reach: for
	// a server behind a proxy that provides TLS, or in a trusted network.
	InsecurePlainHTTP bool

	// DataDir contains the database, the master key and all other files. It is created if
	// missing, with mode 0700. Default ./muster-data.
	DataDir string
	// BlobDir contains the bytes of builds, scripts and logs; the state refers to them. All
	// nodes on one PostgreSQL need the same directory (a network file system). It is
	// created if missing. Default DataDir/blobs.
	BlobDir string
	// Store is where state is kept: "sqlite" (in DataDir), a postgres:// URL, or
	// "memory", which keeps nothing. Default sqlite.
	Store string
	// StorePassword is the password for PostgreSQL; "" means that of the URL, PGPASSWORD or
	// a password file, as for PostgreSQL's own programs.
	StorePassword string
	// Cell names the state within the store. Default "default".
	Cell string
	// NodeAddress is the HOST:PORT at which the other nodes of the cell reach this one.
	// Default: the listen address. Only with PostgreSQL are there other nodes.
	NodeAddress string
	// LeaseTTL is how long after the death of the node that owns the cell another one takes
	// over. Default 5 s, at least 0.5 s.
	LeaseTTL time.Duration
	// FeatureLevel is the highest feature level to which this node lets the cell be raised;
	// 0 means the highest that it knows. While it is lower, an earlier release can take the
	// cell back.
	FeatureLevel int
	// ColdStandby makes a standby read the state when it takes over, instead of keeping it in
	// memory: it then needs little memory, and the takeover takes longer the more there is.
	ColdStandby bool
	// StandbyCheck is how often a standby compares the state that it keeps with the
	// database's, which costs as much as reading all of it. 0 means never.
	StandbyCheck time.Duration
	// MasterKeyFile contains the key that seals secrets and signs tokens; it is created at
	// the first start. All nodes on one PostgreSQL need the same key. Default
	// DataDir/master.key.
	MasterKeyFile string
	// Record is a file in which every command is recorded, for replay. "" means none.
	Record string

	// Region and Account are part of ARNs. Defaults us-east-1 and 000000000000.
	Region, Account string
	// Regions are the regions of the deployment, each with a state of its own. The first is
	// the home region, which has the keys of operators and the accounts of players. All nodes
	// of a deployment have the same regions in the same order. Default: Region alone.
	Regions []string

	// PreferRegions are regions that this node owns whenever it can, of several nodes on one
	// PostgreSQL. Default: none, and the regions are spread evenly.
	PreferRegions []string

	directory string // of a SQLite state, if it is not DataDir (region.go)
	named     bool   // work without a server: the caller said which region is meant (offline.go)

	// AcceptAny accepts callers with any credentials or none. It requires a loopback
	// Listen.
	AcceptAny bool

	// RemoteAccess lets callers open shells on instances of managed fleets, whose hosts
	// allow it.
	RemoteAccess bool

	// BodyTimeout limits how long the body of a request may take to arrive; for builds and
	// other files, how long it may make no progress. Default 30 s.
	BodyTimeout time.Duration
	// MaxConnections limits the number of open connections. Default: three quarters of the
	// files that the process may open, at most 65,536.
	MaxConnections int
	// MaxStrangers limits, per address, the connections on which no request has been
	// authenticated; one more closes the oldest. Default 256.
	MaxStrangers int
	// Limits are the rates of requests by the limit's name, if they are not the default
	// (DefaultLimits). With AcceptAny there are none.
	Limits map[string]limit.Rate
	// ServerPing is for how long nothing must come from a game server until it gets a WebSocket
	// ping; below 0: it gets none. Default: 25 s.
	ServerPing time.Duration

	// MaxStreams limits the number of open event streams; one key has at most a quarter of
	// them, and the last quarter is for keys of the roles admin and operator. Default 128.
	MaxStreams int
	// MetricsListen is the HOST:PORT of a separate listener for /metrics, with plain HTTP;
	// Listen then does not serve it. Default: Listen serves it.
	MetricsListen string
	// OTLPEndpoint is the base URL of a receiver of OpenTelemetry, to which metrics
	// and spans are sent. Default: OTEL_EXPORTER_OTLP_ENDPOINT; without either nothing is sent. The other
	// variables of OpenTelemetry apply in both cases.
	OTLPEndpoint string
	// Prices are what instances and machines cost. Default: nothing has a price.
	Prices price.List
	// TrustedProxies are addresses or networks whose X-Forwarded-For is believed. Those of
	// Players are added.
	TrustedProxies []string
	// DrainTimeout limits how long Stop waits for requests in flight. Default 10 s.
	DrainTimeout time.Duration

	// Computes, Events, Instances, Sessions, Placements and Matches change the domain's periods and rules;
	// zero members mean its defaults.
	Computes   compute.Options
	Events     event.Options
	Instances  instance.Options
	Sessions   session.Options
	Placements placement.Options
	Matches    flexmatch.Options

	// Remotes are other deployments to whose fleets queues may lead. Default: none.
	Remotes []remote.Config

	// Registries says how the registries of container images are reached.
	Registries registry.Options

	// Beacon starts a latency beacon on the UDP port with Listen's number: for a server
	// with everything on one machine. Otherwise beacons run at the locations.
	Beacon bool

	// Players says how players log in and what they can play. With AcceptAny they may use
	// every matchmaking configuration and queue by its name.
	Players backend.Config

	// OIDC lets people log in to the console with the account of an identity provider. It
	// excludes AcceptAny.
	OIDC oidc.Config

	// Sinks receive the events of queues and matchmaking. Default: none.
	Sinks []notify.SinkConfig

	// Reread reads the sources of Players and Sinks again. It is called whenever Hangup
	// receives a signal. nil: they never change.
	Reread func() (Files, error)
	// Hangup makes Run read certificates and files again. nil: it never does, except for
	// certificates, which are watched.
	Hangup <-chan os.Signal
	// Compare makes Run call CheckStandbys. nil: it never does.
	Compare <-chan os.Signal

	// Audit says which requests are recorded in the audit log, and how long it is kept.
	// Default: all but game traffic, for 90 days.
	Audit audit.Options
	// AuditSink is another destination for records of the audit log: an http:// or https://
	// URL, or the name of a file. "": none.
	AuditSink string
	// AuditSinkSecret signs the requests to the URL. "": they are not signed.
	AuditSinkSecret string

	// EventsArchive is where all events are stored before the database removes them:
	// s3://BUCKET/PREFIX, or the name of a folder. "": nowhere.
	EventsArchive string
	// EventsArchiveEvery is how long an event waits at most until it is stored there, 1 s to
	// 30 min. Default 5 min.
	EventsArchiveEvery time.Duration
	// EventsArchiveSize is how much JSON an object has at most, in MiB, 1 to 1024. Default 64.
	EventsArchiveSize int

	// Demo configures the demo that Run shows; nil shows none. It excludes Host.Exec.
	Demo *demo.Options
	// Host configures what Run hosts in this process; nil hosts nothing.
	Host *host.Options

	// Out is where Run writes the ready line, and the demo its text. Default: nowhere.
	Out io.Writer
	// Logger is where the log goes. Default: nowhere.
	Logger *slog.Logger
}

// Defaults that the command line shows.
const (
	DefaultListen  = "127.0.0.1:9080"
	DefaultDataDir = "./muster-data"
	DefaultStore   = "sqlite"
	DefaultRegion  = "us-east-1"
	DefaultAccount = "000000000000"
)

func (o *Options) setDefaults() {
	o.Listen = cmp.Or(o.Listen, DefaultListen)
	o.DataDir = cmp.Or(o.DataDir, DefaultDataDir)
	o.TLSMinVersion = cmp.Or(o.TLSMinVersion, "1.2")
	o.Store = cmp.Or(o.Store, DefaultStore)
	o.Cell = cmp.Or(o.Cell, "default")
	o.MasterKeyFile = cmp.Or(o.MasterKeyFile, o.file("master.key"))
	if len(o.Regions) > 0 {
		o.Region = cmp.Or(o.Region, o.Regions[0])
	}
	o.Region = cmp.Or(o.Region, DefaultRegion)
	o.Account = cmp.Or(o.Account, DefaultAccount)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 10*time.Second)
	o.LeaseTTL = cmp.Or(o.LeaseTTL, cell.DefaultTTL)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Out == nil {
		o.Out = io.Discard
	}
}

// minRetention is the shortest time for which what has ended is kept: clients that poll must
// find it.
const minRetention = time.Hour

// briefest returns the option whose retention is too short, or "".
func (o *Options) briefest() string {
	for _, r := range []struct {
		name string
		kept time.Duration
	}{
		{"event-retention", o.Events.Retention}, {"session-retention", o.Sessions.Retention},
		{"placement-retention", o.Placements.Retention}, {"ticket-retention", o.Matches.Retention},
	} {
		if r.kept != 0 && r.kept < minRetention {
			return r.name
		}
	}
	return ""
}

// validate returns an error in the terms of the command line.
func (o *Options) validate() error {
	switch {
	case !arn.ValidRegion(o.Region):
		return fmt.Errorf("region: %q does not look like us-east-1; AWS's game server SDKs would refuse its ARNs", o.Region)
	case !arn.ValidAccount(o.Account):
		return fmt.Errorf("account: %q does not have 12 digits", o.Account)
	case o.Prices.Check() != nil:
		return fmt.Errorf("prices: %w", o.Prices.Check())
	case o.Audit.Retention < 0:
		return fmt.Errorf("audit-retention: %v is not above 0", o.Audit.Retention)
	case o.briefest() != "":
		return fmt.Errorf("%s: at least %v", o.briefest(), minRetention)
	case o.AuditSink != "" && o.Audit.Level == audit.Off:
		return fmt.Errorf("audit-sink: nothing is recorded with --audit off; leave one of them out")
	case o.MaxStreams < 0:
		return fmt.Errorf("max-streams: %d is not above 0", o.MaxStreams)
	case o.Demo != nil && o.Host != nil && o.Host.Exec != nil:
		return fmt.Errorf("demo: the host of this process runs another program")
	}
	for _, validate := range []func() error{
		o.validateListener, o.validateOIDC, o.validateRegions, o.validateLimits, o.validateStore, o.validateEventsArchive,
	} {
		if err := validate(); err != nil {
			return err
		}
	}
	if err := o.validateRemotes(); err != nil {
		return err
	}
	return o.validatePublicURL()
}

// validateListener checks the options that say where and how the server listens, and who may
// call it there without a key.
func (o *Options) validateListener() error {
	host, _, err := net.SplitHostPort(o.Listen)
	switch {
	case err != nil:
		return fmt.Errorf("listen: %q is no HOST:PORT", o.Listen)
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return fmt.Errorf("tls-cert and tls-key: give both or none")
	case o.TLSSelfSigned && o.TLSCert != "":
		return fmt.Errorf("tls self-signed and tls-cert: give one of them")
	case o.TLSMinVersion != "1.2" && o.TLSMinVersion != "1.3":
		return fmt.Errorf("tls-min-version: %q is neither 1.2 nor 1.3", o.TLSMinVersion)
	case o.AcceptAny && !loopback(host):
		return fmt.Errorf("accept-any-credentials: %s is not a loopback address, so callers need keys there: listen on 127.0.0.1, or say --no-accept-any-credentials (docs/hosting.md#with-others-in-your-network)", o.Listen)
	case !loopback(host) && !o.hasTLS() && !o.InsecurePlainHTTP:
		return fmt.Errorf("listen: other machines reach %s, and plain HTTP would show keys and tokens to their network: give --tls-cert and --tls-key, or --tls self-signed; where a proxy before the server speaks TLS, or the network is trusted, say --insecure-plain-http", o.Listen)
	}
	if _, _, err := net.SplitHostPort(o.MetricsListen); err != nil && o.MetricsListen != "" {
		return fmt.Errorf("metrics-listen: %q is no HOST:PORT", o.MetricsListen)
	}
	return nil
}

// hasTLS reports whether the listener refuses plain HTTP.
func (o *Options) hasTLS() bool { return o.TLSCert != "" || o.TLSSelfSigned }

func (o *Options) validateStore() error {
	if known := int(feature.Known()); o.FeatureLevel < 0 || o.FeatureLevel > known {
		return fmt.Errorf("feature-level: %d is not one of 1 to %d, which this program knows; leave it out for the highest", o.FeatureLevel, known)
	}
	if o.Store == "sqlite" || o.Store == "memory" || o.usesPostgres() {
		return nil
	}
	name, _, isURL := strings.Cut(o.Store, ":") // the rest may contain a password
	if isURL {
		name += ":…"
	}
	return fmt.Errorf("store: %q is neither sqlite nor a postgres:// URL", name)
}

func (o *Options) usesPostgres() bool {
	return strings.HasPrefix(o.Store, "postgres://") || strings.HasPrefix(o.Store, "postgresql://")
}

// maxPublicURL returns how long a public URL may be: it leaves room for the path within the
// 128 characters that the API allows a GameLiftServiceSdkEndpoint.
func (o *Options) maxPublicURL() int {
	most := 128 - len(gameServerPath) - 1
	for _, name := range o.regions() {
		most = min(most, 128-len(o.in(name).endpoint(""))-len(gameServerPath)-1)
	}
	return most
}

func (o *Options) validatePublicURL() error {
	if o.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(o.PublicURL)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("public-url: %q is no http:// or https:// URL", o.PublicURL)
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		return fmt.Errorf("public-url: %q must have no path and no query", o.PublicURL)
	case len(o.PublicURL) > o.maxPublicURL():
		return fmt.Errorf("public-url: %d characters; at most %d fit the endpoints that game servers are given", len(o.PublicURL), o.maxPublicURL())
	}
	o.PublicURL = u.Scheme + "://" + u.Host
	return nil
}

// loopback reports whether a listen address with this host can be reached only from this
// machine.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

func (o *Options) file(name string) string { return filepath.Join(o.DataDir, name) }

// absolute is like file, for programs with another working directory.
func (o *Options) absolute(name string) string { return absolute(o.file(name)) }

// regional is like absolute, for what each region has of its own.
func (o *Options) regional(name string) string {
	return absolute(filepath.Join(cmp.Or(o.directory, o.DataDir), name))
}

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
