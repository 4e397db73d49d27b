package players

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/node"
)

// Whatever addresses a compute registers with, one after another, and whenever the server is
// started anew: each view of a running game session has the compute's current one.
func TestAddresses(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		followAddresses(t, onDisk(t, t.TempDir()))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url, listen, dir := pgtest.Database(t), node.Reserve(t), t.TempDir()
		followAddresses(t, func(o *app.Options) { o.Store, o.Listen, o.DataDir = url, listen, dir })
	})
}

func followAddresses(t *testing.T, change func(*app.Options)) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := &watched{stage: newStage(t, change), at: map[string][2]string{}}
	other, err := w.place.Beside(t.Context(), "host-2")
	w.must(err)
	w.places = []*node.Place{w.place, other}
	for _, p := range w.places {
		w.at[p.ComputeName] = [2]string{"127.0.0.1", ""}
		for range 2 {
			p.Server(t)
		}
	}
	w.games = []running{w.created(), w.placed(), w.matched(), w.requested()}
	w.check("at first")
	for step := range 24 {
		what := fmt.Sprint("step ", step)
		if step == 8 || step == 16 {
			w.restart()
			w.check(what + ", after a restart")
		}
		w.move(random)
		w.check(what)
	}
	for _, ip := range []string{"0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "fe80::1"} {
		_, err := w.register(w.place, ip, "")
		if err == nil || !strings.Contains(err.Error(), "IpAddress: "+ip) || !strings.Contains(err.Error(), "give the address at which players reach the machine") {
			t.Errorf("%s: %v", ip, err)
		}
	}
	w.check("after refused addresses")
}

// watched is a stage with game sessions on two computes.
type watched struct {
	*stage
	places []*node.Place
	at     map[string][2]string // by compute: the IP address and the DNS name with which it was registered last
	games  []running
}

// running is a game session and where its address is shown.
type running struct {
	id    string
	views map[string]func() (ip, dns string)
}

func (w *watched) register(p *node.Place, ip, dns string) (*gamelift.RegisterComputeOutput, error) {
	in := &gamelift.RegisterComputeInput{FleetId: &p.FleetID, ComputeName: &p.ComputeName, Location: &p.Location, IpAddress: &ip}
	if dns != "" {
		in.DnsName = &dns
	}
	return w.aws.RegisterCompute(w.Context(), in)
}

// move registers a compute with another address, or with the same one.
func (w *watched) move(random *rand.Rand) {
	p := w.places[random.IntN(len(w.places))]
	ips := []string{"127.0.0.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"}
	names := []string{"", "", "one.example", "two.example"}
	to := [2]string{ips[random.IntN(len(ips))], names[random.IntN(len(names))]}
	_, err := w.register(p, to[0], to[1])
	w.must(err)
	w.at[p.ComputeName] = to
}

// check compares every view of every game session with the address of its compute.
func (w *watched) check(when string) {
	w.Helper()
	for _, game := range w.games {
		g := w.describe(game.id)
		want := w.at[*g.ComputeName]
		if want[1] == "" {
			want[1] = want[0]
		}
		if g.Status != types.GameSessionStatusActive {
			w.Fatalf("%s: a game session is %s", when, g.Status)
		}
		views := w.common(g)
		for name, view := range game.views {
			views[name] = view
		}
		for name, view := range views {
			if ip, dns := view(); ip != want[0] || dns != want[1] {
				w.Errorf("%s: %s of a game session on %s shows %s and %s, want %v", when, name, *g.ComputeName, ip, dns, want)
			}
		}
	}
	if w.Failed() {
		w.FailNow()
	}
}

func (w *watched) describe(id string) types.GameSession {
	w.Helper()
	out, err := w.aws.DescribeGameSessions(w.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: &id})
	w.must(err)
	return out.GameSessions[0]
}

// common returns the views that all game sessions have.
func (w *watched) common(g types.GameSession) map[string]func() (ip, dns string) {
	c, ctx := w.aws, w.Context()
	return map[string]func() (ip, dns string){
		"DescribeGameSessions": func() (string, string) { return *g.IpAddress, *g.DnsName },
		"DescribeCompute": func() (string, string) {
			out := node.Must(c.DescribeCompute(ctx, &gamelift.DescribeComputeInput{FleetId: g.FleetId, ComputeName: g.ComputeName}))(w)
			return *out.Compute.IpAddress, *out.Compute.DnsName
		},
		"DescribeGameSessionDetails": func() (string, string) {
			out := node.Must(c.DescribeGameSessionDetails(ctx, &gamelift.DescribeGameSessionDetailsInput{GameSessionId: g.GameSessionId}))(w)
			return *out.GameSessionDetails[0].GameSession.IpAddress, *out.GameSessionDetails[0].GameSession.DnsName
		},
		"SearchGameSessions": func() (string, string) {
			var found types.GameSession
			wait.For(w, "the game session is found", func() error { // it is not while its game server reconnects
				out := node.Must(c.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{FleetId: g.FleetId}))(w)
				for _, one := range out.GameSessions {
					if *one.GameSessionId == *g.GameSessionId {
						found = one
						return nil
					}
				}
				return fmt.Errorf("%d game sessions are found", len(out.GameSessions))
			})
			return *found.IpAddress, *found.DnsName
		},
		"GetPlayerConnectionDetails": func() (string, string) {
			out := node.Must(c.GetPlayerConnectionDetails(ctx, &gamelift.GetPlayerConnectionDetailsInput{GameSessionId: g.GameSessionId, PlayerIds: []string{"somebody"}}))(w)
			return *out.PlayerConnectionDetails[0].Endpoints[0].IpAddress, *g.DnsName
		},
	}
}

