package uploads

import (
	"cmp"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
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

// Options configure a Server.
type Options struct {
	Store   *store.Store
	Objects *object.Service
	Builds  *build.Service
	Keys    *auth.Service
	Master  *auth.Master
	Region  string
	// Several is whether the deployment has other regions: requests must then be signed for
	// Region.
	Several bool
	// Base returns the base URL of signed URLs, without a trailing slash.
	Base string
	// Anyone accepts callers with any credentials or none. URLs and credentials that
	// Muster issued are still checked.
	Anyone bool
	// Limits limit the requests of callers; nil means no limits.
	Limits Limits
	// Quiet is how long an upload may stall. Default 30 s.
	Quiet time.Duration
	// Logger receives the log; nil discards it.
	Logger *slog.Logger
}

// Limits limit the requests of callers. Their faults are of kind fault.Throttling.
type Limits interface {
	// Key counts a request of an access key.
	Key(caller auth.Caller) error
	// Failed counts a request with wrong credentials, and returns the error to respond
	// with.
	Failed(r *http.Request, err error) error
}

// anyNumber is Limits without limits.
type anyNumber struct{}

func (anyNumber) Key(auth.Caller) error                   { return nil }
func (anyNumber) Failed(_ *http.Request, err error) error { return err }

// Server serves the S3 subset.
type Server struct {
	Options
	verifier *sigv4.Verifier
}

// skew is how much a signer's clock may differ, as in S3.
const skew = 15 * time.Minute

// New returns a Server.
func New(o Options) *Server {
	o.Limits = cmp.Or(o.Limits, Limits(anyNumber{}))
	o.Quiet = cmp.Or(o.Quiet, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Server{Options: o}
	s.verifier = sigv4.New(sigv4.Options{Service: "s3", Lookup: s.secret, Skew: skew})
	return s
}

// Match reports whether a request is for this door: it is signed for S3, or its path
// begins with a bucket.
func (s *Server) Match(r *http.Request) bool {
	const scope = "/s3/aws4_request"
	if strings.Contains(r.Header.Get("Authorization"), scope) ||
		strings.Contains(r.URL.Query().Get("X-Amz-Credential"), scope) {
		return true
	}
	bucket, _ := split(r.URL.Path)
	return bucket != "" && s.Objects.Buckets.Has(s.Store.View(), bucket)
}

// split splits a path: /BUCKET/KEY.
func split(path string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return bucket, key
}

// request is one request and what is known about it.
type request struct {
	*http.Request
	w           http.ResponseWriter
	bucket, key string
	caller      caller
	query       url.Values
}

// handler serves a request, or returns the error to respond with.
type handler func(*Server, *request) error

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	id := rand.Text()
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

// answer authenticates and authorizes a request, and serves it.
func (s *Server) answer(r *request) error {
	var err error
	request := audit.From(r.Context())
	op, unserved := route(r)
	if r.caller, err = s.identify(r.Request); err != nil {
		request.SetRefused(op.audited, err)
		return s.Limits.Failed(r.Request, err)
	}
	door.Known(r.Request)
	if err := s.Limits.Key(r.caller.key); err != nil {
		return err
	}
	if unserved != nil {
		return unserved
	}
	request.SetCaller(auth.Caller{KeyID: r.caller.name}, op.audited, "/"+r.bucket+"/"+r.key)
	if err := s.allow(r, op.action); err != nil {
		request.SetRefused(op.audited, fault.New(fault.AccessDenied, "%v", err))
		return err
	}
	creates := r.Method == http.MethodPut && r.key == ""
	if r.bucket != "" && !creates && !s.Objects.Buckets.Has(s.Store.View(), r.bucket) {
		return errNoBucket
	}
	r.Request = r.WithContext(store.WithActor(r.Context(), r.caller.name))
	return op.serve(s, r)
}
