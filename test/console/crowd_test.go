package console

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// crowd is a server on which much is going on: game sessions of two players, each on a process
// of its own, and tickets that find no match.
type crowd struct {
	server  *node.Process
	place   *node.Place
	aws     *gamelift.Client
	servers []*gameserver.Process
	games   []string // of servers, in the same order: the newest last
	guests  chan guest
	turns   atomic.Int64 // that stir has made
}

// guest is a player who visits a game session.
type guest struct {
	game int
	id   string // of the player session
}

const (
	perCompute = 100
	callers    = 64
	visits     = 100 // guests at a time
)

// newCrowd returns a server with so many game sessions and open tickets.
func newCrowd(t *testing.T, games, tickets int) *crowd {
	t.Helper()
	server := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn")
	c := &crowd{server: server, aws: node.Client(server.URL), servers: make([]*gameserver.Process, games), games: make([]string, games), guests: make(chan guest, visits)}
	c.place = node.NewPlace(t, c.aws)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel) // before the server goes, so that none of them connects again
	c.open(t, ctx)
	c.wait(t, tickets)
	beats := sync.WaitGroup{}
	beats.Go(func() { c.beat(ctx) })
	t.Cleanup(func() { cancel(); beats.Wait() })
	return c
}

// open starts the game servers and lets two players join each.
func (c *crowd) open(t *testing.T, ctx context.Context) {
	t.Helper()
	places := make([]*node.Place, (len(c.games)+perCompute-1)/perCompute)
	c.together(t, len(places), func(i int) (err error) {
		places[i], err = c.place.Beside(ctx, fmt.Sprintf("machine-%03d", i+1))
		return err
	})
	c.together(t, len(c.games), func(i int) (err error) {
		o := places[i/perCompute].Options()
		o.Port, o.Timeout = 10_000+i%perCompute, time.Minute
		c.servers[i], err = gameserver.Start(ctx, o)
		return err
	})
	var created sync.Map // by the game session's id
	c.together(t, len(c.games), func(i int) error {
		made, err := c.place.Create(ctx, 8, func(in *gamelift.CreateGameSessionInput) { in.Name = aws.String(fmt.Sprintf("game %05d", i)) })
		if err == nil {
			created.Store(*made.GameSessionId, *made.CreationTime)
		}
		return err
	})
	hosts := map[string]*gameserver.Process{}
	for i, s := range c.servers {
		hosts[wait.Receive(t, fmt.Sprintf("a game session on process %d", i), s.Activated())] = s
	}
	age := func(id string) time.Time { at, _ := created.Load(id); return at.(time.Time) }
	c.games = slices.SortedFunc(maps.Keys(hosts), func(a, b string) int { return age(a).Compare(age(b)) })
	for i, id := range c.games {
		c.servers[i] = hosts[id]
	}
	c.together(t, len(c.games), func(i int) error {
		join, err := c.aws.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{
			GameSessionId: &c.games[i], PlayerIds: []string{fmt.Sprint("player-", 2*i), fmt.Sprint("player-", 2*i+1)},
		})
		for n := 0; err == nil && n < len(join.PlayerSessions); n++ {
			err = c.servers[i].Accept(ctx, c.games[i], *join.PlayerSessions[n].PlayerSessionId)
		}
		return err
	})
}

// wait starts tickets of players whose skills are so far apart that none finds a match.
func (c *crowd) wait(t *testing.T, tickets int) {
	t.Helper()
	ctx := t.Context()
	node.Matchmaker(t, c.aws, "duels", duels, func(in *gamelift.CreateMatchmakingConfigurationInput) { in.RequestTimeoutSeconds = aws.Int32(43_200) })
	c.together(t, tickets, func(i int) error { return c.look(ctx, fmt.Sprintf("waits-%05d", i), float64(1000*i)) })
}

// look starts a ticket.
func (c *crowd) look(ctx context.Context, ticket string, skill float64) error {
	_, err := c.aws.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{ConfigurationName: aws.String("duels"), TicketId: &ticket, Players: []types.Player{
		{PlayerId: aws.String("of-" + ticket), PlayerAttributes: map[string]types.AttributeValue{"skill": {N: &skill}}},
	}})
	return err
}

// together calls f for 0..n-1 from many callers.
func (c *crowd) together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	next := make(chan int)
	problems := make(chan error, callers)
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					select {
					case problems <- err:
					default:
					}
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	calling.Wait()
	select {
	case err := <-problems:
		t.Fatal(err)
	default:
	}
}

// beat sends the heartbeats of all processes, each every 45 s.
func (c *crowd) beat(ctx context.Context) {
	each := time.NewTicker(45 * time.Second / time.Duration(len(c.servers)))
	defer each.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-each.C:
			c.servers[i%len(c.servers)].Heartbeat(ctx, gameserver.Healthy) // fails if the process is gone
		}
	}
}

// stir makes about so many events a second until the test ends: half by players who join games
// and leave, half by tickets that are started and stopped.
func (c *crowd) stir(t *testing.T, rate int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var stirring sync.WaitGroup
	tick := time.NewTicker(4 * time.Second / time.Duration(rate)) // a turn makes four events
	stirring.Go(func() {
		slots := make(chan struct{}, callers)
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			slots <- struct{}{}
			stirring.Go(func() {
				defer func() { <-slots }()
				if err := c.turn(ctx, i); err == nil {
					c.turns.Add(1)
				} else if ctx.Err() == nil {
					t.Error(err)
				}
			})
		}
	})
	t.Cleanup(func() { tick.Stop(); cancel(); stirring.Wait() })
}

// turn makes four events.
func (c *crowd) turn(ctx context.Context, i int) error {
	ticket, game := fmt.Sprint("turns-", i), len(c.games)-1-i%min(len(c.games), 2*visits) // of the newest, which lists begin with
	if err := c.look(ctx, ticket, -1000*float64(1+i)); err != nil {
		return err
	}
	joins, err := c.aws.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: &c.games[game], PlayerId: aws.String(fmt.Sprint("guest-", i))})
	if err != nil {
		return err
	}
	if err := c.servers[game].Accept(ctx, c.games[game], *joins.PlayerSession.PlayerSessionId); err != nil {
		return err
	}
	if _, err := c.aws.StopMatchmaking(ctx, &gamelift.StopMatchmakingInput{TicketId: &ticket}); err != nil {
		return err
	}
	stays := guest{game, *joins.PlayerSession.PlayerSessionId}
	for {
		select {
		case c.guests <- stays:
			return nil
		default: // the one that has stayed longest makes room
		}
		leaves := <-c.guests
		if err := c.servers[leaves.game].Remove(ctx, c.games[leaves.game], leaves.id); err != nil {
			return err
		}
	}
}

// usage is what a process has used.
type usage struct {
	processor time.Duration
	memory    int // bytes that are resident
}

// used returns what the server has used so far.
func (c *crowd) used(t *testing.T) (u usage) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.server.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	const ticks = 100 // a second, on Linux
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		u.processor += time.Duration(n) * time.Second / ticks
	}
	pages, err := strconv.Atoi(fields[21])
	if err != nil {
		t.Fatal(err)
	}
	u.memory = pages * os.Getpagesize()
	return u
}
