package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/agent/wrap"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth/oidc"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/cli/style"
	"github.com/musterhq/muster/fleet/price"
	"github.com/musterhq/muster/internal/address"
	"github.com/musterhq/muster/internal/heap"
	"github.com/musterhq/muster/internal/registry"
	"github.com/musterhq/muster/notify"
	"github.com/musterhq/muster/placement/remote"
)

// serverFlags are shared by local and serve.
type serverFlags struct {
	stateFlags
	OIDC           oidcFlags     `embed:""`
	Listen         string        `default:"127.0.0.1:9080" placeholder:"HOST:PORT" help:"Where to listen; port 0 picks a free one (${default})."`
	PublicURL      string        `name:"public-url" placeholder:"URL" help:"Base URL by which others reach this server, where it is not the listen address."`
	TLSCert        string        `name:"tls-cert" placeholder:"FILE" help:"PEM certificate chain; with --tls-key the server speaks TLS only."`
	TLSKey         string        `name:"tls-key" placeholder:"FILE" help:"PEM key of the certificate."`
	TLS            string        `name:"tls" placeholder:"self-signed" enum:",self-signed" default:"" help:"self-signed: speak TLS only, with a certificate that the server signs itself (server-cert.pem in the data directory, for clients to trust)."`
	TLSMin         string        `name:"tls-min-version" enum:"1.2,1.3" default:"1.2" help:"Oldest TLS version to accept, 1.2 or 1.3 (${default})."`
	Plain          bool          `name:"insecure-plain-http" help:"Speak plain HTTP although other machines reach the listen address: behind a proxy that speaks TLS, or in a network that is trusted."`
	NodeAddress    string        `name:"node-address" placeholder:"HOST:PORT" help:"Where other servers on the same PostgreSQL reach this one (the listen address)."`
	Prefer         []string      `name:"prefer-regions" placeholder:"REGION,…" help:"Regions that this server works for whenever it can, of several servers on the same PostgreSQL (none: they share the regions evenly)."`
	FeatureLevel   int           `name:"feature-level" placeholder:"N" help:"Highest feature level to which the stored state is raised, so that an earlier release can still be used (the highest that this program knows)."`
	Lease          time.Duration `default:"5s" help:"How long after the death of the server that works another one on the same PostgreSQL takes over (${default})."`
	ColdStandby    bool          `help:"Read the state only when this server takes over: it needs little memory until then, and the takeover takes longer the more state there is."`
	StandbyCheck   time.Duration `placeholder:"DURATION" help:"How often this server compares the state that it keeps while it stands by with the database's, as a check of Muster itself (never)."`
	Record         string        `placeholder:"FILE" help:"Record every command to a file that 'muster replay' reads."`
	Sinks          string        `placeholder:"FILE" help:"YAML file with the sinks that are told of events (docs/notifications.md)."`
	Remotes        string        `placeholder:"FILE" help:"YAML file with other Musters and regions of AWS, to whose fleets queues may lead (docs/placement.md)."`
	NotifyURL      string        `name:"notify-url" placeholder:"URL" help:"Send every event to this URL as well, as EventBridge JSON; with --notify-secret the requests are signed."`
	NotifySecret   string        `name:"notify-secret" placeholder:"TEXT" help:"Secret that signs the requests to --notify-url; better given as MUSTER_NOTIFY_SECRET or in a file, where other users cannot see it."`
	NotifyFile     string        `name:"notify-secret-file" placeholder:"FILE" help:"File with the secret of --notify-secret; SIGHUP has it read again."`
	RegistryAuth   string        `name:"registry-credentials-file" placeholder:"FILE" help:"File with credentials for registries of container images, in the form of Docker's config.json."`
	RegistryPlain  []string      `name:"plain-registries" placeholder:"HOST:PORT,…" help:"Registries that are reached over plain HTTP, besides those on a loopback address."`
	Players        string        `name:"players-file" placeholder:"FILE" help:"YAML file that says how players log in and what they can play (docs/players.md)."`
	UniqueIDs      bool          `name:"unique-placement-ids" help:"Refuse a PlacementId that was ever used; by default one that ended without a game session may be used again."`
	TrustedProxies []string      `name:"trusted-proxies" placeholder:"ADDRESS,…" help:"Addresses or networks of proxies that may say in X-Forwarded-For for whom they send a request."`
	MaxConnections int           `name:"max-connections" placeholder:"N" help:"Most connections at a time (three quarters of the files that the process may open, at most 65536)."`
	MaxStrangers   int           `name:"max-strangers" default:"256" placeholder:"N" help:"Most connections of one address of which no request has shown credentials; one more closes the oldest (${default})."`
	Limits         []string      `name:"limits" placeholder:"NAME=RATE,…" help:"How often callers may ask, where it is not the default: requests a second, and how many at once after a colon, or off (docs/operations.md)."`
	MaxStreams     int           `name:"max-streams" default:"128" placeholder:"N" help:"Most event streams at a time; one key has at most a quarter, and the last quarter is for administrators and operators (${default})."`
	MetricsListen  string        `name:"metrics-listen" placeholder:"HOST:PORT" help:"Where to serve /metrics, over plain HTTP, instead of on the listen address."`
	OTLPEndpoint   string        `name:"otlp-endpoint" placeholder:"URL" help:"Send metrics and traces to this receiver of OpenTelemetry over HTTP; OTEL_EXPORTER_OTLP_ENDPOINT does so too (docs/monitoring.md)."`
	Prices         string        `placeholder:"FILE" help:"YAML file with what instances and machines cost an hour, for muster cost, the console and the metrics (docs/monitoring.md); SIGHUP has it read again."`
	RemoteAccess   bool          `name:"remote-access" help:"Let callers with a key of the role remote-shell or admin open shells in instances, on hosts whose agents allow it (muster shell, GetComputeAccess)."`
	DrainTimeout   time.Duration `default:"10s" help:"How long a stop waits for requests in flight (${default})."`
	DeploymentBake time.Duration `default:"30s" help:"How long the container groups of a new version must stay ready before the next ones are replaced; a crash in this time counts against the deployment (${default}; 0: not at all)."`
	ServerPing     time.Duration `name:"game-server-ping" default:"25s" help:"For how long nothing must come from a game server until it gets a WebSocket ping, so that no load balancer takes its connection for dead; 0 sends none (${default})."`
	HostGrace      time.Duration `default:"210s" help:"How long the agent of a host may be away until the host is given up and its instances are made elsewhere (${default})."`
	Audit          string        `enum:"operators,all,off" default:"operators" help:"What the audit log records: operators (changes, reads of secrets and refusals, without game traffic), all, or off (${default})."`
	EventKeep      time.Duration `name:"event-retention" default:"720h" help:"How long events are kept, at least 1h (${default})."`
	EventArchive   string        `name:"events-archive" placeholder:"URL|FOLDER" help:"Where all events are stored as compressed JSON lines before the database removes them: s3://BUCKET/PREFIX, with the region and credentials that AWS's tools find, or a folder (docs/operations.md)."`
	ArchiveEvery   time.Duration `name:"events-archive-every" placeholder:"DURATION" help:"How long an event waits at most until --events-archive has it, 1s to 30m (5m)."`
	ArchiveSize    int           `name:"events-archive-size" placeholder:"MIB" help:"Most MiB of JSON in an object of --events-archive, before compression, 1 to 1024 (64)."`
	SessionKeep    time.Duration `name:"session-retention" default:"720h" help:"How long ended game sessions and player sessions can be described, at least 1h (${default})."`
	PlacementKeep  time.Duration `name:"placement-retention" default:"720h" help:"How long ended placements can be described, at least 1h (${default})."`
	TicketKeep     time.Duration `name:"ticket-retention" default:"24h" help:"How long ended matchmaking tickets can be described, at least 1h; as long their ids cannot be used again (${default})."`
	AuditKeep      time.Duration `name:"audit-retention" default:"2160h" help:"How long the audit log is kept (${default})."`
	AuditSink      string        `name:"audit-sink" placeholder:"URL|FILE" help:"Where records of the audit log are kept besides, each as a line of JSON: in a file, or wherever the URL takes them."`
	AuditSecret    string        `name:"audit-sink-secret" placeholder:"TEXT" help:"Secret that signs the requests to the URL of --audit-sink; better given as MUSTER_AUDIT_SINK_SECRET or in a file, where other users cannot see it."`
	AuditFile      string        `name:"audit-sink-secret-file" placeholder:"FILE" help:"File with the secret of --audit-sink-secret."`
}

