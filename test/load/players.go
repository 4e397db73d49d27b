package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/node"
)

// noMatch is a rule set that matches nobody, so that tickets wait.
const noMatch = `{"name":"wait","ruleLanguageVersion":"1.0","playerAttributes":[{"name":"n","type":"number","default":1}],
	"teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}],
	"rules":[{"name":"never","type":"comparison","operation":"=","measurements":["flatten(teams[*].players.attributes[n])"],"referenceValue":0}]}`

// atOnce is how many clients send requests at a time.
const atOnce = 128

// audience is the players of a server, and the connections of their clients.
type audience struct {
	*fresh
	n       int
	conns   *connections
	tokens  []string
	tickets []string
	sockets []*websocket.Conn
	pushes  atomic.Int64 // tickets that were pushed
	readers sync.WaitGroup
}

// players measures the player API with n players: requests and WebSockets, the
// processor time of the server for each, and its memory for each WebSocket.
func players(s settings) error {
	if err := raiseFileLimit(); err != nil {
		return err
	}
	server, err := runFresh(s.bin, "127.0.0.1:0", "warn")
	if err != nil {
		return err
	}
	defer server.drop()
	a := &audience{fresh: server, n: s.n, tokens: make([]string, s.n), tickets: make([]string, s.n), sockets: make([]*websocket.Conn, s.n)}
	if err := a.configure(context.Background()); err != nil {
		return err
	}
	if a.conns, err = dial(strings.TrimPrefix(server.URL, "http://"), atOnce); err != nil {
		return err
	}
	defer a.conns.close()
	return a.measure(s.idleFor)
}

// configure creates the matchmaker "wait".
func (a *audience) configure(ctx context.Context) error {
	c := node.Client(a.URL)
	if _, err := c.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("wait"), RuleSetBody: aws.String(noMatch)}); err != nil {
		return err
	}
	_, err := c.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("wait"), RuleSetName: aws.String("wait"), RequestTimeoutSeconds: aws.Int32(43200),
		AcceptanceRequired: aws.Bool(false), FlexMatchMode: types.FlexMatchModeStandalone,
	})
	return err
}

func (a *audience) measure(idleFor time.Duration) error {
	fmt.Printf("| work of %d players, %d at a time | a second | processor time of the server each | pushes |\n|---|---|---|---|\n", a.n, atOnce)
	steps := func(steps []step) error {
		for _, s := range steps {
			if err := a.run(s); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		return nil
	}
	if err := steps([]step{{"guest account", a.login}, {"GET players/me", a.me}, {"POST ticket", a.start}, {"DELETE ticket", a.cancel}}); err != nil {
		return err
	}
	before, err := a.rest("not connected", idleFor)
	if err != nil {
		return err
	}
	if err := steps([]step{{"WebSocket connects", a.connect}}); err != nil {
		return err
	}
	idle, err := a.rest("connected", idleFor)
	if err != nil {
		return err
	}
	if err := steps([]step{{"POST ticket, with pushes", a.start}}); err != nil {
		return err
	}
	after, err := a.rest("connected, with tickets", idleFor)
	if err != nil {
		return err
	}
	if err := steps([]step{{"DELETE ticket, with pushes", a.cancel}}); err != nil {
		return err
	}
	if err := a.hangUp(); err != nil {
		return err
	}
	each := func(name string, u usage) {
		fmt.Printf("| %s | %.1f | %.1f |\n", name, (u.resident-before.resident)/float64(a.n)/1024, (u.used-before.used)/float64(a.n)/1024)
	}
	fmt.Print("\n| a player's WebSocket | resident KiB | heap and stacks in use, KiB |\n|---|---|---|\n")
	each("idle", idle)
	each("with a ticket that waits", after)
	return nil
}

// rest lets the server be idle, prints the processor time that it uses, and returns its
// memory afterward. A server that has been idle for some seconds collects its garbage.
func (a *audience) rest(name string, idleFor time.Duration) (u usage, err error) {
	begin, err := processorOf(a.PID())
	if err != nil {
		return u, err
	}
	time.Sleep(idleFor) // being idle is what is measured
	end, err := processorOf(a.PID())
	if err != nil {
		return u, err
	}
	fmt.Printf("| %d %s, idle | | %.2f %% of a processor | |\n", a.n, name, 100*(end-begin).Seconds()/idleFor.Seconds())
	return memory(a.Process)
}

type step struct {
	name string
	do   func(i int) error
}

// run prints the rate of a step, and the processor time and the pushes until a second
// later, when what the step has begun has ended.
func (a *audience) run(s step) error {
	begin, err := processorOf(a.PID())
	if err != nil {
		return err
	}
	pushed := a.pushes.Load()
	rate, err := together(atOnce, a.n, s.do)
	if err != nil {
		return err
	}
	time.Sleep(time.Second)
	end, err := processorOf(a.PID())
	if err != nil {
		return err
	}
	each := (end - begin) / time.Duration(a.n)
	fmt.Printf("| %s | %.0f | %.0f µs | %.2f |\n", s.name, rate, float64(each.Nanoseconds())/1e3, float64(a.pushes.Load()-pushed)/float64(a.n))
	return nil
}

// call sends a request of player i and decodes the answer.
func (a *audience) call(i int, method, path, body string, want int, out any) error {
	var wire bytes.Buffer
	fmt.Fprintf(&wire, "%s %s%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", method, protocol.Base, path, a.conns.address, len(body))
	if a.tokens[i] != "" {
		fmt.Fprintf(&wire, "Authorization: Bearer %s\r\n", a.tokens[i])
	}
	wire.WriteString("Content-Type: application/json\r\n\r\n" + body)
	text, err := a.conns.exchange(wire.Bytes(), want)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(text, out)
}

func (a *audience) login(i int) error {
	var s protocol.Session
	err := a.call(i, "POST", "/auth/guest", "", http.StatusCreated, &s)
	a.tokens[i] = s.AccessToken
	return err
}

func (a *audience) me(i int) error { return a.call(i, "GET", "/players/me", "", http.StatusOK, nil) }

func (a *audience) start(i int) error {
	var t protocol.Ticket
	err := a.call(i, "POST", "/matchmaking/tickets", `{"matchmaker":"wait"}`, http.StatusCreated, &t)
	a.tickets[i] = t.TicketID
	return err
}

func (a *audience) cancel(i int) error {
	return a.call(i, "DELETE", "/matchmaking/tickets/"+a.tickets[i], "", http.StatusAccepted, nil)
}

// connect opens the WebSocket of player i and waits for the greeting.
func (a *audience) connect(i int) error {
	d := websocket.Dialer{ReadBufferSize: 512, WriteBufferSize: 256, Subprotocols: []string{protocol.Subprotocol}}
	ws, _, err := d.Dial("ws"+strings.TrimPrefix(a.URL, "http")+protocol.Base+"/ws", http.Header{"Authorization": {"Bearer " + a.tokens[i]}})
	if err != nil {
		return err
	}
	a.sockets[i] = ws
	if _, _, err := ws.ReadMessage(); err != nil {
		return err
	}
	a.readers.Go(func() {
		for {
			_, text, err := ws.ReadMessage()
			if err != nil {
				return
			}
			if bytes.Contains(text, []byte(protocol.MessageTicket)) {
				a.pushes.Add(1)
			}
		}
	})
	return nil
}

func (a *audience) hangUp() error {
	for _, ws := range a.sockets {
		ws.Close()
	}
	a.readers.Wait()
	return nil
}
