// Command probe is a game server with AWS's Go Server SDK that reads commands from
// standard input and writes their results to standard output.
//
// A command is a line of words; its response is a line "ok …" or "error …". Callbacks
// of the SDK are lines "event …". The connection is configured by the environment
// (GAMELIFT_SDK_…, GAMELIFT_REGION, …), as on a managed host.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/request"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"
)

// probe is the game server.
type probe struct {
	mu      sync.Mutex // of standard output
	healthy atomic.Bool
}

func main() {
	p := &probe{}
	p.healthy.Store(true)
	server.SetLoggerInterface(quiet{})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		result, err := p.do(words[0], words[1:])
		if err != nil {
			p.say("error", words[0], err.Error())
		} else {
			p.say("ok", words[0], result)
		}
		if words[0] == "end" && err == nil {
			return
		}
	}
}

func (p *probe) say(kind, name string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Println(kind, name, string(text))
}

// do executes a command.
func (p *probe) do(name string, args []string) (any, error) {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch name {
	case "init":
		return nil, server.InitSDK(server.ServerParameters{})
	case "ready":
		return nil, p.ready(arg(0))
	case "activate":
		return nil, server.ActivateGameSession()
	case "accept":
		return nil, server.AcceptPlayerSession(arg(0))
	case "remove":
		return nil, server.RemovePlayerSession(arg(0))
	case "policy":
		policy := model.AcceptAll
		if arg(0) == "DENY_ALL" {
			policy = model.DenyAll
		}
		return nil, server.UpdatePlayerSessionCreationPolicy(policy)
	case "describe":
		return describe(arg(0), arg(1), arg(2))
	case "backfill":
		return server.StartMatchBackfill(request.NewStartMatchBackfill(arg(0), arg(1), playing(args[2:])))
	case "stopbackfill":
		r := request.NewStopMatchBackfill()
		r.GameSessionArn, r.MatchmakingConfigurationArn, r.TicketID = arg(0), arg(1), arg(2)
		return nil, server.StopMatchBackfill(r)
	case "certificate":
		return server.GetComputeCertificate()
	case "credentials":
		r := request.NewGetFleetRoleCredentials()
		r.RoleArn = "arn:aws:iam::123456789012:role/ExampleRole"
		return server.GetFleetRoleCredentials(r)
	case "healthy":
		p.healthy.Store(arg(0) == "true")
		return nil, nil
	case "end":
		return nil, server.ProcessEnding()
	}
	return nil, fmt.Errorf("unknown command")
}

// playing returns players from arguments PLAYER:TEAM, each with an attribute of every
// type.
func playing(args []string) (players []model.Player) {
	for _, arg := range args {
		id, team, _ := strings.Cut(arg, ":")
		players = append(players, model.Player{PlayerID: id, Team: team, PlayerAttributes: map[string]model.AttributeValue{
			"skill": model.MakeAttributeValue(12.0), "mode": model.MakeAttributeValue("ctf"),
			"maps": model.MakeAttributeValue([]string{"a", "b"}), "prefs": model.MakeAttributeValue(map[string]float64{"a": 1}),
		}})
	}
	return players
}

func (p *probe) ready(port string) error {
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	return server.ProcessReady(server.ProcessParameters{
		OnStartGameSession:  func(g model.GameSession) { p.say("event", "start", g) },
		OnUpdateGameSession: func(u model.UpdateGameSession) { p.say("event", "update", u) },
		OnProcessTerminate:  func() { p.say("event", "terminate", nil) },
		OnHealthCheck: func() bool {
			p.say("event", "health", nil)
			return p.healthy.Load()
		},
		Port:          n,
		LogParameters: server.LogParameters{LogPaths: []string{"/local/game/logs/a.log"}},
	})
}

// describe returns the player sessions of a game session, reading all pages.
func describe(gameSessionID, status, limit string) (any, error) {
	r := request.NewDescribePlayerSessions()
	r.GameSessionID, r.PlayerSessionStatusFilter = gameSessionID, status
	r.Limit, _ = strconv.Atoi(limit)
	var all []model.PlayerSession
	for {
		page, err := server.DescribePlayerSessions(r)
		if err != nil {
			return nil, err
		}
		all = append(all, page.PlayerSessions...)
		if page.NextToken == "" {
			return all, nil
		}
		r.NextToken = page.NextToken
	}
}

// quiet writes the SDK's logs to standard error.
type quiet struct{}

func (quiet) Debugf(format string, args ...any) { log("debug", format, args) }
func (quiet) Warnf(format string, args ...any)  { log("warn", format, args) }
func (quiet) Errorf(format string, args ...any) { log("error", format, args) }

func log(level, format string, args []any) {
	fmt.Fprintln(os.Stderr, level, fmt.Sprintf(format, args...))
}
