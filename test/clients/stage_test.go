package clients

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"
	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// server is the built server as a process, with what operators run beside it.
type server struct {
	dir  string
	hook *httptest.Server // checks the logins of the provider studio

	mu      sync.Mutex
	process *node.Process
}

// newServer starts a server. players is what its players file has besides the provider
// studio; of that, a token is the name of an account.
func newServer(t *testing.T, players map[string]any) *server {
	t.Helper()
	s := &server{dir: t.TempDir()}
	s.hook = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Token string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Token == "" || in.Token == "forged" {
			http.Error(w, "no such account", http.StatusUnauthorized)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{"subject": in.Token})
	}))
	t.Cleanup(s.hook.Close)
	if err := s.start(node.Reserve(t), players); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", s.process.Log())
		}
	})
	client := node.Client(s.url())
	queue, err := client.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{Name: aws.String("ranked")})
	if err == nil {
		err = addMatchmaker(t.Context(), client, "ranked", &matchmaker{Teams: []int{1, 1}}, *queue.GameSessionQueue.GameSessionQueueArn)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts the process; it keeps the state of an earlier one.
func (s *server) start(listen string, players map[string]any) error {
	file := map[string]any{
		"providers":   []any{map[string]any{"name": "studio", "kind": "custom", "url": s.hook.URL, "secret": "sixteen letters or more"}},
		"matchmakers": []any{map[string]any{"name": "ranked", "attributes": []any{map[string]any{"name": "skill", "from": "client", "type": "number", "min": 0, "max": 100}}}},
	}
	for name, value := range players {
		file[name] = value
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir, "players.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	p, err := node.Run(os.Getenv(node.Variable), "local", "--demo=false", "--listen", listen, "--data", filepath.Join(s.dir, "data"), "--players-file", path, "--log-level", "warn")
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	return nil
}

func (s *server) url() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.URL
}

func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.Kill()
}