// oidcFlags say with which identity provider people log in to the console.
type oidcFlags struct {
	Issuer     string        `name:"oidc-issuer" placeholder:"URL" help:"Let people log in to the console with their accounts of this OpenID Connect provider; exactly as it writes its issuer (docs/console.md)."`
	ClientID   string        `name:"oidc-client-id" placeholder:"ID" help:"Id with which that provider knows this server."`
	Secret     string        `name:"oidc-client-secret" placeholder:"TEXT" help:"Secret of that id, none for a public client; better given as MUSTER_OIDC_CLIENT_SECRET or in a file, where other users cannot see it."`
	SecretFile string        `name:"oidc-client-secret-file" placeholder:"FILE" help:"File with the secret of --oidc-client-secret; SIGHUP has it read again."`
	Scopes     []string      `name:"oidc-scopes" placeholder:"SCOPE,…" help:"Scopes to ask for besides openid (profile,email)."`
	Claim      string        `name:"oidc-claim" default:"groups" placeholder:"NAME" help:"Claim of the ID token that says what somebody may do; dots lead into claims with members (${default})."`
	Rules      []string      `name:"oidc-rules" placeholder:"VALUE=ROLE,…" help:"Role for each value of the claim, the first that fits; * is everybody. A scope follows after spaces, as with keys: 'eu=operator arn:aws:gamelift:*:*:fleet/* team=red'."`
	Domains    []string      `name:"oidc-email-domains" placeholder:"DOMAIN,…" help:"Let in nobody but verified email addresses of these domains."`
	Name       string        `name:"oidc-name" placeholder:"TEXT" help:"Name of the provider on the button of the login form (its host)."`
	Lifetime   time.Duration `name:"oidc-lifetime" default:"12h" help:"How long such a login is valid, at most 12h; what the provider says later counts from the next login (${default})."`
}

