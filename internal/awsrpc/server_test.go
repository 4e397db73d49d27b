package awsrpc_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
)

// newServer returns a server of the GameLift API.
func newServer(t testing.TB, o awsrpc.Options) *awsrpc.Server {
	t.Helper()
	o.API = gamelift.API()
	srv, err := awsrpc.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

// newJSON returns a request like the AWS CLI's.
func newJSON(operation, body string) *http.Request {
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "GameLift."+operation)
	return r
}

// newCBOR returns a request like that of AWS's Go SDK.
func newCBOR(operation, body string) *http.Request {
	r := httptest.NewRequest("POST", "/service/GameLift/operation/"+operation, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/cbor")
	r.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
	return r
}

func serve(srv http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	srv.ServeHTTP(w, r)
	return w
}

// envelope is the JSON of an error as clients decode it.
type envelope struct {
	Type    string `json:"__type"`
	Message string `json:"message"`
}

func errorOf(t *testing.T, w *httptest.ResponseRecorder) envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatalf("answer %d %q: %v", w.Code, w.Body, err)
	}
	return e
}

// wantError checks a response's status, its error code and a part of its message.
func wantError(t *testing.T, w *httptest.ResponseRecorder, status int, code fault.Kind, text string) {
	t.Helper()
	e := errorOf(t, w)
	if w.Code != status || e.Type != string(code) || !strings.Contains(e.Message, text) {
		t.Errorf("got %d %s %q, want %d %s with %q", w.Code, e.Type, e.Message, status, code, text)
	}
}

func echoAlias(srv *awsrpc.Server) {
	awsrpc.Handle(srv, "DescribeAlias", func(_ context.Context, in *gamelift.DescribeAliasInput) (*gamelift.DescribeAliasOutput, error) {
		return &gamelift.DescribeAliasOutput{Alias: &gamelift.Alias{
			AliasId:      in.AliasId,
			CreationTime: gamelift.At(time.UnixMilli(1469498468057)),
		}}, nil
	})
}

func TestServeHTTP_GoldenAnswers(t *testing.T) {
	srv := newServer(t, awsrpc.Options{})
	echoAlias(srv)
	awsrpc.Handle(srv, "ListAliases", func(context.Context, *gamelift.ListAliasesInput) (*gamelift.ListAliasesOutput, error) {
		return &gamelift.ListAliasesOutput{Aliases: []gamelift.Alias{}}, nil
	})
	awsrpc.Handle(srv, "DeleteAlias", func(context.Context, *gamelift.DeleteAliasInput) (*gamelift.DeleteAliasOutput, error) {
		return nil, nil
	})
	awsrpc.Handle(srv, "ResolveAlias", func(context.Context, *gamelift.ResolveAliasInput) (*gamelift.ResolveAliasOutput, error) {
		return nil, fault.Missing("no")
	})
	cborID := "\xa1gAliasIdgalias-1" // {"AliasId": "alias-1"}
	for _, c := range []struct {
		name    string
		request *http.Request
		status  int
		want    string
	}{
		{"JSON structure", newJSON("DescribeAlias", `{"AliasId":"alias-1"}`), 200,
			`{"Alias":{"AliasId":"alias-1","CreationTime":1469498468.057}}`},
		{"CBOR structure", newCBOR("DescribeAlias", cborID), 200,
			"\xa1eAlias\xa2gAliasIdgalias-1lCreationTime\xc1\xfb\x41\xd5\xe5\xb1\x19\x03\xa5\xe3"},
		{"JSON empty list stays", newJSON("ListAliases", `{}`), 200, `{"Aliases":[]}`},
		{"CBOR empty list stays", newCBOR("ListAliases", "\xa0"), 200, "\xa1gAliases\x80"},
		{"CBOR indefinite lengths", newCBOR("DescribeAlias", "\xbfgAliasId\x7fealiasb-1\xff\xff"), 200,
			"\xa1eAlias\xa2gAliasIdgalias-1lCreationTime\xc1\xfb\x41\xd5\xe5\xb1\x19\x03\xa5\xe3"},
		{"JSON no output", newJSON("DeleteAlias", `{"AliasId":"alias-1"}`), 200, `{}`},
		{"CBOR no output", newCBOR("DeleteAlias", cborID), 200, "\xa0"},
		{"JSON error", newJSON("ResolveAlias", `{"AliasId":"alias-1"}`), 400,
			`{"__type":"NotFoundException","message":"no","Message":"no"}`},
		{"CBOR error", newCBOR("ResolveAlias", cborID), 400,
			"\xa3f__typex(com.amazonaws.gamelift#NotFoundExceptiongmessagebnogMessagebno"},
	} {
		w := serve(srv, c.request)
		if got := w.Body.String(); w.Code != c.status || got != c.want {
			t.Errorf("%s: got %d %q, want %d %q", c.name, w.Code, got, c.status, c.want)
		}
	}
}