// local starts a server with the demo, which ends with the test; more are further arguments.
func local(t *testing.T, more ...string) *node.Process {
	t.Helper()
	args := []string{"local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--demo-players", "0", "--log-level", "warn"}
	server, err := node.Run(node.Path(t), append(args, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the demo's game servers outlive a server that is killed
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// stage is what one story plays on: a server, perhaps with others, a way to it, and a fleet,
// queue and matchmakers of its own, so that its players meet nobody else's.
type stage struct {
	server *server
	gate   *gate
	aws    *gamelift.Client
	place  *node.Place

	variables map[string]any

	mu    sync.Mutex
	games []*gameserver.Process
}

func newStage(t *testing.T, shared *server, story *story) *stage {
	t.Helper()
	n := &story.Needs
	s := &stage{server: shared, variables: map[string]any{}}
	if n.Own {
		s.server = newServer(t, n.Players)
	}
	loses := slices.ContainsFunc(story.Steps, func(s step) bool { return s.Gate == "loseAnswer" })
	s.gate = newGate(t, s.server.url(), loses)
	s.aws = node.Client(s.server.url())
	unique := uuid.NewString()[:13]
	s.variables["url"], s.variables["story"] = s.gate.url, unique
	if n.GameServers == 0 && len(n.Matchmakers) == 0 && len(n.Pools) == 0 {
		return s
	}
	s.place = node.NewPlace(t, s.aws)
	s.variables["location"] = s.place.Location
	queues := map[string]string{}
	for _, name := range append([]string{"matches"}, n.Pools...) {
		queue, err := s.aws.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
			Name: aws.String(name + "-" + unique), TimeoutInSeconds: aws.Int32(int32(cmp.Or(n.Placement, 60))),
			Destinations: []types.GameSessionQueueDestination{{DestinationArn: &s.place.FleetARN}},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.variables[name], queues[name] = *queue.GameSessionQueue.Name, *queue.GameSessionQueue.GameSessionQueueArn
	}
	for name, m := range n.Matchmakers {
		if err := addMatchmaker(t.Context(), s.aws, name+"-"+unique, &m, queues["matches"]); err != nil {
			t.Fatal(err)
		}
		s.variables[name] = name + "-" + unique
	}
	for range n.GameServers {
		if err := s.addGameServer(t); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func addMatchmaker(ctx context.Context, client *gamelift.Client, name string, m *matchmaker, queue string) error {
	type team struct {
		Name string `json:"name"`
		Min  int    `json:"minPlayers"`
		Max  int    `json:"maxPlayers"`
	}
	set := map[string]any{"name": name, "ruleLanguageVersion": "1.0"}
	var teams []team
	for i, size := range m.Teams {
		teams = append(teams, team{fmt.Sprintf("team%d", i+1), size, size + m.Backfill})
	}
	set["teams"] = teams
	if m.SkillGap > 0 {
		set["playerAttributes"] = []any{map[string]any{"name": "skill", "type": "number"}}
		set["rules"] = []any{map[string]any{
			"name": "alike", "type": "distance", "measurements": []string{"flatten(teams[*].players.attributes[skill])"},
			"referenceValue": "avg(flatten(teams[*].players.attributes[skill]))", "maxDistance": m.SkillGap,
		}}
	}
	body, err := json.Marshal(set)
	if err != nil {
		return err
	}
	if _, err := client.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: &name, RuleSetBody: aws.String(string(body))}); err != nil {
		return err
	}
	in := &gamelift.CreateMatchmakingConfigurationInput{
		Name: &name, RuleSetName: &name, GameSessionQueueArns: []string{queue}, FlexMatchMode: types.FlexMatchModeWithQueue,
		RequestTimeoutSeconds: aws.Int32(120), AcceptanceRequired: aws.Bool(m.Acceptance > 0),
	}
	if m.Backfill > 0 {
		in.BackfillMode = types.BackfillModeAutomatic
	}
	if m.Timeout > 0 {
		in.RequestTimeoutSeconds = aws.Int32(int32(m.Timeout))
	}
	if m.Acceptance > 0 {
		in.AcceptanceTimeoutSeconds = aws.Int32(int32(m.Acceptance))
	}
	_, err = client.CreateMatchmakingConfiguration(ctx, in)
	return err
}

// addGameServer starts a game server process that hosts one game session.
func (s *stage) addGameServer(t *testing.T) error {
	p, err := gameserver.Start(context.WithoutCancel(t.Context()), s.place.Options())
	if err != nil {
		return err
	}
	t.Cleanup(func() { p.Kill(); <-p.Done() })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.games = append(s.games, p)
	return nil
}

// change carries out a step at the server.
func (s *stage) change(ctx context.Context, t *testing.T, what string, with map[string]any) (any, error) {
	switch what {
	case "kill":
		s.server.kill()
		return nil, nil
	case "start":
		players, _ := with["players"].(map[string]any)
		return nil, s.server.start(strings.TrimPrefix(s.server.url(), "http://"), players)
	case "ban":
		until := time.Now().Add(time.Duration(number(with, "minutes", 60)) * time.Minute)
		return nil, s.operate(ctx, "players/"+url.PathEscape(text(with, "player_id", ""))+"/ban", protocol.BanRequest{Until: until, Reason: "a story"})
	case "putData":
		path := fmt.Sprintf("players/%s/data/%s/%s", url.PathEscape(text(with, "player_id", "")), text(with, "namespace", ""), text(with, "key", ""))
		return nil, s.operate(ctx, path, with["value"])
	case "accept":
		return nil, s.accept(ctx, text(with, "player_session_id", ""))
	case "endSessions":
		return nil, s.endSessions(ctx)
	case "addGameServer":
		return nil, s.addGameServer(t)
	case "await":
		return nil, s.await(ctx, text(with, "ticket_id", ""), types.MatchmakingConfigurationStatus(text(with, "status", "")))
	}
	return nil, fmt.Errorf("there is no %q", what)
}

// operate makes a request as the game's backend.
func (s *stage) operate(ctx context.Context, path string, in any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, s.server.url()+protocol.OperatorBase+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s: %s", path, answer.Status)
	}
	return nil
}

// accept has the game server that hosts a player session accept it, as it does when the
// player comes.
func (s *stage) accept(ctx context.Context, playerSession string) error {
	found, err := s.aws.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{PlayerSessionId: &playerSession})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.games {
		for _, hosted := range g.Hosted() {
			if len(found.PlayerSessions) == 1 && *found.PlayerSessions[0].GameSessionId == hosted {
				return g.Accept(ctx, hosted, playerSession)
			}
		}
	}
	return errors.New("no game server hosts it")
}

// await waits until a ticket has a status, as the game's backend sees it.
func (s *stage) await(ctx context.Context, ticket string, status types.MatchmakingConfigurationStatus) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		found, err := s.aws.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: []string{ticket}})
		if err != nil {
			return err
		}
		if len(found.TicketList) == 1 && found.TicketList[0].Status == status {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("ticket %s is not %s: %w", ticket, status, ctx.Err())
		}
	}
}

// endSessions ends the game servers that host game sessions.
func (s *stage) endSessions(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.games {
		if len(g.Hosted()) > 0 {
			if err := g.End(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
