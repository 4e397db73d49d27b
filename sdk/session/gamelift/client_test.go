package gamelift

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/internal/joining"
)

// service answers as a test specifies; anything not specified fails as unknown.
type service struct {
	pages       map[string][]*gamelift.SearchGameSessionsOutput // by fleet or alias
	queue       *types.GameSessionQueue
	status      []types.GameSessionStatus         // one per read
	placement   []types.GameSessionPlacementState // one per read
	reserve     error
	tickets     map[string]types.MatchmakingConfigurationStatus
	strict      bool // an unknown ticket fails the whole request
	searched    []string
	described   int
	stopErr     error
	placeErrors int
}

// answer answers a call of the SDK in place of the network.
func (s *service) answer(_ context.Context, in middleware.InitializeInput, _ middleware.InitializeHandler) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
	switch in := in.Parameters.(type) {
	case *gamelift.SearchGameSessionsInput:
		name := aws.ToString(in.FleetId) + aws.ToString(in.AliasId)
		s.searched = append(s.searched, name+"/"+aws.ToString(in.NextToken))
		page, _ := strconv.Atoi(aws.ToString(in.NextToken))
		if page >= len(s.pages[name]) {
			return out, md, &types.NotFoundException{Message: aws.String("no " + name)}
		}
		out.Result = s.pages[name][page]
	case *gamelift.DescribeGameSessionQueuesInput:
		out.Result = &gamelift.DescribeGameSessionQueuesOutput{GameSessionQueues: []types.GameSessionQueue{*s.queue}}
	case *gamelift.DescribeGameSessionsInput:
		status := s.status[min(s.described, len(s.status)-1)]
		s.described++
		out.Result = &gamelift.DescribeGameSessionsOutput{GameSessions: []types.GameSession{{GameSessionId: in.GameSessionId, Status: status}}}
	case *gamelift.CreatePlayerSessionInput:
		err = s.reserve
		out.Result = &gamelift.CreatePlayerSessionOutput{PlayerSession: &types.PlayerSession{PlayerSessionId: aws.String("psess-1"), PlayerId: in.PlayerId,
			GameSessionId: in.GameSessionId, IpAddress: aws.String("192.0.2.1"), Port: aws.Int32(7777), CreationTime: aws.Time(time.Unix(1000, 0))}}
	case *gamelift.DescribeGameSessionPlacementInput:
		if s.placeErrors > 0 {
			s.placeErrors--
			return out, md, &smithy.GenericAPIError{Code: "ThrottlingException"}
		}
		status := s.placement[min(s.described, len(s.placement)-1)]
		s.described++
		out.Result = &gamelift.DescribeGameSessionPlacementOutput{GameSessionPlacement: &types.GameSessionPlacement{PlacementId: in.PlacementId, Status: status,
			PlacedPlayerSessions: []types.PlacedPlayerSession{{PlayerId: aws.String("p1"), PlayerSessionId: aws.String("psess-1")}}}}
	case *gamelift.StopGameSessionPlacementInput:
		out.Result, err = &gamelift.StopGameSessionPlacementOutput{}, s.stopErr
	case *gamelift.DescribeMatchmakingInput:
		found, err := s.describeTickets(in.TicketIds)
		return middleware.InitializeOutput{Result: found}, md, err
	default:
		err = fmt.Errorf("%T is not answered", in)
	}
	return out, md, err
}

func (s *service) describeTickets(ids []string) (*gamelift.DescribeMatchmakingOutput, error) {
	s.described++
	out := &gamelift.DescribeMatchmakingOutput{}
	for _, id := range ids {
		status, ok := s.tickets[id]
		if ok {
			out.TicketList = append(out.TicketList, types.MatchmakingTicket{TicketId: aws.String(id), Status: status})
		} else if s.strict {
			return nil, &types.NotFoundException{Message: aws.String("no " + id)}
		}
	}
	return out, nil
}

func client(s *service, n session.Connector) *Client {
	instead := func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("answer", s.answer), middleware.Before)
	}
	sdk := gamelift.New(gamelift.Options{Region: "us-west-2", APIOptions: []func(*middleware.Stack) error{instead}})
	return &Client{api: sdk, log: slog.New(slog.DiscardHandler), seat: joining.Seat{Connector: n}}
}

func page(token string, ids ...string) *gamelift.SearchGameSessionsOutput {
	out := &gamelift.SearchGameSessionsOutput{}
	if token != "" {
		out.NextToken = &token
	}
	for _, id := range ids {
		out.GameSessions = append(out.GameSessions, types.GameSession{GameSessionId: aws.String(id)})
	}
	return out
}