// config reads the flags and the secret.
func (f *oidcFlags) config(log *slog.Logger) (c oidc.Config, err error) {
	c = oidc.Config{Issuer: f.Issuer, ClientID: f.ClientID, Scopes: f.Scopes, Claim: f.Claim, EmailDomains: f.Domains, Name: f.Name, Lifetime: f.Lifetime}
	for _, text := range f.Rules {
		r, err := oidc.ParseRule(text)
		if err != nil {
			return c, err
		}
		c.Rules = append(c.Rules, r)
	}
	c.ClientSecret, err = f.secret(log)
	return c, err
}

func (f *oidcFlags) secret(log *slog.Logger) (string, error) {
	return secret{"oidc-client-secret", f.Secret, f.SecretFile}.read(log)
}

// stateFlags say which state a command works on.
type stateFlags struct {
	logFlags
	storeFlags
	Config    kong.ConfigFlag `placeholder:"FILE" help:"YAML file; each field is named like a flag. Flags win over MUSTER_… variables, and those over the file."`
	Data      string          `default:"./muster-data" placeholder:"DIR" help:"Data directory (${default})."`
	Blobs     string          `placeholder:"DIR" help:"Directory for the bytes of builds and logs; all servers on one PostgreSQL share it (blobs in the data directory)."`
	MasterKey string          `name:"master-key-file" placeholder:"FILE" help:"File with the key that seals secrets; all servers on one PostgreSQL share it (master.key in the data directory)."`
	Cell      string          `default:"default" help:"Name of the state within the store (${default})."`
	Region    string          `help:"Region in ARNs (us-east-1). With --regions: which of them a command without a server works on (the first)."`
	Regions   []string        `placeholder:"REGION,…" help:"Regions of this deployment, each with a state of its own; the first is home, with the keys and the players' accounts (the one of --region)."`
	Account   string          `default:"000000000000" help:"Account number in ARNs, 12 digits (${default})."`
}

