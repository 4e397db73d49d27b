package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"

	"github.com/musterhq/muster/examples/arena/server"
)

// process is the life of one server process: ready, one game session, ending.
type process struct {
	service service
	conn    *net.UDPConn
	logs    []string // absolute paths that the service may collect
	opts    server.Options
	log     *slog.Logger

	playing atomic.Pointer[server.Server]
}

// run lives the process's life. Cancelling ctx, or the service's order to
// terminate, ends it early: players are told and the service hears of the end.
func (p *process) run(ctx context.Context) error {
	ctx, terminate := context.WithCancel(ctx)
	defer terminate()
	starts := make(chan model.GameSession, 1)
	port := p.conn.LocalAddr().(*net.UDPAddr).Port
	if err := p.service.Ready(port, p.logs, p.callbacks(starts, terminate)); err != nil {
		return fmt.Errorf("report ready: %w", err)
	}
	p.log.Info("ready for a game session", "port", port)
	select {
	case <-ctx.Done():
		p.log.Info("terminated before a game session came")
		return p.end(nil)
	case session := <-starts:
		return p.end(p.play(ctx, session))
	}
}

func (p *process) callbacks(starts chan<- model.GameSession, terminate func()) callbacks {
	return callbacks{
		start: func(session model.GameSession) {
			select {
			case starts <- session:
			default: // a process runs one game session only
			}
		},
		update: func(update model.UpdateGameSession) {
			p.log.Info("game session updated", "game_session_id", update.GameSession.GameSessionID,
				"reason", reason(update), "backfill_ticket_id", update.BackfillTicketID)
		},
		terminate: terminate,
		healthy: func() bool {
			playing := p.playing.Load()
			return playing == nil || playing.Healthy()
		},
	}
}

func reason(update model.UpdateGameSession) string {
	if update.UpdateReason == nil {
		return ""
	}
	return fmt.Sprint(*update.UpdateReason)
}

// play runs the game session from its activation to its end.
func (p *process) play(ctx context.Context, session model.GameSession) error {
	log := p.log.With("game_session_id", session.GameSessionID)
	opts := p.opts
	opts.Seats = session.MaximumPlayerSessionCount
	opts.Log = log
	if seconds, err := strconv.ParseUint(session.GameProperties["matchSeconds"], 10, 31); err == nil {
		opts.MatchFor = time.Duration(seconds) * time.Second
	}
	if err := p.service.Activate(); err != nil {
		return fmt.Errorf("activate the game session: %w", err)
	}
	log.Info("game session started", "seats", opts.Seats, "match_for", opts.MatchFor)
	game := server.New(p.conn, p.service, opts)
	p.playing.Store(game)
	result := game.Run(ctx)
	log.Info("game session ended", "end", result.End, "players", result.Players,
		"refused", result.Refused, "ticks", result.Ticks)
	if result.End == server.EndBroken {
		return fmt.Errorf("the game's socket failed")
	}
	return nil
}

// end tells the service that the process is about to exit, whatever went before.
func (p *process) end(cause error) error {
	err := p.service.Ending()
	if cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("report the end: %w", err)
	}
	return nil
}
