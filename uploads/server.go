package uploads

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Options of the door.
type Options struct {
	Store   *store.Store
	Objects *object.Service
	Builds  *build.Service
	Keys    *auth.Service
	Master  *auth.Master
	Region  string
	// Base gives the base URL that signed URLs begin with, without a slash at the end.
	Base func() string
	// Anyone lets callers in with any credentials or none. URLs and credentials
	// that Muster made still hold what they say.
	Anyone bool
	// Limits say how often callers may ask; nil: as often as they like.
	Limits Limits
	// Quiet is how long an upload may stand still. Default 30 s.
	Quiet time.Duration
	// Logger is where the log goes. Default: nowhere.
	Logger *slog.Logger
}

// Limits say how often callers may ask. Their faults are of kind fault.Throttling.
type Limits interface {
	// Key counts a request of an access key.
	Key(caller auth.Caller) error
	// Failed counts a request whose credentials are wrong, and returns what to answer
	// it with.
	Failed(r *http.Request, err error) error
}

// anyNumber limits nobody.
type anyNumber struct{}

func (anyNumber) Key(auth.Caller) error                   { return nil }
func (anyNumber) Failed(_ *http.Request, err error) error { return err }

// Server serves the S3 subset.
type Server struct {
	Options
	verifier *sigv4.Verifier
}

// skew is how far a signer's clock may be off, as S3 has it.
const skew = 15 * time.Minute

// New makes the door.
func New(o Options) *Server {
	if o.Limits == nil {
		o.Limits = anyNumber{}
	}
	if o.Quiet <= 0 {
		o.Quiet = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{Options: o}
	s.verifier = sigv4.New(sigv4.Options{Service: "s3", Lookup: s.secret, Skew: skew})
	return s
}

// Match tells whether a request is for this door: it is signed for S3, or its
// path begins with a bucket.
func (s *Server) Match(r *http.Request) bool {
	const scope = "/s3/aws4_request"
	if strings.Contains(r.Header.Get("Authorization"), scope) ||
		strings.Contains(r.URL.Query().Get("X-Amz-Credential"), scope) {
		return true
	}
	bucket, _ := split(r.URL.Path)
	return bucket != "" && s.Objects.HasBucket(s.Store.View(), bucket)
}

// split takes a path apart: /BUCKET/KEY.
func split(path string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return bucket, key
}

// request is one request and what is known of it.
type request struct {
	*http.Request
	w           http.ResponseWriter
	bucket, key string
	caller      caller
	query       map[string][]string
}

// handler answers a request, or gives the error to answer.
type handler func(*Server, *request) error

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	id := requestID()
	w.Header().Set("X-Amz-Request-Id", id)
	w.Header().Set("Server", "Muster")
	req := &request{Request: r, w: w, query: r.URL.Query()}
	req.bucket, req.key = split(r.URL.Path)
	r.Body = door.Patient(w, r.Body, s.Quiet)
	err := s.answer(req)
	status := http.StatusOK
	if err != nil {
		status = s.writeError(req, id, err)
	}
	s.Logger.Debug("file request", "method", r.Method, "bucket", req.bucket, "key", req.key,
		"principal", req.caller.name, "status", status, "request_id", id, "duration", time.Since(began), "error", err)
}

// answer finds out who asks for what, whether they may, and does it.
func (s *Server) answer(r *request) error {
	var err error
	request := audit.From(r.Context())
	if r.caller, err = s.identify(r.Request); err != nil {
		request.Refused(actionOf(r), err)
		return s.Limits.Failed(r.Request, err)
	}
	door.Known(r.Request)
	if err := s.Limits.Key(r.caller.key); err != nil {
		return err
	}
	do, action, err := route(r)
	if err != nil {
		return err
	}
	request.Acts(auth.Caller{KeyID: r.caller.name}, actionOf(r), "/"+r.bucket+"/"+r.key)
	if err := s.allow(r, action); err != nil {
		request.Refused(actionOf(r), fault.New(fault.AccessDenied, "%v", err))
		return err
	}
	r.Request = r.WithContext(store.WithActor(r.Context(), r.caller.name))
	return do(s, r)
}

func requestID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return strings.ToUpper(hex.EncodeToString(b))
}