// storeFlags say where the state is.
type storeFlags struct {
	Store         string `default:"sqlite" placeholder:"ENGINE" help:"sqlite (in the data directory) or a postgres:// URL (${default}); a URL with a password is better given as MUSTER_STORE or in a file, where other users cannot see it."`
	StoreFile     string `name:"store-file" placeholder:"FILE" help:"File with the URL of --store."`
	StorePassword string `name:"store-password-file" placeholder:"FILE" help:"File with the password for PostgreSQL, where the URL has none; PGPASSWORD is another place for it."`
}

// apply copies the flags to options whose Logger is set.
func (f *storeFlags) apply(o *app.Options) (err error) {
	if o.Store = f.Store; f.StoreFile != "" {
		if f.Store != app.DefaultStore {
			return secret{name: "store", value: f.Store, file: f.StoreFile}.conflict()
		}
		if o.Store, err = (secret{name: "store", file: f.StoreFile}).read(o.Logger); err != nil {
			return err
		}
	}
	o.StorePassword, err = secret{name: "store-password", file: f.StorePassword}.read(o.Logger)
	return err
}

type logFlags struct {
	LogFormat string `enum:",pretty,text,json" default:"" placeholder:"WHICH" help:"pretty (for people), text (logfmt) or json (pretty for 'muster local' on a terminal, else text)."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"debug, info, warn or error (${default})."`
}

// ProvideOptions is called by kong for Run.
func (f *serverFlags) ProvideOptions(t *streams) (app.Options, error) {
	o, err := f.stateFlags.ProvideOptions(t)
	if err != nil {
		return o, err
	}
	reread := func() (app.Files, error) { return f.files(o.Logger) }
	files, err := reread()
	if err != nil {
		return o, err
	}
	o.Players, o.Sinks, o.AuditSinkSecret, o.Prices = files.Players, files.Sinks, files.AuditSinkSecret, files.Prices
	o.Reread, o.Hangup, o.Compare = reread, hangups(), comparisons()
	o.Listen, o.PublicURL, o.TLSCert, o.TLSKey = f.Listen, f.PublicURL, f.TLSCert, f.TLSKey
	o.TLSSelfSigned, o.TLSMinVersion, o.InsecurePlainHTTP = f.TLS != "", f.TLSMin, f.Plain
	o.PreferRegions = f.Prefer
	o.NodeAddress, o.LeaseTTL, o.FeatureLevel, o.ColdStandby, o.StandbyCheck = f.NodeAddress, f.Lease, f.FeatureLevel, f.ColdStandby, f.StandbyCheck
	o.TrustedProxies, o.MaxConnections, o.MaxStrangers = f.TrustedProxies, f.MaxConnections, f.MaxStrangers
	o.Registries = registry.Options{Credentials: f.RegistryAuth, Plain: f.RegistryPlain}
	if o.Remotes, err = readYAML[[]remote.Config]("remotes", f.Remotes); err != nil {
		return o, err
	}
	remote.Within(filepath.Dir(f.Remotes), o.Remotes)
	o.MaxStreams, o.MetricsListen, o.OTLPEndpoint = f.MaxStreams, f.MetricsListen, f.OTLPEndpoint
	if o.Limits, err = readLimits(f.Limits); err != nil {
		return o, err
	}
	if o.OIDC, err = f.OIDC.config(o.Logger); err != nil {
		return o, err
	}
	o.Record, o.DrainTimeout, o.RemoteAccess = f.Record, f.DrainTimeout, f.RemoteAccess
	o.Audit.Level, o.Audit.Retention = audit.Level(f.Audit), f.AuditKeep
	o.AuditSink = f.AuditSink
	o.EventsArchive, o.EventsArchiveEvery, o.EventsArchiveSize = f.EventArchive, f.ArchiveEvery, f.ArchiveSize
	o.Events.Retention, o.Sessions.Retention, o.Placements.Retention, o.Matches.Retention = f.EventKeep, f.SessionKeep, f.PlacementKeep, f.TicketKeep
	o.Placements.UniqueIDs, o.Instances.HostGrace = f.UniqueIDs, f.HostGrace
	if o.ServerPing = f.ServerPing; o.ServerPing == 0 {
		o.ServerPing = -1
	}
	if o.Instances.Bake = f.DeploymentBake; f.DeploymentBake == 0 {
		o.Instances.Bake = -1
	}
	if f.DeploymentBake < 0 {
		return o, fmt.Errorf("deployment-bake: %v is below 0", f.DeploymentBake)
	}
	if f.HostGrace <= 0 {
		return o, fmt.Errorf("host-grace: %v is not above 0", f.HostGrace)
	}
	return o, nil
}