func TestServeHTTP_Routing(t *testing.T) {
	srv := newServer(t, awsrpc.Options{})
	echoAlias(srv)
	body := `{"AliasId":"alias-1"}`
	request := func(change func(r *http.Request)) *http.Request {
		r := newJSON("DescribeAlias", body)
		change(r)
		return r
	}
	for name, r := range map[string]*http.Request{
		"as is":           request(func(r *http.Request) {}),
		"path prefix":     request(func(r *http.Request) { r.URL.Path = "/some/prefix/" }),
		"charset":         request(func(r *http.Request) { r.Header.Set("Content-Type", "application/x-amz-json-1.1; charset=utf-8") }),
		"JSON 1.0":        request(func(r *http.Request) { r.Header.Set("Content-Type", "application/x-amz-json-1.0") }),
		"no content type": request(func(r *http.Request) { r.Header.Del("Content-Type") }),
		"unknown member":  newJSON("DescribeAlias", `{"AliasId":"alias-1","New":{"a":[1]}}`),
		"null is absent":  newJSON("DescribeAlias", `{"AliasId":"alias-1","Other":null}`),
		"CBOR path prefix": func() *http.Request {
			r := newCBOR("DescribeAlias", "\xa1gAliasIdgalias-1")
			r.URL.Path = "/x" + r.URL.Path
			return r
		}(),
	} {
		if !srv.Match(r) {
			t.Errorf("%s: does not match", name)
		}
		if w := serve(srv, r); w.Code != 200 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if srv.Match(httptest.NewRequest("PUT", "/bucket/key", nil)) {
		t.Error("an upload matches")
	}
}

func TestServeHTTP_Refusals(t *testing.T) {
	srv := newServer(t, awsrpc.Options{MaxBody: 1000})
	echoAlias(srv)
	awsrpc.Handle(srv, "ListAliases", func(context.Context, *gamelift.ListAliasesInput) (*gamelift.ListAliasesOutput, error) {
		return nil, nil
	})
	request := func(change func(r *http.Request)) *http.Request {
		r := newJSON("DescribeAlias", `{"AliasId":"alias-1"}`)
		change(r)
		return r
	}
	deep := strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40)
	for _, c := range []struct {
		name    string
		request *http.Request
		status  int
		code    fault.Kind
		text    string
	}{
		{"method", request(func(r *http.Request) { r.Method = "GET" }), 405, fault.UnknownOperation, "POST"},
		{"unknown operation", newJSON("Explode", "{}"), 400, fault.UnknownOperation, `"Explode"`},
		{"other service", request(func(r *http.Request) { r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables") }), 400, fault.UnknownOperation, "GameLift.OPERATION"},
		{"content type", request(func(r *http.Request) { r.Header.Set("Content-Type", "text/xml") }), 415, fault.Serialization, "Content-Type"},
		{"too large", newJSON("DescribeAlias", strings.Repeat(" ", 1001)), 413, fault.RequestTooLarge, "at most 1000 bytes"},
		{"too large, unannounced", request(func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 1001))), -1
		}), 413, fault.RequestTooLarge, "at most 1000 bytes"},
		{"no JSON", newJSON("DescribeAlias", `{"AliasId"`), 400, fault.Serialization, "malformed JSON"},
		{"no object", newJSON("DescribeAlias", `[]`), 400, fault.Serialization, "body: must be a structure"},
		{"two names", newJSON("DescribeAlias", `{"AliasId":"a","AliasId":"b"}`), 400, fault.Serialization, "AliasId: malformed JSON"},
		{"type", newJSON("DescribeAlias", `{"AliasId":7}`), 400, fault.Serialization, "AliasId: must be a string"},
		{"fraction for an integer", newJSON("ListAliases", `{"Limit":1.5}`), 400, fault.Serialization, "Limit: must be an integer of 32 bits"},
		{"integer too large", newJSON("ListAliases", `{"Limit":3000000000}`), 400, fault.Serialization, "Limit: must be an integer of 32 bits"},
		{"depth", newJSON("DescribeAlias", `{"X":`+deep+`}`), 400, fault.Serialization, "deeper than 32"},
		{"missing", newJSON("DescribeAlias", `{}`), 400, fault.InvalidRequest, "at 'aliasId' failed to satisfy constraint: Member must not be null"},
		{"empty body", newJSON("DescribeAlias", ``), 400, fault.InvalidRequest, "at 'aliasId' failed to satisfy constraint: Member must not be null"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, serve(srv, c.request), c.status, c.code, c.text) })
	}
}

