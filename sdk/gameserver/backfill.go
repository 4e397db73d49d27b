package gameserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/request"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/result"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/matchdata"
)

// BackfillRequest asks FlexMatch for players for free slots.
type BackfillRequest struct {
	TicketID string // "" has the service make one
	// Players are who is in; nil is those who are connected, with team and
	// attributes of the matchmaker data. Latencies are not known to the service:
	// give Players where rules read them.
	Players []session.Player
	// AllowWithAuto asks also where the service backfills by itself.
	AllowWithAuto bool
}

// StartBackfill asks for players (StartMatchBackfill) and remembers the ticket as
// the latest; it takes the place of the one before. What came of it arrives as an
// Update. Errors: ErrNoMatchData, ErrAutoBackfill, ErrNoPlayers, ErrEnding.
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
			s.remember(late.TicketID) // known, so that it can be stopped
		}
	})
	if err != nil {
		return "", fmt.Errorf("start match backfill: %w", err)
	}
	s.remember(out.TicketID)
	return out.TicketID, nil
}

// match gives what a backfill is about.
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

func (s *Server) remember(ticket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticket = ticket
}

// present gives the matched players that are connected.
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

// StopBackfill stops a backfill (StopMatchBackfill); "" is the latest, the
// service's own included. Errors: ErrNoTicket, ErrNoMatchData.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ticket == ticketID {
		s.ticket = ""
	}
	return nil
}

// BackfillTicket gives the latest backfill that is not known to be over: our own,
// else the service's, else "".
func (s *Server) BackfillTicket() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ticket != "" {
		return s.ticket
	}
	return s.data.AutoBackfillTicketID
}

// stopOwnBackfill stops what we asked for, at the end; best effort.
func (s *Server) stopOwnBackfill(ctx context.Context) {
	s.mu.Lock()
	ticket := s.ticket
	s.mu.Unlock()
	if ticket == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopBackfill)
	defer cancel()
	if err := s.StopBackfill(ctx, ticket); err != nil {
		s.opts.Logger.Warn("backfill not stopped", "ticket_id", ticket, "error", err)
	}
}

// backfillAfterStart asks for the first time, as the policy says.
func (s *Server) backfillAfterStart() {
	if !s.opts.Backfill.Enabled {
		return
	}
	s.spawn(func() {
		timer := time.NewTimer(s.opts.Backfill.StartDelay)
		defer timer.Stop()
		select {
		case <-timer.C:
			s.backfill("the session started", "")
		case <-s.life.Done():
		}
	})
}

// backfillBecause asks beside the caller, as the policy says.
func (s *Server) backfillBecause(why, ticketID string) {
	if s.opts.Backfill.Enabled {
		s.spawn(func() { s.backfill(why, ticketID) })
	}
}

// backfill asks for players if there is room for them.
func (s *Server) backfill(why, ticketID string) {
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
