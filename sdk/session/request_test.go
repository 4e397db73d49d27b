package session_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/sdk/session"
)

func TestCreateRequest_Validate(t *testing.T) {
	t.Parallel()
	fleet, queue := session.Target{FleetID: "fleet-1"}, session.Target{QueueName: "q", FleetID: "fleet-1"}
	many := map[string]string{}
	for i := range 17 {
		many[strings.Repeat("k", i+1)] = ""
	}
	cases := []struct {
		field string // named in the error; "" is valid
		r     session.CreateRequest
	}{
		{"", session.CreateRequest{Target: fleet, MaxPlayers: 2, IdempotencyToken: "once-1"}},
		{"", session.CreateRequest{Target: queue, MaxPlayers: 2, PlacementID: "p-1", Players: []session.NewPlayer{{PlayerID: "a"}},
			LocationOrder: []string{"custom-x"}, NoFallback: true}},
		{"Target", session.CreateRequest{}},
		{"MaxPlayers", session.CreateRequest{Target: fleet, MaxPlayers: -1}},
		{"Name", session.CreateRequest{Target: fleet, Name: strings.Repeat("n", 1025)}},
		{"Data", session.CreateRequest{Target: fleet, Data: strings.Repeat("d", 262145)}},
		{"IdempotencyToken", session.CreateRequest{Target: fleet, IdempotencyToken: "not this"}},
		{"IdempotencyToken", session.CreateRequest{Target: queue, IdempotencyToken: "once"}},
		{"PlacementID", session.CreateRequest{Target: queue, PlacementID: strings.Repeat("p", 49)}},
		{"PlacementID", session.CreateRequest{Target: fleet, PlacementID: "p"}},
		{"CreatorID", session.CreateRequest{Target: queue, CreatorID: "me"}},
		{"Players", session.CreateRequest{Target: fleet, Players: []session.NewPlayer{{PlayerID: "a"}}}},
		{"Players", session.CreateRequest{Target: queue, Players: []session.NewPlayer{{PlayerID: "a"}}}},
		{"Players[0]", session.CreateRequest{Target: queue, MaxPlayers: 1, Players: []session.NewPlayer{{}}}},
		{"NoFallback", session.CreateRequest{Target: queue, NoFallback: true}},
		{"Properties", session.CreateRequest{Target: fleet, Properties: many}},
		{"Properties", session.CreateRequest{Target: fleet, Properties: map[string]string{"k": strings.Repeat("v", 97)}}},
	}
	for _, c := range cases {
		err := c.r.Validate()
		if c.field == "" && err != nil {
			t.Errorf("%+v: %v", c.r, err)
		}
		if c.field != "" && (!errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), c.field)) {
			t.Errorf("got %v, want an invalid %s", err, c.field)
		}
	}
}

func TestMatchRequest_Validate(t *testing.T) {
	t.Parallel()
	with := func(p session.Player) session.MatchRequest {
		return session.MatchRequest{Configuration: "duel", Players: []session.Player{p}}
	}
	eleven := map[string]session.Attribute{}
	for i := range 11 {
		eleven[string(rune('a'+i))] = session.Number(1)
	}
	for _, r := range []session.MatchRequest{
		{}, {Configuration: "duel"}, with(session.Player{}), with(session.Player{ID: "with space"}),
		with(session.Player{ID: "p", Attributes: eleven}),
		with(session.Player{ID: "p", Attributes: map[string]session.Attribute{"skill": {}}}),
		with(session.Player{ID: "p", Attributes: map[string]session.Attribute{"skill": session.Number(math.NaN())}}),
		with(session.Player{ID: "p", Latency: map[string]time.Duration{"x": -1}}),
		{Configuration: "duel", TicketID: "a/b", Players: []session.Player{{ID: "p"}}},
	} {
		if err := r.Validate(); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%+v: got %v, want invalid", r, err)
		}
	}
	if err := with(session.Player{ID: "p", Attributes: map[string]session.Attribute{"skill": session.Number(3)}}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestAttribute_ReadsEverySpelling(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, want string }{
		{`{"S":"x"}`, `{"S":"x"}`}, {`{"STRING":"x"}`, `{"S":"x"}`},
		{`{"N":23}`, `{"N":23}`}, {`{"DOUBLE":0}`, `{"N":0}`},
		{`{"SL":["a","b"]}`, `{"SL":["a","b"]}`}, {`{"STRING_LIST":[]}`, `{"SL":[]}`},
		{`{"SDM":{"k":1.5}}`, `{"SDM":{"k":1.5}}`}, {`{"STRING_DOUBLE_MAP":{}}`, `{"SDM":{}}`},
	}
	for _, c := range cases {
		a, err := session.ParseAttribute(c.text)
		got, _ := json.Marshal(a)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "3", "{}", `{"S":"a","N":1}`, `{"S":1}`, `{"N":"1"}`, `{"SL":[1]}`, `{"SDM":{"a":"b"}}`, `{"X":1}`, `{"S":null}`} {
		if a, err := session.ParseAttribute(text); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s: got %v, %v, want invalid", text, a, err)
		}
	}
}

func TestConnection_Addr(t *testing.T) {
	t.Parallel()
	cases := []struct {
		c    session.Connection
		want string
	}{
		{session.Connection{IPAddress: "192.0.2.7", DNSName: "host.example", Port: 1}, "192.0.2.7:1"},
		{session.Connection{IPAddress: "192.0.2.7", DNSName: "x.us-west-2.amazongamelift.com", Port: 1}, "x.us-west-2.amazongamelift.com:1"},
		{session.Connection{DNSName: "host.example", Port: 2}, "host.example:2"},
		{session.Connection{IPAddress: "2001:db8::1", Port: 3}, "[2001:db8::1]:3"},
	}
	for _, c := range cases {
		if got := c.c.Addr(); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.c, got, c.want)
		}
	}
}

func TestMilliseconds_RoundsUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int32{0: 1, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, time.Hour * 10000: math.MaxInt32} {
		if got := session.Milliseconds(d); got != want {
			t.Errorf("%v: got %d, want %d", d, got, want)
		}
	}
}
