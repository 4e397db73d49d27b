// Package awsquery serves APIs in AWS's query protocol: requests are forms that name their
// action, and responses are XML. Source: Smithy, AWS query protocol; Amazon EC2 Auto Scaling
// and AWS STS API references, "Common errors".
package awsquery

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// API is an API in the query protocol. It serves the requests that are signed for its
// service.
type API struct {
	Name      string // in messages, such as "Auto Scaling API"
	Service   string // in signatures, such as "autoscaling"
	Namespace string // of responses
	Version   string // that requests must name
	Actions   map[string]Action
	Unserved  string // added to the message about any other action
	// Known returns a fault if the sender of a request that no action handles is not known.
	Known  func(r *Request) error
	Logger *slog.Logger // nil discards
}

// Action serves a request: it checks that the sender may send it, and returns a value that is
// marshaled as the action's result.
type Action func(r *Request) (result any, err error)

// Request is a request whose body has been read.
type Request struct {
	*http.Request
	Body []byte
	Form url.Values
}

// Members returns a list parameter (NAME.member.1 and so on).
func (r *Request) Members(name string) []string {
	var all []string
	for n := 1; ; n++ {
		v := r.Form.Get(fmt.Sprintf("%s.member.%d", name, n))
		if v == "" {
			return all
		}
		all = append(all, v)
	}
}

// AsksFor reports whether a list parameter is absent or has a value.
func (r *Request) AsksFor(name, value string) bool {
	all := r.Members(name)
	return len(all) == 0 || slices.Contains(all, value)
}

// Match reports whether a request is signed for the API's service.
func (a *API) Match(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Authorization"), "/"+a.Service+"/aws4_request")
}

// ServeHTTP serves one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	w.Header().Set("X-Amzn-Requestid", id)
	action, result, err := a.answer(r)
	if err != nil {
		a.refuse(w, id, err)
		return
	}
	write(w, http.StatusOK, response{
		XMLName: xml.Name{Local: action + "Response"}, Namespace: a.Namespace,
		Result: named{action + "Result", result}, Metadata: metadata{id},
	})
}

// answer reads a request and has its action serve it.
func (a *API) answer(r *http.Request) (action string, result any, err error) {
	var body bytes.Buffer
	if err := door.ReadBody(r, &body, maxBody); err != nil {
		return "", nil, err
	}
	q := &Request{Request: r, Body: body.Bytes()}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var unread error
	if q.Form, unread = url.ParseQuery(body.String()); unread != nil || r.Method != http.MethodPost || kind != "application/x-www-form-urlencoded" {
		q.Form, unread = url.Values{}, fault.Invalid("the %s takes POST with a form (AWS query protocol)", a.Name)
	}
	action = q.Form.Get("Action")
	serve := a.Actions[action]
	if serve == nil || unread != nil || q.Form.Get("Version") != a.Version {
		if err := a.Known(q); err != nil {
			return "", nil, err
		}
		switch {
		case unread != nil:
			return "", nil, unread
		case serve == nil:
			return "", nil, fault.New(fault.UnknownOperation, "action %.64q of the %s is not served: %s", action, a.Name, a.Unserved)
		}
		return "", nil, fault.Invalid("Version: must be %s", a.Version)
	}
	result, err = serve(q)
	return action, result, err
}

// refuse responds with an error.
func (a *API) refuse(w http.ResponseWriter, id string, err error) {
	f, ok := fault.As(err)
	if !ok {
		cmp.Or(a.Logger, slog.New(slog.DiscardHandler)).Error("a request of the "+a.Name+" failed", "request_id", id, "error", err)
		f = &fault.Fault{Kind: fault.InternalService, Message: "something went wrong here; the server's log says what"}
	}
	limit.Advise(w.Header(), err)
	code, status := codeOf(f.Kind), f.Kind.HTTPStatus()
	kind := "Sender"
	if status >= 500 {
		kind = "Receiver"
	}
	write(w, status, refusal{Namespace: a.Namespace, Error: refused{kind, code, f.Message}, RequestID: id})
}

// codeOf returns the code of an error in the protocol (API references, "Common errors").
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

// response is a successful response.
type response struct {
	XMLName   xml.Name
	Namespace string `xml:"xmlns,attr"`
	Result    named
	Metadata  metadata `xml:"ResponseMetadata"`
}

// named is a value that is marshaled under a name.
type named struct {
	name  string
	value any
}

// MarshalXML writes the value as the element name.
func (n named) MarshalXML(e *xml.Encoder, _ xml.StartElement) error {
	return e.EncodeElement(n.value, xml.StartElement{Name: xml.Name{Local: n.name}})
}

type metadata struct {
	RequestID string `xml:"RequestId"`
}

// refusal is the response to a request that fails.
type refusal struct {
	XMLName   xml.Name `xml:"ErrorResponse"`
	Namespace string   `xml:"xmlns,attr,omitempty"`
	Error     refused
	RequestID string `xml:"RequestId"`
}

type refused struct{ Type, Code, Message string }

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
