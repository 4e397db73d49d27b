package autoscaling

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/xml"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/store"
)

// namespace is that of the responses, and version the one that requests must name.
const (
	namespace = "http://autoscaling.amazonaws.com/doc/2011-01-01/"
	version   = "2011-01-01"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// Options configure a Door.
type Options struct {
	Store  *store.Store     // required
	Groups *fleetiq.Service // required
	// Allow returns the sender of a request whose body has been read, or a fault if it may
	// not perform action on the resources.
	Allow  func(r *http.Request, body []byte, action auth.Action, resources ...string) (auth.Caller, error)
	Logger *slog.Logger // nil discards
}

// Door serves the requests that are signed for the service autoscaling.
type Door struct{ opts Options }

// New returns a door.
func New(o Options) *Door {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Door{o}
}

// Match reports whether a request is for this door.
func (d *Door) Match(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Authorization"), "/autoscaling/aws4_request")
}

// request is one request.
type request struct {
	*http.Request
	body []byte
	form url.Values
}

// actions are the actions that the door serves.
var actions = map[string]func(*Door, *request) (any, error){
	"DescribeAutoScalingGroups": (*Door).groups,
	"DescribePolicies":          (*Door).policies,
}

// ServeHTTP serves one request.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	w.Header().Set("X-Amzn-Requestid", id)
	action, result, err := d.answer(r)
	if err != nil {
		d.refuse(w, id, err)
		return
	}
	write(w, http.StatusOK, response{
		XMLName: xml.Name{Local: action + "Response"}, Namespace: namespace, Result: result, Metadata: metadata{id},
	})
}

// answer authenticates and authorizes a request, and returns its action and result.
func (d *Door) answer(r *http.Request) (action string, result any, err error) {
	var body bytes.Buffer
	if err := door.ReadBody(r, &body, maxBody); err != nil {
		return "", nil, err
	}
	q := &request{Request: r, body: body.Bytes()}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var unread error
	if q.form, unread = url.ParseQuery(body.String()); unread != nil || r.Method != http.MethodPost || kind != "application/x-www-form-urlencoded" {
		q.form, unread = url.Values{}, fault.Invalid("the Auto Scaling API takes POST with a form (AWS query protocol)")
	}
	action = q.form.Get("Action")
	serve := actions[action]
	if serve == nil || unread != nil || q.form.Get("Version") != version {
		if _, err := d.opts.Allow(r, q.body, list); err != nil {
			return "", nil, err
		}
		switch {
		case unread != nil:
			return "", nil, unread
		case serve == nil:
			return "", nil, fault.New(fault.UnknownOperation,
				"action %.64q of the Auto Scaling API is not served: Muster starts no machines and has no Auto Scaling groups of its own. DescribeAutoScalingGroups and DescribePolicies answer for those of game server groups", action)
		}
		return "", nil, fault.Invalid("Version: must be %s", version)
	}
	result, err = serve(d, q)
	return action, result, err
}

// refuse responds with an error.
func (d *Door) refuse(w http.ResponseWriter, id string, err error) {
	f, ok := fault.As(err)
	if !ok {
		d.opts.Logger.Error("a request of the Auto Scaling API failed", "request_id", id, "error", err)
		f = &fault.Fault{Kind: fault.InternalService, Message: "something went wrong here; the server's log says what"}
	}
	limit.Advise(w.Header(), err)
	code, status := codeOf(f.Kind), f.Kind.HTTPStatus()
	kind := "Sender"
	if status >= 500 {
		kind = "Receiver"
	}
	write(w, status, refusal{Namespace: namespace, Error: refused{kind, code, f.Message}, RequestID: id})
}

// codeOf returns the code of an error in this API (API reference, "Common errors").
func codeOf(kind fault.Kind) string {
	switch kind {
	case fault.UnknownOperation:
		return "InvalidAction"
	case fault.AccessDenied, fault.Unauthorized:
		return "AccessDenied"
	case fault.MissingAuthentication:
		return "MissingAuthenticationToken"
	case fault.UnrecognizedClient:
		return "InvalidClientTokenId"
	case fault.InvalidSignature:
		return "SignatureDoesNotMatch"
	case fault.Throttling:
		return "Throttling"
	case fault.InternalService:
		return "InternalFailure"
	}
	return "ValidationError"
}

func write(w http.ResponseWriter, status int, v any) {
	text, err := xml.Marshal(v)
	if err != nil {
		status, text = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.WriteString(w, xml.Header)
	w.Write(text)
}