// files reads the files that a running server reloads.
func (f *serverFlags) files(log *slog.Logger) (files app.Files, err error) {
	if files.Sinks, err = f.sinks(log); err != nil {
		return files, err
	}
	if files.AuditSinkSecret, err = (secret{"audit-sink-secret", f.AuditSecret, f.AuditFile}).read(log); err != nil {
		return files, err
	}
	if files.OIDCSecret, err = f.OIDC.secret(log); err != nil {
		return files, err
	}
	if files.Prices, err = readYAML[price.List]("prices", f.Prices); err != nil {
		return files, err
	}
	files.Players, err = readYAML[backend.Config]("players", f.Players)
	return files, err
}

// ProvideOptions is called by kong for commands whose Run takes options.
func (f *stateFlags) ProvideOptions(t *streams) (app.Options, error) {
	o := app.Options{
		DataDir: f.Data, BlobDir: f.Blobs, MasterKeyFile: f.MasterKey, Cell: f.Cell, Region: f.Region, Regions: f.Regions, Account: f.Account,
		Logger: f.on(t), Out: t.out,
	}
	if len(f.Regions) == 0 {
		o.Region = cmp.Or(f.Region, app.DefaultRegion)
	}
	return o, f.apply(&o)
}

// on returns the logger for standard error: with colors, if it is a terminal and the log is
// for people.
func (f *logFlags) on(t *streams) *slog.Logger {
	if f.LogFormat == "pretty" {
		var level slog.Level
		if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
			panic(err) // the flag allows no other values
		}
		return slog.New(style.NewLogHandler(t.screenErr, style.Of(t.screenErr), level))
	}
	return f.logger(t.err)
}

func (f *logFlags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		panic(err) // the flag allows no other values
	}
	o := &slog.HandlerOptions{Level: level}
	switch f.LogFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(w, o))
	case "pretty":
		return slog.New(style.NewLogHandler(w, style.Style{}, level))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// localCommand is `muster local`.
type localCommand struct {
	serverFlags
	AcceptAnyCredentials bool   `default:"true" negatable:"" help:"Let callers in with any credentials or none; on a loopback address only (${default})."`
	Demo                 bool   `default:"true" negatable:"" help:"Run the demo game (${default})."`
	DemoServer           string `placeholder:"FILE" help:"The demo's game server program (arena, beside this program)."`
	DemoProcesses        int    `default:"4" help:"How many game server processes the demo keeps (${default})."`
	DemoPlayers          int    `default:"3" help:"How many bots play in the demo session; 0 makes none (${default})."`

	Exec   string   `placeholder:"FILE" help:"Host this game server program of yours, a file or a name in PATH, with its output here; arguments for it follow after --, in which {port} stands for its port."`
	Image  string   `placeholder:"IMAGE" help:"Host the game server of this container image, with its output here; an image that Docker or Podman has on this machine, or one of a registry."`
	Port   []string `placeholder:"PORT" help:"The port on which the program of --exec or the image of --image listens; without it each copy is given a free one as GAME_PORT and {port}. An image may have several, and PORT/udp or PORT/tcp."`
	Copy   int      `name:"copies" default:"1" help:"How many copies of the program of --exec or the image of --image run (${default})."`
	Reload []string `placeholder:"PATH" help:"Start the game servers of --exec anew when this file changes, or a file in this folder; those with a game session after it. May be given several times."`
	NoSDK  bool     `name:"no-sdk" help:"The program of --exec knows no SDK: each game session starts it, and ends with it."`
	bareFlags
	namedFlags
	IP   []string `name:"ip" placeholder:"ADDRESS" default:"127.0.0.1" help:"Address that players reach, an IP address of this machine: an IPv4 address, an IPv6 address, or both (${default})."`
	Args []string `arg:"" optional:"" help:"Arguments for the program of --exec, after --."`

	engineFlags
	legacyFlags
}

