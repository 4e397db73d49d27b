package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

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
			t.Errorf("%q is %+v, want %+v", body, err, want)
		}
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
		t.Errorf("following a server that refuses returned %v", err)
	}
}

// A connection that is lost is made again, and continues after the last event.
func TestEvents_Reconnects(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch after := r.URL.Query().Get("after"); after {
		case "":
			io.WriteString(w, "\n"+`{"seq":7}`+"\n")
		case "7":
			io.WriteString(w, `{"seq":8}`+"\n\n"+`{"seq":9}`+"\n")
		default:
			t.Errorf("events after %q are asked for", after)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	c := &client.Client{Endpoint: server.URL}
	lost, full := 0, errors.New("enough")
	var seqs []uint64
	err := c.Events(t.Context(), client.EventQuery{Follow: true, Pause: time.Millisecond, Reconnected: func(error) { lost++ }}, func(e client.Event) error {
		if seqs = append(seqs, e.Seq); e.Seq == 8 {
			return full
		}
		return nil
	})
	if err != full || lost != 1 || !slices.Equal(seqs, []uint64{7, 8}) {
		t.Errorf("events %v after %d losses, and %v", seqs, lost, err)
	}
	seqs = nil
	if err := c.Events(t.Context(), client.EventQuery{}, func(e client.Event) error { seqs = append(seqs, e.Seq); return nil }); err != nil || !slices.Equal(seqs, []uint64{7}) {
		t.Errorf("without following: events %v and %v", seqs, err)
	}
}