// The caller and its permissions are determined before a byte of the body is read; the
// claim is then checked against the body.
func TestServeHTTP_Admission(t *testing.T) {
	var steps []string
	step := func(text string) { steps = append(steps, text) }
	srv := newServer(t, awsrpc.Options{
		MaxBody: 100,
		Authenticate: authFunc(func(r *http.Request) (awsrpc.Principal, awsrpc.Proof, error) {
			step("authenticate")
			signed := r.Header.Get("Authorization")
			if signed == "" {
				return awsrpc.Principal{}, nil, fault.New(fault.MissingAuthentication, "sign")
			}
			return awsrpc.Principal{AccessKeyID: "AKID", Identity: signed}, func(body []byte) error {
				step("prove " + string(body))
				if signed == "forged" {
					return fault.New(fault.InvalidSignature, "not yours")
				}
				return nil
			}, nil
		}),
		Authorize: func(p awsrpc.Principal, op string) error {
			step("authorize " + p.AccessKeyID + " " + op)
			if p.Identity == "reader" {
				return fault.New(fault.Unauthorized, "read only")
			}
			return nil
		},
	})
	echoAlias(srv)
	for _, c := range []struct {
		operation, signed, body string
		code                    fault.Kind // "" if it succeeds
		steps                   string
	}{
		{"DescribeAlias", "", "{}", fault.MissingAuthentication, "authenticate"},
		{"DescribeAlias", "", strings.Repeat(" ", 101), fault.MissingAuthentication, "authenticate"},
		{"DescribeAlias", "reader", "{}", fault.Unauthorized, "authenticate,authorize AKID DescribeAlias"},
		{"AcceptMatch", "reader", "{}", fault.AccessDenied, "authenticate,authorize AKID AcceptMatch"}, // does not model UnauthorizedException
		{"DescribeAlias", "forged", "{}", fault.InvalidSignature, "authenticate,authorize AKID DescribeAlias,read,prove {}"},
		{"DescribeAlias", "forged", strings.Repeat(" ", 101), fault.RequestTooLarge, "authenticate,authorize AKID DescribeAlias"},
		{"DescribeAlias", "admin", `{"AliasId":"alias-1"}`, "", `authenticate,authorize AKID DescribeAlias,read,prove {"AliasId":"alias-1"}`},
	} {
		steps = nil
		r := newJSON(c.operation, c.body)
		r.Body = &noted{strings.NewReader(c.body), sync.OnceFunc(func() { step("read") })}
		r.Header.Set("Authorization", c.signed)
		w := serve(srv, r)
		if c.code == "" && w.Code != 200 || c.code != "" && errorOf(t, w).Type != string(c.code) {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
		if got := strings.Join(steps, ","); got != c.steps {
			t.Errorf("%+v: steps %s", c, got)
		}
	}
}

// noted is a body that calls note when it is read.
type noted struct {
	io.Reader
	note func()
}

func (n *noted) Read(p []byte) (int, error) {
	n.note()
	return n.Reader.Read(p)
}

func (n *noted) Close() error { return nil }

type authFunc func(r *http.Request) (awsrpc.Principal, awsrpc.Proof, error)

func (f authFunc) Authenticate(r *http.Request) (awsrpc.Principal, awsrpc.Proof, error) { return f(r) }

// An operation in MaxBodies has its own limit.
func TestServeHTTP_MaxBodies(t *testing.T) {
	srv := newServer(t, awsrpc.Options{MaxBody: 100, MaxBodies: map[string]int64{"DescribeAlias": 200}})
	echoAlias(srv)
	long := `{"AliasId":"alias-1"}` + strings.Repeat(" ", 150)
	if w := serve(srv, newJSON("DescribeAlias", long)); w.Code != 200 {
		t.Errorf("within its limit: %d %s", w.Code, w.Body)
	}
	wantError(t, serve(srv, newJSON("ListAliases", long)), 413, fault.RequestTooLarge, "at most 100 bytes for ListAliases")
	if _, err := awsrpc.New(awsrpc.Options{API: gamelift.API(), MaxBodies: map[string]int64{"Explode": 1}}); err == nil {
		t.Error("a limit of no operation is taken")
	}
}

// An authenticated caller that calls too often is throttled and told when to try again;
// unauthenticated requests are not counted.
func TestServeHTTP_Limit(t *testing.T) {
	t.Parallel()
	var counted []string
	proven := true
	srv := newServer(t, awsrpc.Options{
		Authenticate: authFunc(func(*http.Request) (awsrpc.Principal, awsrpc.Proof, error) {
			return awsrpc.Principal{AccessKeyID: "K"}, func([]byte) error {
				if !proven {
					return fault.New(fault.InvalidSignature, "no")
				}
				return nil
			}, nil
		}),
		Limit: func(p awsrpc.Principal, operation string) error {
			if counted = append(counted, p.AccessKeyID+" "+operation); len(counted) > 1 {
				return limit.Refuse(1500*time.Millisecond, "at most one request")
			}
			return nil
		},
	})
	echoAlias(srv)
	if w := serve(srv, newJSON("DescribeAlias", `{"AliasId":"alias-1"}`)); w.Code != 200 {
		t.Errorf("the first: %d %s", w.Code, w.Body)
	}
	w := serve(srv, newJSON("DescribeAlias", `{"AliasId":"alias-1"}`))
	wantError(t, w, 400, fault.Throttling, "at most one request")
	if after := w.Header().Get("Retry-After"); after != "2" {
		t.Errorf("Retry-After: %q, want 2", after)
	}
	proven = false
	wantError(t, serve(srv, newJSON("DescribeAlias", `{"AliasId":"alias-1"}`)), 400, fault.InvalidSignature, "no")
	if want := []string{"K DescribeAlias", "K DescribeAlias"}; !slices.Equal(counted, want) {
		t.Errorf("counted: %q, want %q", counted, want)
	}
}

func TestServeHTTP_Deadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, awsrpc.Options{Timeout: 5 * time.Second})
		awsrpc.Handle(srv, "DescribeAlias", func(ctx context.Context, _ *gamelift.DescribeAliasInput) (*gamelift.DescribeAliasOutput, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		start := time.Now()
		wantError(t, serve(srv, newJSON("DescribeAlias", `{"AliasId":"alias-1"}`)), 500, fault.InternalService, "took too long")
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestHandle_Misuse(t *testing.T) {
	srv := newServer(t, awsrpc.Options{})
	echoAlias(srv)
	for name, register := range map[string]func(){
		"unknown": func() {
			awsrpc.Handle(srv, "Explode", func(context.Context, *gamelift.DescribeAliasInput) (*gamelift.DescribeAliasOutput, error) {
				return nil, nil
			})
		},
		"twice": func() { echoAlias(srv) },
		"wrong input": func() {
			awsrpc.Handle(srv, "DeleteAlias", func(context.Context, *gamelift.DescribeAliasInput) (*gamelift.DeleteAliasOutput, error) {
				return nil, nil
			})
		},
		"wrong output": func() {
			awsrpc.Handle(srv, "DeleteAlias", func(context.Context, *gamelift.DeleteAliasInput) (*gamelift.DescribeAliasOutput, error) {
				return nil, nil
			})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			register()
		}()
	}
	if got := srv.Handled(); len(got) != 1 || got[0] != "DescribeAlias" {
		t.Errorf("handled %v", got)
	}
}