// ProvideOptions is like that of serverFlags; on a terminal the log is for people.
func (c *localCommand) ProvideOptions(t *streams) (app.Options, error) {
	if c.LogFormat == "" && style.IsTerminal(t.screenErr) {
		c.LogFormat = "pretty"
	}
	return c.serverFlags.ProvideOptions(t)
}

// Run serves until a signal comes.
func (c *localCommand) Run(t *streams, o app.Options) error {
	o.AcceptAny, o.Beacon = c.AcceptAnyCredentials, c.AcceptAnyCredentials
	logged := notify.SinkConfig{Name: "local-log", Kind: notify.Log, Topics: []string{notify.Everything}}
	o.Sinks = append(o.Sinks, logged)
	o.Reread = func() (app.Files, error) {
		files, err := c.files(o.Logger)
		files.Sinks = append(files.Sinks, logged)
		return files, err
	}
	ip, ipv6, err := address.Pair(c.IP...)
	if err != nil {
		return fmt.Errorf("local: ip: %w", err)
	}
	o.Host = &host.Options{Managed: true, Shells: o.RemoteAccess, IP: ip, IPv6: ipv6}
	o.Host.Launcher, _ = os.Executable() // without it processes are not isolated
	o.Host.Containers = c.engineFlags.options()
	o.Host.Legacy = c.legacyFlags.ports()
	if o.Host.Named, err = c.namedFlags.ranges(); err != nil {
		return fmt.Errorf("local: %w", err)
	}
	if err := c.own(t, o.Host); err != nil {
		return err
	}
	if c.Demo && c.Exec == "" && c.Image == "" {
		o.Demo = &demo.Options{Server: c.DemoServer, Processes: c.DemoProcesses, Players: c.DemoPlayers}
		if c.DemoPlayers == 0 {
			o.Demo.Players = -1
		}
	}
	return serve(t, o)
}

// serve runs a server until a signal comes.
func serve(t *streams, o app.Options) error {
	go heap.Run(t.ctx)
	return app.Run(t.ctx, o)
}

// own adds the developer's own game server, if there is one, to what is hosted.
func (c *localCommand) own(t *streams, o *host.Options) error {
	switch {
	case c.Exec != "" && c.Image != "":
		return fmt.Errorf("local: --exec and --image exclude each other")
	case c.Copy > 1 && len(c.Port) > 0:
		return fmt.Errorf("local: --copies needs each copy to listen on a port of its own; leave --port out and use {port} or GAME_PORT")
	case c.Exec != "":
		return c.ownProgram(t, o)
	case len(c.Reload) > 0:
		return errors.New("local: --reload is for the program of --exec")
	case len(c.Args) > 0:
		return fmt.Errorf("local: %q is no flag; only the program of --exec takes arguments", c.Args[0])
	case c.Image != "":
		return c.ownImage(t, o)
	}
	return nil
}

// ownProgram adds the program of --exec to what is hosted.
func (c *localCommand) ownProgram(t *streams, o *host.Options) error {
	name, port := c.Exec, 0
	c.Exec = found(c.Exec)
	if err := startable(c.Exec); err != nil {
		return err
	}
	if err := c.wrapped(); err != nil {
		return err
	}
	if len(c.Port) > 0 {
		var err error
		if port, err = strconv.Atoi(c.Port[0]); err != nil || len(c.Port) > 1 {
			return fmt.Errorf("local: --port: the program of --exec has one port, a number")
		}
	}
	if err := host.CheckReload(c.Reload); err != nil {
		return fmt.Errorf("local: --reload: %w", err)
	}
	o.Exec = &host.Program{Name: name, Path: c.Exec, Args: c.Args, Port: port, Copies: c.Copy, Output: t.screen, Reload: c.Reload}
	return nil
}

