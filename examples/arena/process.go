package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/examples/arena/server"
	"github.com/musterhq/muster/sdk/gameserver"
	"github.com/musterhq/muster/sdk/session"
)

// process is a game server process. Its handlers start the game when a game session
// is assigned and end it when the process ends.
type process struct {
	host *gameserver.Server
	conn *net.UDPConn
	opts server.Options // its Web, if any, has the port of conn
	log  *slog.Logger

	playing atomic.Pointer[game]
}

type game struct {
	*server.Server
	stop   context.CancelFunc
	over   chan struct{} // closed when it is over
	result server.Result // valid once over is closed
}

var errSocket = errors.New("the game's socket failed")

// newProcess returns a process on a socket, which the caller closes.
func newProcess(conn *net.UDPConn, game server.Options, o gameserver.Options) (*process, error) {
	p := &process{conn: conn, opts: game, log: o.Logger}
	o.Port = conn.LocalAddr().(*net.UDPAddr).Port
	host, err := gameserver.New(o, p)
	p.host = host
	return p, err
}

// run runs the process to its end. Cancelling ctx, or the service's order to
// terminate, ends it early: players and the service are notified.
func (p *process) run(ctx context.Context) error {
	if err := p.host.Run(ctx); err != nil {
		return err
	}
	if g := p.playing.Load(); g != nil && g.result.End == server.EndBroken {
		return errSocket
	}
	return nil
}

// OnCreateSession implements gameserver.Handler: it starts the game, and the process
// ends with the game.
func (p *process) OnCreateSession(_ context.Context, info session.Info) error {
	log := p.log.With("game_session_id", info.ID)
	opts := p.opts
	opts.Seats, opts.Log = info.MaxPlayers, log
	if seconds, err := strconv.ParseUint(info.Properties["matchSeconds"], 10, 31); err == nil {
		opts.MatchFor = time.Duration(seconds) * time.Second
	}
	ctx, stop := context.WithCancel(context.Background())
	g := &game{Server: server.New(p.conn, players{p.host}, opts), stop: stop, over: make(chan struct{})}
	p.playing.Store(g)
	log.Info("game session started", "seats", opts.Seats, "match_for", opts.MatchFor)
	go p.play(ctx, g, log)
	return nil
}

func (p *process) play(ctx context.Context, g *game, log *slog.Logger) {
	g.result = g.Run(ctx)
	log.Info("game session ended", "end", g.result.End, "players", g.result.Players,
		"refused", g.result.Refused, "ticks", g.result.Ticks)
	close(g.over)
	_ = p.host.End(context.Background(), gameserver.EndRequested)
}

// OnDestroySession implements gameserver.SessionDestroyer: it ends the game and waits
// until all players have been notified.
func (p *process) OnDestroySession(ctx context.Context, _ gameserver.EndReason) error {
	g := p.playing.Load()
	g.stop()
	select {
	case <-g.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end the game: %w", ctx.Err())
	}
}

// OnSessionUpdated implements gameserver.SessionUpdated.
func (p *process) OnSessionUpdated(_ context.Context, u gameserver.Update) {
	p.log.Info("game session updated", "game_session_id", u.Session.ID, "reason", u.Reason,
		"backfill_ticket_id", u.BackfillTicketID, "players", len(u.Match.Players()))
}

// OnHealthCheck implements gameserver.HealthChecker.
func (p *process) OnHealthCheck(context.Context) bool {
	g := p.playing.Load()
	return g == nil || g.Healthy()
}

// players admits players to the game. Each player session has one connection, so its
// id serves as the connection's.
type players struct{ host *gameserver.Server }

// Accept implements server.PlayerSessions.
func (p players) Accept(id string) error {
	err := p.host.ValidatePlayer(context.Background(), gameserver.ConnectionID(id), id)
	if errors.Is(err, gameserver.ErrRefused) || errors.Is(err, gameserver.ErrConnectionInUse) {
		return fmt.Errorf("%w: %w", server.ErrRefused, err)
	}
	return err
}

// Remove implements server.PlayerSessions.
func (p players) Remove(id string) error {
	return p.host.PlayerLeft(context.Background(), gameserver.ConnectionID(id))
}
