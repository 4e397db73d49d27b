package scenario

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/bots"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// create creates a game session on a fleet, and waits until its server has activated it.
func (s *site) create(fleet string) *types.GameSession {
	s.t.Helper()
	place := node.Place{Client: s.client, FleetID: fleet}
	made, err := place.Create(s.t.Context(), 8)
	if err != nil {
		s.t.Fatal(err)
	}
	s.seen.want(1, "the game session to be ACTIVE", of(*made.GameSessionId, code("GAME_SESSION_ACTIVATED", 0)))
	return made
}

// session returns a game session.
func (s *site) session(id *string) types.GameSession {
	s.t.Helper()
	out, err := s.client.DescribeGameSessions(s.t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: id})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(out.GameSessions) != 1 {
		s.t.Fatalf("game session %s is there %d times", *id, len(out.GameSessions))
	}
	return out.GameSessions[0]
}

// players returns the status of the player sessions of a game session, by player.
func (s *site) players(id *string) map[string]types.PlayerSessionStatus {
	s.t.Helper()
	out, err := s.client.DescribePlayerSessions(s.t.Context(), &gamelift.DescribePlayerSessionsInput{GameSessionId: id})
	if err != nil {
		s.t.Fatal(err)
	}
	now := map[string]types.PlayerSessionStatus{}
	for _, p := range out.PlayerSessions {
		now[*p.PlayerId] = p.Status
	}
	return now
}

// reserve creates a player session.
func (s *site) reserve(id *string, player string) *types.PlayerSession {
	s.t.Helper()
	out, err := s.client.CreatePlayerSession(s.t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: id, PlayerId: &player})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.PlayerSession
}

// party is a group of bots that play until they are told to stop.
type party struct {
	t       *testing.T
	program *bots.Program
	stop    context.CancelFunc
	results chan error
	seen    []atomic.Int64 // snapshots, by bot
}

// play makes bots join a game session and play over UDP until stopped.
func (s *site) play(id *string, players int) *party {
	s.t.Helper()
	program, err := bots.StartProgram(context.WithoutCancel(s.t.Context()), node.Arena(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &party{t: s.t, stop: cancel, program: program, results: make(chan error, players), seen: make([]atomic.Int64, players)}
	s.t.Cleanup(func() {
		cancel()
		if err := program.Close(); err != nil {
			s.t.Error(err)
		}
	})
	joined := make(chan struct{}, players)
	for n := range players {
		p := s.reserve(id, fmt.Sprint("bot-", n))
		go func() {
			ending, reason, err := program.Play(ctx, bots.Game{
				Address: net.JoinHostPort(*p.IpAddress, fmt.Sprint(*p.Port)), PlayerSessionID: *p.PlayerSessionId, Seed: uint64(n), SilentFor: late,
				Joined: func() { joined <- struct{}{} }, Progress: func(snapshots int) { g.seen[n].Store(int64(snapshots)) },
			})
			if err == nil && ending != bots.Played {
				err = fmt.Errorf("bot %d of %s was not served to the end: %s %s", n, *id, ending, reason)
			}
			g.results <- err
		}()
	}
	for range players {
		select {
		case <-joined:
		case err := <-g.results:
			s.t.Fatalf("the game was over before it began: %v", err)
		}
	}
	return g
}

// goesOn waits until each bot has seen the game progress.
func (p *party) goesOn() {
	p.t.Helper()
	for n := range p.seen {
		from := p.seen[n].Load()
		wait.Until(p.t, fmt.Sprintf("bot %d sees the game go on", n), func() bool { return p.seen[n].Load() > from+5 })
	}
}

// end stops the bots. Each must have been served up to then.
func (p *party) end() {
	p.t.Helper()
	p.stop()
	for n := range p.seen {
		if err := <-p.results; err != nil {
			p.t.Error(err)
		}
		if p.seen[n].Load() == 0 {
			p.t.Errorf("bot %d saw nothing of the game", n)
		}
	}
}

// playOn makes a bot play on the machine of the game server itself, so that no cut
// network separates them. The returned function makes it leave; it must have been
// served to the end.
func (s *site) playOn(m *machine, id *string) (leave func()) {
	s.t.Helper()
	p := s.reserve(id, "neighbour")
	bot := m.command(node.Arena(s.t), "bot", "-addr", net.JoinHostPort(*p.IpAddress, fmt.Sprint(*p.Port)), "-player-session", *p.PlayerSessionId, "-for", "0")
	if err := bot.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.seen.want(1, "the player to be let in", of(*id, code("PLAYER_SESSION_ACCEPTED", 0)))
	return func() {
		s.t.Helper()
		bot.Process.Signal(os.Interrupt)
		if err := bot.Wait(); err != nil {
			s.t.Errorf("the bot on the machine of the game was not served to the end: %v", err)
		}
	}
}