// ownImage adds the image of --image to what is hosted.
func (c *localCommand) ownImage(t *streams, o *host.Options) error {
	if c.NoSDK || c.bareFlags.given() != "" {
		return fmt.Errorf("local: --%s is for --exec; an image may start its program with muster wrap", cmp.Or(c.bareFlags.given(), "no-sdk"))
	}
	if err := o.Containers.Check(t.ctx); err != nil {
		return fmt.Errorf("local: image: %w", err)
	}
	o.Image = &host.Image{Name: c.Image, Copies: c.Copy, Output: t.screen}
	for _, text := range c.Port {
		number, kind, both := strings.Cut(text, "/")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > 60000 {
			return fmt.Errorf("local: --port: %q is no port within 1-60000", text)
		}
		switch kind = strings.ToUpper(kind); {
		case !both:
			o.Image.Ports = append(o.Image.Ports, host.ImagePort{Number: n, Protocol: "UDP"}, host.ImagePort{Number: n, Protocol: "TCP"})
		case kind == "UDP" || kind == "TCP":
			o.Image.Ports = append(o.Image.Ports, host.ImagePort{Number: n, Protocol: kind})
		default:
			return fmt.Errorf("local: --port: %q ends neither with /udp nor with /tcp", text)
		}
	}
	return nil
}

// found returns the path of a program: a name without a separator that is no file of the
// working directory is looked for in PATH.
func found(program string) string {
	if _, err := os.Stat(program); err == nil || filepath.Base(program) != program {
		return program
	}
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	return program
}

// startable returns an error if a program of this machine cannot be hosted.
func startable(program string) error {
	if _, err := os.Stat(program); err != nil {
		if name, arguments, ok := strings.Cut(program, " "); ok {
			if _, err := exec.LookPath(name); err == nil {
				return fmt.Errorf("local: exec: there is no file %q; if %s is the program, its arguments come after --: --exec %[2]s -- %s", program, name, arguments)
			}
			return fmt.Errorf("local: exec: there is no file %q, nor a program %s; a path with spaces is given in quotes, and arguments come after --", program, name)
		}
		if errors.Is(err, fs.ErrNotExist) && filepath.Base(program) == program {
			return fmt.Errorf("local: exec: %s is neither a file here nor a program in PATH", program)
		}
		return fmt.Errorf("local: exec: %w", err)
	}
	if err := diagnose.Program(program, program); err != nil {
		if info, statErr := os.Stat(program); statErr == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 == 0 {
			return fmt.Errorf("local: exec: %w: run chmod +x on it, or name the program that runs it: --exec python3 -- %s", err, program)
		}
		return fmt.Errorf("local: exec: %w", err)
	}
	return nil
}

// wrapped replaces a program without an SDK by our own program, which wraps it.
func (c *localCommand) wrapped() error {
	if !c.NoSDK {
		if flag := c.bareFlags.given(); flag != "" {
			return fmt.Errorf("local: --%s is for a program without an SDK: give --no-sdk, too", flag)
		}
		return nil
	}
	if err := c.bareFlags.apply(&wrap.Options{}); err != nil { // and not when a game session starts it
		return fmt.Errorf("local: %w", err)
	}
	program, err := filepath.Abs(c.Exec)
	if err != nil {
		return fmt.Errorf("local: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("local: %w", err)
	}
	c.Exec, c.Args = self, withoutSDK(program, c.bareFlags, c.Args)
	return nil
}

// serveCommand is `muster serve`.
type serveCommand struct{ serverFlags }

// AfterApply is called by kong before Run.
func (c *serveCommand) AfterApply() error {
	private()
	return nil
}

// Run serves until a signal comes.
func (c *serveCommand) Run(t *streams, o app.Options) error {
	return serve(t, o)
}
