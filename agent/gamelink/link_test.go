package gamelink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// request is what a server received, and the connection that it may answer on.
type request struct {
	ws     *websocket.Conn
	number int // of the connection
	query  string
	Action string
	ID     string `json:"RequestId"`
}

// serve accepts game servers and passes their requests on.
func serve(t *testing.T) (url string, requests chan request) {
	t.Helper()
	requests = make(chan request, 16)
	var count atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		for n := int(count.Add(1)); ; {
			in := request{ws: ws, number: n, query: r.URL.RawQuery}
			if ws.ReadJSON(&in) != nil {
				return
			}
			requests <- in
		}
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http"), requests
}

// A request whose connection breaks is sent again with the same id on the next connection,
// for which the endpoint is looked up again.
func TestLink_AsksAgain(t *testing.T) {
	t.Parallel()
	url, requests := serve(t)
	tokens := 0
	pushed := make(chan string, 4)
	l := Open(t.Context(), Options{
		FleetID: "fleet-1", HostID: "host-1", ProcessID: "p1", Log: slog.New(slog.DiscardHandler),
		Endpoint: func() (string, string, error) {
			if tokens++; tokens == 1 {
				return "", "", errors.New("not known yet")
			}
			return url, fmt.Sprint("token-", tokens), nil
		},
		Push: func(action string, frame []byte) { pushed <- action + string(frame) },
	})
	var answer struct{ Text string }
	done := make(chan error, 1)
	go func() {
		done <- l.Ask(t.Context(), "AcceptPlayerSession", map[string]any{"PlayerSessionId": "psess-1"}, &answer)
	}()
	first := <-requests
	if !strings.Contains(first.query, "Authorization=token-2") || !strings.Contains(first.query, "pID=p1") || first.ID == "" {
		t.Errorf("the first connection is %+v", first)
	}
	first.ws.NetConn().Close()
	second := <-requests
	if second.number != 2 || second.ID != first.ID || second.Action != "AcceptPlayerSession" || !strings.Contains(second.query, "Authorization=token-3") {
		t.Errorf("the second time it is %+v, first it was %+v", second, first)
	}
	for _, frame := range []string{
		`{"Action":"One"}`, `{"Action":"Two"}`, `{"Action":"x","RequestId":"another","StatusCode":200}`,
		`{"Action":"AcceptPlayerSession","RequestId":"` + second.ID + `","StatusCode":200,"Text":"done"}`,
	} {
		if err := second.ws.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil || answer.Text != "done" {
		t.Errorf("answered %q, %v", answer.Text, err)
	}
	if one, two := <-pushed, <-pushed; one != `One{"Action":"One"}` || two != `Two{"Action":"Two"}` {
		t.Errorf("pushed %s, %s", one, two)
	}
	if !l.Connected() {
		t.Error("it is not connected")
	}
}

// A refusal has its status; a request that is given up returns the context's error.
func TestLink_Refusals(t *testing.T) {
	t.Parallel()
	url, requests := serve(t)
	l := Open(t.Context(), Options{
		ProcessID: "p1", Log: slog.New(slog.DiscardHandler), Push: func(string, []byte) {},
		Endpoint: func() (string, string, error) { return url, "", nil },
	})
	go func() {
		r := <-requests
		answer, _ := json.Marshal(map[string]any{"RequestId": r.ID, "StatusCode": 409, "ErrorMessage": "it has ended"})
		_ = r.ws.WriteMessage(websocket.TextMessage, answer) // the test ends if it fails
	}()
	err := l.Ask(t.Context(), "ActivateGameSession", nil, nil)
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Status != 409 || r.Message != "it has ended" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := l.Ask(ctx, "ActivateGameSession", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// Whatever Muster's endpoint sends, a link neither panics nor takes it for an answer to
// another request.
func FuzzHead(f *testing.F) {
	f.Add([]byte(`{"Action":"TerminateProcess","TerminationTime":1}`))
	f.Add([]byte(`{"RequestId":"id","StatusCode":200}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var h head
		if json.Unmarshal(frame, &h) != nil {
			return
		}
		l := &Link{answers: map[string]chan answer{"id": make(chan answer, 1)}}
		l.take(answer{frame, h})
		if answered := l.answers["id"] == nil; answered != (h.RequestID == "id") {
			t.Errorf("%s: answered is %v", frame, answered)
		}
	})
}
