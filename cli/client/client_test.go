package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/cli/client"
)

func TestCall(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Amz-Target") != "GameLift.ListFleets" || string(body) != `{"Limit":2}` || r.Header.Get("Authorization") != "" {
			t.Errorf("request is %v %s", r.Header, body)
		}
		io.WriteString(w, `{"FleetIds":["a","b"]}`)
	}))
	defer server.Close()
	var out struct{ FleetIds []string }
	c := &client.Client{Endpoint: server.URL + "/"}
	if err := c.Call(t.Context(), "ListFleets", map[string]int{"Limit": 2}, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, out.FleetIds); diff != "" {
		t.Error(diff)
	}
}

func TestCall_Refused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]client.Error{
		`{"__type":"NotFoundException","message":"gone"}`:                       {Status: 400, Code: "NotFoundException", Message: "gone"},
		`{"__type":"com.amazonaws.gamelift#ConflictException","message":"two"}`: {Status: 400, Code: "ConflictException", Message: "two"},
		`{"code":"not-found","detail":"no player","title":"not found"}`:         {Status: 400, Code: "not-found", Message: "no player"},
		"a proxy says no\n": {Status: 400, Message: "a proxy says no"},
		"":                  {Status: 400},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			io.WriteString(w, body)
		}))
		err := (&client.Client{Endpoint: server.URL}).Call(t.Context(), "ListFleets", struct{}{}, nil)
		server.Close()
		var got *client.Error
		if !errors.As(err, &got) || *got != want {
			t.Errorf("%q gives %+v, want %+v", body, err, want)
		}
	}
}

func TestCall_NobodyListens(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	err := (&client.Client{Endpoint: server.URL}).Call(t.Context(), "ListFleets", struct{}{}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "no server answers at "+server.URL+": ") || !strings.Contains(err.Error(), "MUSTER_ENDPOINT") {
		t.Errorf("the error is %v", err)
	}
}

func TestEvents_RefusalEndsFollowing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	c := &client.Client{Endpoint: server.URL}
	var refused *client.Error
	if err := c.Events(t.Context(), client.EventQuery{Follow: true}, nil); !errors.As(err, &refused) {
		t.Errorf("following a server that refuses gives %v", err)
	}
}
