package app

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
)

// audited records the requests of a door (package audit), and makes spans of them (package
// tracing). with, unless nil, is applied to their contexts.
func (d *domain) audited(name string, next http.Handler, with func(context.Context) context.Context) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if with != nil {
			ctx = with(ctx)
		}
		ctx, request := d.audit.Begin(ctx, name, func() audit.Origin {
			return audit.Origin{
				Source: door.Client(r).String(), UserAgent: r.UserAgent(), ClaimedKeyID: awsrpc.ClaimedKey(r), RequestID: requestID(w.Header()),
			}
		})
		answer := &outcomeWriter{ResponseWriter: w}
		if d.tracer == nil || lasting(r) { // the span would be as long as the connection
			next.ServeHTTP(answer, r.WithContext(d.tracer.With(ctx)))
		} else {
			d.serveTraced(name, next, answer, r.WithContext(ctx))
		}
		request.End(outcomeOf(answer.status))
	})
}

// requestID returns the id that a door gave the request, or "".
func requestID(h http.Header) string {
	if id := h.Get("X-Amzn-Requestid"); id != "" {
		return id
	}
	return h.Get("X-Amz-Request-Id")
}

// outcomeWriter records the status of an answer.
type outcomeWriter struct {
	http.ResponseWriter
	status int
}

func (w *outcomeWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *outcomeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack implements http.Hijacker, which WebSockets need.
func (w *outcomeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// ReadFrom implements io.ReaderFrom, which is used to send files.
func (w *outcomeWriter) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(w.ResponseWriter, from)
}

// outcomeOf returns the outcome for a status.
func outcomeOf(status int) string {
	if status < 400 {
		return audit.OK
	}
	return "HTTP " + strconv.Itoa(status)
}

// operation returns the API operation that a request names in its headers or path.
func operation(r *http.Request) auth.Action {
	_, name, found := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !found {
		name = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	}
	return auth.Action(name)
}

// ended completes the record of a request to the API.
func ended(e awsrpc.Ending) {
	describe(e)
	request := audit.From(e.Request.Context())
	if request == nil {
		return
	}
	if e.Code != "" {
		request.SetRefused(operation(e.Request), fault.New(e.Code, "%s", e.Message))
		request.SetFailure(string(e.Code))
	}
	request.AddResources(func() []string { return named(e.Input) })
}

// naming lists the members of the API's inputs that name a resource.
var naming = []string{
	"ResourceARN", "GameSessionId", "FleetId", "AliasId", "BuildId", "ScriptId", "ComputeName", "InstanceId", "PlacementId",
	"GameSessionQueueName", "MatchmakingConfigurationName", "ConfigurationName", "RuleSetName", "TicketId", "LocationName", "Name",
}

// named returns the names of resources in an input of the API.
func named(in any) (names []string) {
	v := reflect.Indirect(reflect.ValueOf(in))
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, member := range naming {
		f := v.FieldByName(member)
		if f.IsValid() && f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		if f.IsValid() && f.Kind() == reflect.String {
			names = append(names, f.String())
		}
	}
	return names
}