// created creates a game session in which a guest has a slot.
func (w *watched) created() running {
	w.Helper()
	g, err := w.place.Create(w.Context(), 200)
	w.must(err)
	wait.Until(w, "the game session is ACTIVE", func() bool { return w.describe(*g.GameSessionId).Status == types.GameSessionStatusActive })
	guest, next := w.guest(), 0
	reserve := func(player string) types.PlayerSession {
		return *wait.Value(w, "a slot is reserved", func() (*types.PlayerSession, error) { // none is while the game server reconnects
			out, err := w.aws.CreatePlayerSession(w.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: &player})
			if err != nil {
				return nil, err
			}
			return out.PlayerSession, nil
		})
	}
	return running{*g.GameSessionId, map[string]func() (string, string){
		"CreatePlayerSession": func() (string, string) {
			next++
			p := reserve(fmt.Sprint("player-", next))
			return *p.IpAddress, *p.DnsName
		},
		"DescribePlayerSessions": func() (string, string) {
			next++
			p := reserve(fmt.Sprint("player-", next))
			out := node.Must(w.aws.DescribePlayerSessions(w.Context(), &gamelift.DescribePlayerSessionsInput{PlayerSessionId: p.PlayerSessionId}))(w)
			return *out.PlayerSessions[0].IpAddress, *out.PlayerSessions[0].DnsName
		},
		"/players/me/reservations": func() (string, string) {
			var all protocol.Reservations
			if guest.call("GET", "/players/me/reservations", nil, 200, &all); len(all.Items) == 0 { // at first, and when the last one has timed out
				reserve(guest.login.PlayerID)
				guest.call("GET", "/players/me/reservations", nil, 200, &all)
			}
			return all.Items[0].Connection.IP, all.Items[0].Connection.DNSName
		},
	}}
}

// placed creates a game session by a placement.
func (w *watched) placed() running {
	w.Helper()
	id := aws.String("the-placement")
	_, err := w.aws.StartGameSessionPlacement(w.Context(), &gamelift.StartGameSessionPlacementInput{
		PlacementId: id, GameSessionQueueName: aws.String("duel"), MaximumPlayerSessionCount: aws.Int32(4),
	})
	w.must(err)
	look := func() *types.GameSessionPlacement {
		return node.Must(w.aws.DescribeGameSessionPlacement(w.Context(), &gamelift.DescribeGameSessionPlacementInput{PlacementId: id}))(w).GameSessionPlacement
	}
	wait.Until(w, "the placement is FULFILLED", func() bool { return look().Status == types.GameSessionPlacementStateFulfilled })
	return running{*look().GameSessionArn, map[string]func() (string, string){
		"DescribeGameSessionPlacement": func() (string, string) { p := look(); return *p.IpAddress, *p.DnsName },
	}}
}

// matched creates a game session by a match of two guests.
func (w *watched) matched() running {
	w.Helper()
	anna, bert := w.guest(), w.guest()
	ticket := anna.ask("duel")
	bert.ask("duel")
	ticket = anna.until(ticket, protocol.TicketStateCompleted)
	look := func() *types.GameSessionConnectionInfo {
		out := node.Must(w.aws.DescribeMatchmaking(w.Context(), &gamelift.DescribeMatchmakingInput{TicketIds: []string{ticket.TicketID}}))(w)
		return out.TicketList[0].GameSessionConnectionInfo
	}
	cursor := "0"
	return running{*look().GameSessionArn, map[string]func() (string, string){
		"DescribeMatchmaking": func() (string, string) { at := look(); return *at.IpAddress, *at.DnsName },
		"/matchmaking/tickets": func() (string, string) {
			var now protocol.Ticket
			anna.call("GET", "/matchmaking/tickets/"+ticket.TicketID, nil, 200, &now)
			return now.Connection.IP, now.Connection.DNSName
		},
		"/ws": func() (string, string) { // a connection that begins anew with all that has changed
			push, _ := anna.greeted("?resume=" + cursor)
			defer push.ws.Close()
			now, _ := push.state(protocol.TicketStateCompleted)
			return now.Connection.IP, now.Connection.DNSName
		},
	}}
}

// requested creates a game session at the request of a player.
func (w *watched) requested() running {
	w.Helper()
	carl := w.guest()
	var p protocol.Placement
	carl.call("POST", "/sessions", protocol.SessionRequest{Pool: "duel"}, 202, &p)
	wait.Until(w, "the game session that a player requested is there", func() bool {
		carl.call("GET", "/placements/"+p.PlacementID, nil, 200, &p)
		return p.State == protocol.PlacementStateFulfilled
	})
	region, rest, _ := strings.Cut(p.Connection.SessionID, ":")
	return running{"arn:aws:gamelift:" + region + "::gamesession/" + strings.ReplaceAll(rest, ":", "/"), map[string]func() (string, string){
		"/placements": func() (string, string) {
			var now protocol.Placement
			carl.call("GET", "/placements/"+p.PlacementID, nil, 200, &now)
			return now.Connection.IP, now.Connection.DNSName
		},
	}}
}
