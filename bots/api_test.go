package bots

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/sdk/session"
)

// A refusal means what it means in package session, and bots act on that alone.
func TestAPI_Errors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   error
	}{
		{400, `{"__type":"GameSessionFullException","message":"full"}`, session.ErrFull},
		{400, `{"__type":"com.amazonaws.gamelift#FleetCapacityExceededException"}`, session.ErrNoCapacity},
		{400, `{"__type":"ThrottlingException"}`, session.ErrThrottled},
		{400, `{"__type":"UnrecognizedClientException"}`, session.ErrUnauthorized},
		{400, `{"__type":"NewException"}`, session.ErrUnavailable},
		{502, "a proxy says no", session.ErrUnavailable},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		err := api{&client.Client{Endpoint: server.URL}}.call(t.Context(), "CreatePlayerSession", members{}, nil)
		server.Close()
		if _, refused := errors.AsType[*client.Error](err); !errors.Is(err, c.want) || !refused {
			t.Errorf("%s is %v, want %v", c.body, err, c.want)
		}
	}
}

func TestAPI_DescribeTickets(t *testing.T) {
	t.Parallel()
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if requests++; requests == 2 && string(body) != `{"TicketIds":["11"]}` {
			t.Errorf("the second request is %s", body)
		}
		io.WriteString(w, `{"TicketList":[{"TicketId":"1","Status":"COMPLETED","StartTime":1.5,"GameSessionConnectionInfo":{
			"GameSessionArn":"arn","IpAddress":"10.0.0.1","Port":4000,"MatchedPlayerSessions":[{"PlayerId":"ann","PlayerSessionId":"psess-1"}]}}]}`)
	}))
	defer server.Close()
	a := api{&client.Client{Endpoint: server.URL}}
	tickets, err := a.DescribeTickets(t.Context(), "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11")
	if err != nil || len(tickets) != 2 {
		t.Fatalf("got %v, %v", tickets, err)
	}
	want := session.Ticket{ID: "1", State: session.Completed, SessionID: "arn", Connections: map[string]session.Connection{
		"ann": {SessionID: "arn", PlayerID: "ann", PlayerSessionID: "psess-1", IPAddress: "10.0.0.1", Port: 4000},
	}}
	if diff := cmp.Diff(want, tickets[0]); diff != "" {
		t.Error(diff)
	}
}
