package gameserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/request"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/result"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/matchdata"
)

// BackfillRequest requests players from FlexMatch for free slots.
type BackfillRequest struct {
	TicketID string // "" lets the service generate one
	// Players are the players in the session; nil stands for the connected ones, with
	// the team and attributes of the matchmaker data. That data has no latencies: set
	// Players if rules read them.
	Players []session.Player
	// AllowWithAuto requests players even if the service backfills automatically.
	AllowWithAuto bool
}

// StartBackfill requests players (StartMatchBackfill) and stores the ticket as the
// latest one, in place of the one before. The result arrives as an Update. Errors:
// ErrNoMatchData, ErrAutoBackfill, ErrNoPlayers, ErrEnding.
func (s *Server) StartBackfill(ctx context.Context, r BackfillRequest) (ticketID string, err error) {
	info, data, err := s.match(r.AllowWithAuto)
	if err != nil {
		return "", err
	}
	if r.Players == nil {
		if r.Players, err = s.present(ctx, data); err != nil {
			return "", err
		}
	}
	if len(r.Players) == 0 {
		return "", ErrNoPlayers
	}
	ask := request.NewStartMatchBackfill(info.ID, data.ConfigurationARN, sdkPlayers(r.Players))
	ask.TicketID = r.TicketID
	out, err := call(ctx, func() (result.StartMatchBackfillResult, error) { return s.sdk.StartBackfill(ask) }, func(late result.StartMatchBackfillResult, err error) {
		if err == nil {
			s.filling.set(late.TicketID) // so that it can be stopped
		}
	})
	if err != nil {
		return "", fmt.Errorf("start match backfill: %w", err)
	}
	s.filling.set(out.TicketID)
	return out.TicketID, nil
}

// match returns the game session and match to backfill.
func (s *Server) match(allowWithAuto bool) (session.Info, matchdata.Data, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state == Ending || s.state == Ended:
		return s.info, s.data, ErrEnding
	case s.info.ID == "" || s.data.ConfigurationARN == "":
		return s.info, s.data, ErrNoMatchData
	case s.data.AutoBackfillTicketID != "" && !allowWithAuto:
		return s.info, s.data, ErrAutoBackfill
	}
	return s.info, s.data, nil
}

// present returns the matched players that are connected.
func (s *Server) present(ctx context.Context, data matchdata.Data) ([]session.Player, error) {
	var players []session.Player
	for p, err := range s.PlayerSessions(ctx, "ACTIVE") {
		if err != nil {
			return nil, err
		}
		if known, ok := data.Player(p.PlayerID); ok {
			players = append(players, known)
		}
	}
	return players, nil
}

// StopBackfill stops a backfill (StopMatchBackfill); "" stops the latest, including
// the service's own. Errors: ErrNoTicket, ErrNoMatchData.
func (s *Server) StopBackfill(ctx context.Context, ticketID string) error {
	if ticketID == "" {
		ticketID = s.BackfillTicket()
	}
	if ticketID == "" {
		return ErrNoTicket
	}
	info, data, err := s.match(true)
	if err != nil && !errors.Is(err, ErrEnding) {
		return err
	}
	ask := request.NewStopMatchBackfill()
	ask.GameSessionArn, ask.MatchmakingConfigurationArn, ask.TicketID = info.ID, data.ConfigurationARN, ticketID
	if err := call0(ctx, func() error { return s.sdk.StopBackfill(ask) }, nil); err != nil {
		return fmt.Errorf("stop match backfill: %w", err)
	}
	s.filling.over(ticketID)
	return nil
}

// BackfillTicket returns the latest backfill ticket not known to have ended: this
// server's own, else the service's, else "".
func (s *Server) BackfillTicket() string {
	if own := s.filling.own(); own != "" {
		return own
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.AutoBackfillTicketID
}

// filling is the server's own backfill, and when to request one.
type filling struct {
	s *Server

	mu     sync.Mutex
	ticket string // the latest not known to have ended, or ""
}

// own returns the latest ticket, or "".
func (f *filling) own() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ticket
}

func (f *filling) set(ticket string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ticket = ticket
}

// over forgets a ticket that has ended.
func (f *filling) over(ticket string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ticket == ticket {
		f.ticket = ""
	}
}

// stop makes an attempt to stop the backfill at the end.
func (f *filling) stop(ctx context.Context) {
	ticket := f.own()
	if ticket == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopBackfill)
	defer cancel()
	if err := f.s.StopBackfill(ctx, ticket); err != nil {
		f.s.opts.Logger.Warn("backfill not stopped", "ticket_id", ticket, "error", err)
	}
}

// begin starts the first backfill after StartDelay, if the policy says so.
func (f *filling) begin() {
	if !f.s.opts.Backfill.Enabled {
		return
	}
	f.s.spawn(func() {
		timer := time.NewTimer(f.s.opts.Backfill.StartDelay)
		defer timer.Stop()
		select {
		case <-timer.C:
			f.request("the session started", "")
		case <-f.s.life.Done():
		}
	})
}

// because starts a backfill on its own goroutine, if the policy says so.
func (f *filling) because(why, ticketID string) {
	if f.s.opts.Backfill.Enabled {
		f.s.spawn(func() { f.request(why, ticketID) })
	}
}

// request requests players if there are free slots.
func (f *filling) request(why, ticketID string) {
	s := f.s
	s.mu.Lock()
	wanted := s.state == Active && len(s.players) < s.info.MaxPlayers
	s.mu.Unlock()
	if !wanted {
		return
	}
	ticket, err := s.StartBackfill(s.life, BackfillRequest{TicketID: ticketID})
	switch {
	case err == nil:
		s.opts.Logger.Info("backfill started", "ticket_id", ticket, "because", why)
	case errors.Is(err, ErrNoMatchData) || errors.Is(err, ErrAutoBackfill) || errors.Is(err, ErrNoPlayers) || s.life.Err() != nil:
		s.opts.Logger.Debug("no backfill", "because", err)
	default:
		s.opts.Logger.Warn("backfill not started", "error", err)
	}
}