func TestSearch(t *testing.T) {
	t.Parallel()
	pages := map[string][]*gamelift.SearchGameSessionsOutput{
		"fleet-1": {page("1", "a", "b"), page("2", "c"), page("", "d")},
		"alias-1": {page("", "d", "e")},
		"fleet-9": {page("0", "z")},
	}
	queue := &types.GameSessionQueue{Destinations: []types.GameSessionQueueDestination{
		{DestinationArn: aws.String("arn:aws:gamelift:us-west-2:123456789012:alias/alias-1")},
		{DestinationArn: aws.String("arn:aws:gamelift:us-west-2:123456789012:fleet/fleet-1")},
	}}
	cases := []struct {
		name     string
		r        session.SearchRequest
		stop     int // stop after this many
		want     []string
		err      error
		searched int
	}{
		{"all pages", session.SearchRequest{Target: session.Target{FleetID: "fleet-1"}}, 0, []string{"a", "b", "c", "d"}, nil, 3},
		{"at most", session.SearchRequest{Target: session.Target{FleetID: "fleet-1"}, Max: 3}, 0, []string{"a", "b", "c"}, nil, 2},
		{"stopped by the caller", session.SearchRequest{Target: session.Target{FleetID: "fleet-1"}}, 1, []string{"a"}, nil, 1},
		{"a queue", session.SearchRequest{Target: session.Target{QueueName: "q"}}, 0, []string{"d", "e", "a", "b", "c"}, nil, 4},
		{"an error", session.SearchRequest{Target: session.Target{FleetID: "fleet-8"}}, 0, nil, session.ErrNotFound, 1},
		{"a page again", session.SearchRequest{Target: session.Target{FleetID: "fleet-9"}}, 0, []string{"z"}, session.ErrUnavailable, 2},
		{"no target", session.SearchRequest{}, 0, nil, session.ErrInvalid, 0},
	}
	for _, c := range cases {
		s := &service{pages: pages, queue: queue}
		var got []string
		var failed error
		for info, err := range client(s, nil).Search(t.Context(), c.r) {
			if failed = err; err == nil {
				got = append(got, info.ID)
			}
			if len(got) == c.stop {
				break
			}
		}
		if !slices.Equal(got, c.want) || !errors.Is(failed, c.err) || len(s.searched) != c.searched {
			t.Errorf("%s: got %q, %v after %q", c.name, got, failed, s.searched)
		}
	}
}

// door is a Connector.
type door struct {
	err  error
	open bool
}

func (d *door) Connect(context.Context, session.Connection) error {
	d.open = d.err == nil
	return d.err
}
func (d *door) Disconnect(context.Context) error { d.open = false; return nil }

func TestReserve_WaitsWhileActivating(t *testing.T) {
	cases := []struct {
		name  string
		looks int
		wait  time.Duration
		took  time.Duration
		err   error
	}{
		{"at once", 0, time.Minute, 0, nil},
		{"eight times", 8, time.Minute, 45500 * time.Millisecond, nil}, // the last two pauses are held at 10 s
		{"for too long", 100, 5 * time.Second, 5 * time.Second, session.ErrNotActive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{status: append(slices.Repeat([]types.GameSessionStatus{types.GameSessionStatusActivating}, c.looks), types.GameSessionStatusActive)}
				begin := time.Now()
				place, err := client(s, nil).Reserve(t.Context(), session.JoinRequest{SessionID: "g", PlayerID: "p", WaitActive: c.wait})
				if took := time.Since(begin); !errors.Is(err, c.err) || c.err == nil && (place.Addr() != "192.0.2.1:7777" || !place.ReservedUntil.Equal(time.Unix(1060, 0))) {
					t.Errorf("got %+v, %v after %v", place, err, took)
				} else if took != pausesOf(c.looks, c.took) {
					t.Errorf("took %v, want %v", took, pausesOf(c.looks, c.took))
				}
			})
		})
	}
}

// pausesOf adds up the documented pauses, to at most the longest allowed wait.
func pausesOf(looks int, most time.Duration) (sum time.Duration) {
	for n := range looks {
		sum += min(100*time.Millisecond+200*time.Millisecond<<min(n, 16), 10*time.Second)
	}
	return min(sum, max(most, 0))
}

func TestReserve_OnEndedSession(t *testing.T) {
	t.Parallel()
	s := &service{status: []types.GameSessionStatus{types.GameSessionStatusTerminated}}
	_, err := client(s, nil).Reserve(t.Context(), session.JoinRequest{SessionID: "g", PlayerID: "p", WaitActive: time.Minute})
	if !errors.Is(err, session.ErrNotActive) {
		t.Errorf("got %v", err)
	}
}

