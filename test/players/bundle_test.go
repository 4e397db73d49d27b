package players

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// duel matches any two players.
const duel = `{"name":"duel","ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`

// pair matches two players on the same team.
const pair = `{"name":"pair","ruleLanguageVersion":"1.0","teams":[{"name":"both","minPlayers":2,"maxPlayers":2}]}`

// trio matches three players on the same team.
const trio = `{"name":"trio","ruleLanguageVersion":"1.0","teams":[{"name":"all","minPlayers":3,"maxPlayers":3}]}`

// stage is a Muster with a fleet, a queue and the matchmaking configurations "duel",
// "pair", "trio", and "asked", whose matches have to be accepted.
type stage struct {
	*testing.T
	app    *app.App
	change func(*app.Options)
	url    string
	aws    *gamelift.Client
	place  *node.Place
}

func newStage(t *testing.T, change func(*app.Options)) *stage {
	t.Helper()
	a := node.InProcess(t, func(o *app.Options) {
		o.Beacon = true
		if change != nil {
			change(o)
		}
	})
	s := &stage{T: t, app: a, change: change, url: a.URL(), aws: node.Client(a.URL())}
	s.place = node.NewPlace(t, s.aws)
	queue, err := s.aws.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("duel"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: &s.place.FleetARN}},
	})
	s.must(err)
	for name, rules := range map[string]string{"duel": duel, "pair": pair, "trio": trio} {
		_, err = s.aws.CreateMatchmakingRuleSet(t.Context(), &gamelift.CreateMatchmakingRuleSetInput{Name: &name, RuleSetBody: &rules})
		s.must(err)
	}
	arn := *queue.GameSessionQueue.GameSessionQueueArn
	s.configure("duel", "duel", arn, false)
	s.configure("pair", "pair", arn, false)
	s.configure("trio", "trio", arn, false)
	s.configure("asked", "duel", arn, true)
	return s
}

// stop stops the server.
func (s *stage) stop() {
	s.Helper()
	s.must(s.app.Stop(s.Context()))
}

// restart stops the server and starts it again at the same address. Its state
// survives if the stage's options store it.
func (s *stage) restart() {
	s.Helper()
	s.stop()
	s.app = node.InProcess(s.T, func(o *app.Options) {
		o.Beacon = true
		s.change(o)
	})
}

// onDisk makes a server store its state in a directory, and have an address that it can have
// again.
func onDisk(t *testing.T, dir string) func(*app.Options) {
	listen := node.Reserve(t)
	return func(o *app.Options) { o.Store, o.DataDir, o.Listen = "sqlite", dir, listen }
}

func (s *stage) configure(name, rules, queue string, acceptance bool) {
	s.Helper()
	_, err := s.aws.CreateMatchmakingConfiguration(s.Context(), &gamelift.CreateMatchmakingConfigurationInput{
		Name: &name, RuleSetName: &rules, GameSessionQueueArns: []string{queue}, RequestTimeoutSeconds: aws.Int32(60),
		AcceptanceRequired: &acceptance, FlexMatchMode: types.FlexMatchModeWithQueue,
	})
	s.must(err)
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// server starts a game server process that hosts one game session.
func (s *stage) server() *gameserver.Process { s.Helper(); return s.place.Server(s.T) }

// client is a game client.
type client struct {
	*stage
	login protocol.Session
}

// guest returns a client with a new guest account.
func (s *stage) guest() *client {
	s.Helper()
	c := &client{stage: s}
	c.call("POST", "/auth/guest", nil, 201, &c.login)
	return c
}

// response is an HTTP response.
type response struct {
	status int
	header http.Header
	body   []byte
}

// send makes a request with the client's token; header has lines of the form NAME:
// VALUE.
func (c *client) send(method, path string, body any, header ...string) response {
	c.Helper()
	r, err := c.try(c.Context(), method, path, body, header...)
	c.must(err)
	return r
}

func (c *client) try(ctx context.Context, method, path string, body any, header ...string) (response, error) {
	var text []byte
	switch b := body.(type) {
	case nil:
	case string:
		text = []byte(b)
	default:
		var err error
		if text, err = json.Marshal(b); err != nil {
			return response{}, err
		}
	}
	if !strings.HasPrefix(path, "/player/") {
		path = protocol.Base + path
	}
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(text))
	if err != nil {
		return response{}, err
	}
	if c.login.AccessToken != "" {
		request.Header.Set("Authorization", "Bearer "+c.login.AccessToken)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return response{}, err
	}
	defer got.Body.Close()
	answer, err := io.ReadAll(got.Body)
	return response{got.StatusCode, got.Header, answer}, err
}

// call makes a request, checks the status and decodes the answer.
func (c *client) call(method, path string, body any, status int, into any) response {
	c.Helper()
	r := c.send(method, path, body)
	if r.status != status {
		c.Fatalf("%s %s: got %d %s, want %d", method, path, r.status, r.body, status)
	}
	if into != nil {
		c.must(json.Unmarshal(r.body, into))
	}
	return r
}

// refused checks that a request is refused with a problem of the code.
func (c *client) refused(method, path string, body any, status int, code string) response {
	c.Helper()
	r := c.send(method, path, body)
	var p protocol.Problem
	if err := json.Unmarshal(r.body, &p, json.RejectUnknownMembers(true)); err != nil || r.status != status || p.Code != code || p.Status != int64(status) {
		c.Errorf("%s %s: got %d %s, want %d %s", method, path, r.status, r.body, status, code)
	}
	if kind := r.header.Get("Content-Type"); kind != "application/problem+json" {
		c.Errorf("%s %s: a problem comes as %q", method, path, kind)
	}
	return r
}

// ask starts matchmaking.
func (c *client) ask(matchmaker string) *protocol.Ticket {
	c.Helper()
	var t protocol.Ticket
	c.call("POST", "/matchmaking/tickets", protocol.TicketRequest{Matchmaker: matchmaker}, 201, &t)
	return &t
}

// until long-polls a ticket until it has a state.
func (c *client) until(t *protocol.Ticket, state protocol.TicketState) *protocol.Ticket {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 60*time.Second)
	defer cancel()
	for t.State != state {
		r, err := c.try(ctx, "GET", "/matchmaking/tickets/"+t.TicketID+"?wait=20", nil, fmt.Sprintf("If-None-Match: %q", fmt.Sprint(t.Seq)))
		c.must(err)
		switch r.status {
		case http.StatusNotModified:
		case http.StatusOK:
			t = &protocol.Ticket{}
			c.must(json.Unmarshal(r.body, t))
		default:
			c.Fatalf("the ticket cannot be read: %d %s", r.status, r.body)
		}
	}
	return t
}

// playerOf returns the player of a player session, from the AWS API.
func (s *stage) playerOf(playerSessionID string) string {
	s.Helper()
	out, err := s.aws.DescribePlayerSessions(s.Context(), &gamelift.DescribePlayerSessionsInput{PlayerSessionId: &playerSessionID})
	s.must(err)
	if len(out.PlayerSessions) != 1 {
		s.Fatalf("there is no player session %q", playerSessionID)
	}
	return *out.PlayerSessions[0].PlayerId
}
