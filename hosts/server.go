package hosts

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/certificate"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/store"
)

// Options configure a Server.
type Options struct {
	Store         *store.Store       // required
	Computes      *compute.Service   // required
	Instances     *instance.Service  // required
	Builds        *build.Service     // required
	Containers    *container.Service // required
	Objects       *object.Service    // required; logs are kept there
	GameServerURL string             // where game server processes connect
	Home          arn.Home           // its Region is passed to processes
	Path          string             // below the server's base URL where agents connect; "" is the base URL
	BuildKey      ed25519.PrivateKey // required; signs the builds that agents install
	Logger        *slog.Logger       // nil discards
	Registerer    prometheus.Registerer
	// Relay serves a game server's connection relayed by an agent; nil refuses relays.
	Relay func(query url.Values, from string, socket door.Socket) error
	// Own reports whether the agent in this process runs a game server of a fleet that is not
	// managed; nil: it runs none. Such game servers may be relayed too.
	Own func(ref compute.Ref) bool
	// Allow authenticates the sender of a request without a body and checks that it may
	// perform action on the resources; nil refuses all operators.
	Allow func(r *http.Request, action auth.Action, resources ...string) (auth.Caller, error)

	// Certificates signs the certificates of game servers; nil refuses them.
	Certificates *certificate.Authority

	// Shells enables remote shells; nil refuses them.
	Shells *ShellOptions

	// Limits limit the requests of machines; nil means no limits.
	Limits Limits

	LogLife  time.Duration // how long logs are kept; default 14 days, as with AWS
	LogBytes int64         // of one process's archive of logs; default 512 MiB
}

// Limits limit the requests of machines. Their faults are of kind fault.Throttling.
type Limits interface {
	// Join counts a request to join.
	Join(r *http.Request) error
	// Agent counts a request of a host.
	Agent(hostID string) error
	// Failed counts a request with wrong credentials, and returns the error to respond
	// with.
	Failed(r *http.Request, err error) error
}

// anyNumber is Limits without limits.
type anyNumber struct{}

func (anyNumber) Join(*http.Request) error                { return nil }
func (anyNumber) Agent(string) error                      { return nil }
func (anyNumber) Failed(_ *http.Request, err error) error { return err }

// Server serves host agents. It is the instance.Launcher of everything that runs on
// joined machines.
type Server struct {
	opts     Options
	log      *slog.Logger
	mux      *http.ServeMux
	upgrader websocket.Upgrader
	metrics  *metrics
	shells   *shells
	warnings *limit.Warnings // those that unauthenticated requests can cause

	ctx    context.Context // of connections; ends with Stop
	cancel context.CancelFunc
	open   sync.WaitGroup // connections

	mu       sync.Mutex
	stopping bool
	links    map[string]*link // by host id: the newest connection
	runs     map[string]runs  // by host id
}

// New returns a server. Call Stop to end it.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Limits == nil {
		o.Limits = anyNumber{}
	}
	if o.LogLife == 0 {
		o.LogLife = 14 * 24 * time.Hour
	}
	if o.LogBytes == 0 {
		o.LogBytes = 512 << 20
	}
	s := &Server{
		opts: o, log: o.Logger.With("component", "hosts"), mux: http.NewServeMux(), links: map[string]*link{}, runs: map[string]runs{},
		upgrader: websocket.Upgrader{
			HandshakeTimeout: writing, ReadBufferSize: 4096, WriteBufferSize: 4096, WriteBufferPool: &sync.Pool{},
			CheckOrigin: door.SameOrigin, // web pages are not agents
		},
	}
	s.metrics = newMetrics(o.Registerer, s.unsupported)
	s.warnings = limit.NewWarnings(s.log)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mux.HandleFunc("POST "+protocol.PathJoin, refusing(s.join))
	s.mux.HandleFunc("GET "+protocol.PathHost, s.known(s.connect))
	s.mux.HandleFunc("GET "+protocol.PathBuilds+"{sha}", s.known(s.build))
	s.mux.HandleFunc("PUT "+protocol.PathLogs+"{instance}/{process}", s.known(s.putLogs))
	s.mux.HandleFunc("POST "+protocol.PathCertificates+"{instance}", s.known(s.certificate))
	s.mux.HandleFunc("GET "+protocol.PathCA, refusing(s.root))
	if o.Relay != nil {
		s.mux.HandleFunc("GET "+protocol.PathRelay, s.known(s.relays))
	}
	s.shells = newShells(s)
	s.operatorRoutes()
	o.Instances.OnAssign(s.assign)
	o.Instances.AddLauncher(s)
	return s
}

// ServeHTTP serves a request of an agent or of an operator.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// unsupported returns how many connected agents are of a release that is not supported.
func (s *Server) unsupported() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		if l.unsupported.Load() {
			n++
		}
	}
	return n
}

// leaving bounds how long Stop takes to send close frames to all agents.
const leaving = time.Second

// Stop drops all connections, after a close frame that says that the server goes away. The hosts are not
// marked as lost: the next node to serve grants them the grace period after a restart.
func (s *Server) Stop() {
	bye, until := websocket.FormatCloseMessage(websocket.CloseGoingAway, "this Muster server stops"), time.Now().Add(leaving)
	s.mu.Lock()
	s.stopping = true
	for _, l := range s.links {
		_ = l.ws.WriteControl(websocket.CloseMessage, bye, until) // an agent that does not get it sees the end of the connection
		l.drop()
	}
	s.mu.Unlock()
	s.cancel()
	s.open.Wait()
}

// assign makes a host's connection send the desired state, and ends the shells of
// instances that have ended.
func (s *Server) assign(hostID string) {
	s.shells.Recheck()
	if l := s.link(hostID); l != nil {
		l.desired.Send()
	}
}

func (s *Server) link(hostID string) *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links[hostID]
}

// forget removes what is known about a host that was removed.
func (s *Server) forget(hostID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, hostID)
}

// buildKey returns the key with which agents verify builds.
func (s *Server) buildKey() ed25519.PublicKey { return s.opts.BuildKey.Public().(ed25519.PublicKey) }

// of returns the connection of the host that runs a process, or nil.
func (s *Server) of(ref compute.Ref) *link {
	hostID, ok := s.opts.Instances.HostOf(s.opts.Store.View(), ref)
	if !ok {
		return nil
	}
	return s.link(hostID)
}

// Owns reports whether a connected host runs the process (instance.Launcher).
func (s *Server) Owns(ref compute.Ref) bool { return s.of(ref) != nil }

// exitTime is how long a process may take to exit after it announced its end
// (SERVER_PROCESS_PROCESS_EXIT_TIMEOUT; API reference, Event).
const exitTime = 30 * time.Second

// Ended has the host kill a process that counts as ended, unless it exits in time
// (instance.Launcher). A disconnected host is told when it next reports the process.
func (s *Server) Ended(ref compute.Ref, why event.Code) {
	l := s.of(ref)
	if l == nil {
		return
	}
	instanceID, _ := compute.InstanceOf(ref.ComputeName)
	k := protocol.Kill{InstanceID: instanceID, ProcessID: ref.ProcessID, Reason: string(why)}
	if why == event.ProcessEnded {
		k.Grace, k.Reason = exitTime, string(event.ServerProcessExitTimeout)
	}
	l.send(protocol.Message{Kill: &k})
}