func TestJoin_OnceAtATime(t *testing.T) {
	t.Parallel()
	d := &door{err: errors.New("no route")}
	c := client(&service{}, d)
	join := session.JoinRequest{SessionID: "g", PlayerID: "p"}
	place, err := c.Join(t.Context(), join)
	if !errors.Is(err, session.ErrConnect) || !errors.Is(err, d.err) || place.PlayerSessionID != "psess-1" {
		t.Errorf("unreachable: got %+v, %v", place, err)
	}
	d.err = nil
	if _, err := c.Join(t.Context(), join); err != nil || !d.open {
		t.Errorf("got %v", err)
	}
	if _, err := c.Join(t.Context(), join); !errors.Is(err, session.ErrAlreadyJoined) {
		t.Errorf("second join: got %v", err)
	}
	if err := c.Leave(t.Context()); err != nil || d.open {
		t.Errorf("leave: got %v", err)
	}
	if err := c.Leave(t.Context()); err != nil {
		t.Errorf("leave again: got %v", err)
	}
	c.api = client(&service{reserve: &types.GameSessionFullException{}}, nil).api
	for range 2 { // a failed join can be retried
		if _, err := c.Join(t.Context(), join); !errors.Is(err, session.ErrFull) {
			t.Errorf("full: got %v", err)
		}
	}
}

func TestWaitPlacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{placeErrors: 2, placement: []types.GameSessionPlacementState{"PENDING", "PENDING", "PENDING", "FULFILLED"}}
		begin := time.Now()
		p, err := client(s, nil).WaitPlacement(t.Context(), "p-1")
		if took := time.Since(begin); err != nil || p.Connections["p1"].PlayerSessionID != "psess-1" || took < 10*time.Second || took > 15*time.Second {
			t.Errorf("got %+v, %v after %v, want 12.5 s ±20 %%", p, err, took)
		}
		s = &service{placement: []types.GameSessionPlacementState{"PENDING", "TIMED_OUT"}}
		_, err = client(s, nil).WaitPlacement(t.Context(), "p-1")
		ended, ok := errors.AsType[*session.PlacementError](err)
		if !errors.Is(err, session.ErrPlacementEnded) || !ok || ended.Placement.Status != session.PlacementTimedOut {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = client(&service{placement: []types.GameSessionPlacementState{"PENDING"}}, nil).WaitPlacement(ctx, "p-1")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCancelPlacement_Ended(t *testing.T) {
	t.Parallel()
	refused := &types.InvalidRequestException{}
	c := client(&service{stopErr: refused, placement: []types.GameSessionPlacementState{"FULFILLED"}}, nil)
	if err := c.CancelPlacement(t.Context(), "p"); err != nil {
		t.Errorf("an ended placement: got %v", err)
	}
	c = client(&service{stopErr: refused, placement: []types.GameSessionPlacementState{"PENDING"}}, nil)
	if err := c.CancelPlacement(t.Context(), "p"); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a pending placement: got %v", err)
	}
}

func TestDescribeTickets_TenARequest(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		s := &service{strict: strict, tickets: map[string]types.MatchmakingConfigurationStatus{}}
		var ids []string
		for i := range 25 {
			ids = append(ids, fmt.Sprint("t", i))
			s.tickets[ids[i]] = types.MatchmakingConfigurationStatusSearching
		}
		delete(s.tickets, "t3")
		tickets, err := client(s, nil).DescribeTickets(t.Context(), ids...)
		if err != nil || len(tickets) != 24 {
			t.Errorf("strict %v: got %d tickets, %v", strict, len(tickets), err)
		}
		if want := map[bool]int{false: 3, true: 13}[strict]; s.described != want {
			t.Errorf("strict %v: got %d requests, want %d", strict, s.described, want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	cases := []struct{ err, want error }{
		{&types.FleetCapacityExceededException{}, session.ErrNoCapacity},
		{&types.IdempotentParameterMismatchException{}, session.ErrConflict},
		{&smithy.GenericAPIError{Code: "UnrecognizedClientException"}, session.ErrUnauthorized},
		{&smithy.GenericAPIError{Code: "SomethingNew"}, session.ErrUnavailable},
		{errors.New("connection refused"), session.ErrUnavailable},
		{context.Canceled, context.Canceled},
		{&smithy.InvalidParamsError{}, session.ErrInvalid},
	}
	for _, c := range cases {
		got := wrap("test", c.err)
		if !errors.Is(got, c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v: got %v, want %v", c.err, got, c.want)
		}
	}
	closed, ok := errors.AsType[*session.TerminalAliasError](wrap("test", &types.TerminalRoutingStrategyException{Message: aws.String("see you")}))
	if !ok || closed.Message != "see you" {
		t.Errorf("got %v", closed)
	}
}

func TestNew_Region(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	if _, err := New(t.Context(), Config{}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("no region, no endpoint: got %v", err)
	}
	if _, err := New(t.Context(), Config{Endpoint: "http://127.0.0.1:1"}); err != nil {
		t.Error(err)
	}
}
