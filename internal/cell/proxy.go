package cell

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/internal/door"
)

// lasting is the age at which the sender of a forwarded WebSocket counts as known. By
// then it has authenticated, because the owner ends a silent one after half that time.
const lasting = 10 * time.Second

// reachIn is how long an owner may take to accept a connection.
const reachIn = 2 * time.Second

// proxy forwards requests to the owner, over connections kept for that owner only.
type proxy struct {
	secret  []byte
	now     func() time.Time // of the cell
	log     *slog.Logger
	errors  *log.Logger // log for net/http
	buffers buffers
	over    chan struct{} // closed when this node stops

	mu        sync.Mutex
	epoch     uint64
	transport *http.Transport
}

func newProxy(k *Keeper) *proxy {
	return &proxy{
		secret: k.opts.Secret, now: k.now, log: k.log, errors: slog.NewLogLogger(k.log.Handler(), slog.LevelDebug),
		over: make(chan struct{}),
	}
}

// buffers are reused buffers for copying answers.
type buffers struct{ free sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buffer, ok := b.free.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, 32<<10)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.free.Put(&buffer) }

// errBehind reports that the node that was asked no longer owns the cell.
var errBehind = errors.New("the node does not own the cell")

// forward forwards the request to the owner. It reports whether the client got an
// answer, even if only that the owner was lost; false means that the request had no
// effect and can be sent again. taken is called when the owner's answer begins. A
// request in flight ends when another owner takes over.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request, to Route, taken func()) (answered bool) {
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var begun bool // the owner's answer is being copied
	var cut atomic.Bool
	go p.cancelAfter(ctx, func() { cut.Store(true); cancel() }, r, to.Over)
	rewind(r)
	answered = true
	reverse := &httputil.ReverseProxy{
		// Without a FlushInterval an answer of known length is sent when it is whole, if it
		// fits into the buffer of net/http: a client that gets nothing asks again, and one
		// that gets the beginning may not. Streams are passed on at once.
		Transport:  p.to(to),
		ErrorLog:   p.errors,
		BufferPool: &p.buffers,
		Rewrite:    func(pr *httputil.ProxyRequest) { p.rewrite(pr, to) },
		ModifyResponse: func(response *http.Response) error {
			if response.Header.Get(notOwner) != "" {
				return errBehind
			}
			begun = true
			taken()
			switch {
			case response.Header.Get(door.KnownHeader) != "":
				door.Known(r)
			case response.StatusCode == http.StatusSwitchingProtocols:
				time.AfterFunc(lasting, func() { door.Known(r) })
			}
			response.Header.Del(door.KnownHeader)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			p.log.Debug("not forwarded", "owner", to.Owner.Address, "sent", sent.Load(), "error", err)
			again := !sent.Load() || errors.Is(err, errBehind) && (r.GetBody != nil || r.Body == nil || r.Body == http.NoBody)
			if answered = !again || r.Context().Err() != nil; answered {
				Refuse(w, r)
			}
		},
	}
	reverse.ServeHTTP(w, r.WithContext(ctx))
	if begun && cut.Load() { // the owner may have ended its answer in order because we left
		panic(http.ErrAbortHandler)
	}
	return answered
}

// cancelAfter cancels a request when its owner is replaced: a WebSocket immediately,
// since its process must find the new owner; other requests after the time that an
// answer in flight may need. When this node stops, it cancels GET requests, which may
// be endless streams.
func (p *proxy) cancelAfter(ctx context.Context, cancel func(), r *http.Request, over <-chan struct{}) {
	stops := p.over
	if r.Method != http.MethodGet {
		stops = nil
	}
	select {
	case <-over:
	case <-stops:
	case <-ctx.Done():
		return
	}
	if r.Header.Get("Upgrade") == "" {
		select {
		case <-time.After(reachIn):
		case <-ctx.Done():
		}
	}
	cancel()
}

// rewrite leaves the request as it came, except for the sender's address: the
// signature covers its host, path and query. A transport that did not get to send the
// body must not close it.
func (p *proxy) rewrite(pr *httputil.ProxyRequest, to Route) {
	pr.Out.URL.Scheme, pr.Out.URL.Host = "https", to.Owner.Address
	pr.Out.URL.RawQuery = pr.In.URL.RawQuery
	pr.Out.Host = pr.In.Host
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := pr.In.Header[name]; ok {
			pr.Out.Header[name] = values
		}
	}
	if _, ok := pr.In.Header["User-Agent"]; !ok {
		pr.Out.Header["User-Agent"] = nil // or the transport would add its own
	}
	pr.Out.Header.Set(forwardedFor, prove(p.secret, pr.Out, pr.In.RemoteAddr, p.now()))
	if pr.Out.Body != nil && pr.Out.Body != http.NoBody {
		pr.Out.Body = io.NopCloser(pr.Out.Body)
	}
}

// to returns the transport to an owner, and releases the previous owner's.
func (p *proxy) to(r Route) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.transport != nil && p.epoch == r.epoch {
		return p.transport
	}
	if p.transport != nil {
		p.transport.CloseIdleConnections()
	}
	p.epoch = r.epoch
	p.transport = &http.Transport{
		DialContext:         (&net.Dialer{Timeout: reachIn, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: reachIn,
		TLSClientConfig:     pinned(r.Owner.Certificate),
		DisableCompression:  true,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     time.Minute,
	}
	return p.transport
}

// close ends streams, and closes idle connections. Call it once.
func (p *proxy) close() {
	close(p.over)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.transport != nil {
		p.transport.CloseIdleConnections()
	}
}

// ServerName is the server name with which nodes request the certificate whose
// fingerprint is in the lease: the owner may have a newer certificate for all other
// clients.
const ServerName = "node.muster.invalid"

// pinned accepts only the certificate in the lease, regardless of its issuer.
func pinned(fingerprint string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		ServerName:         ServerName,
		InsecureSkipVerify: true, // VerifyConnection checks more: names and issuers do not matter
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || Fingerprint(s.PeerCertificates[0].Raw) != fingerprint {
				return errors.New("the certificate is not the one of the cell's owner")
			}
			return nil
		},
	}
}

// Fingerprint returns the SHA-256 of a certificate's DER bytes, in hex.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
