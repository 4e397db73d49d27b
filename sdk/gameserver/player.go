package gameserver

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/request"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/result"
)

// ConnectionID identifies a player's connection, as the game chooses: an address, a
// number.
type ConnectionID string

// removeTimeout limits freeing the slot of a player who was accepted too late.
const removeTimeout = 20 * time.Second

// ValidatePlayer has the service check that a connecting player has a slot, and takes
// it (AcceptPlayerSession). On an error, disconnect this connection and no other.
// Errors: ErrInvalid, ErrConnectionInUse, ErrNoSession, ErrEnding, ErrRefused; others
// mean that the service could not answer. If ctx ends first and the service accepts
// the player later, the slot is freed.
func (s *Server) ValidatePlayer(ctx context.Context, c ConnectionID, playerSessionID string) error {
	if err := s.enter(c, playerSessionID); err != nil {
		return err
	}
	err := call0(ctx, func() error { return s.sdk.Accept(playerSessionID) }, func() { s.giveBack(playerSessionID) })
	if err != nil {
		s.leave(c)
		return fmt.Errorf("accept player session: %w", refusal(err))
	}
	s.mu.Lock()
	s.came = true
	s.mu.Unlock()
	if s.opts.Backfill.OnJoin {
		s.filling.because("a player joined", "")
	}
	return nil
}

// enter registers a connection.
func (s *Server) enter(c ConnectionID, playerSessionID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c == "" || playerSessionID == "":
		return fmt.Errorf("%w: a connection and a player session id are required", ErrInvalid)
	case s.state == Ending || s.state == Ended:
		return ErrEnding
	case s.state != Activating && s.state != Active:
		return ErrNoSession
	case s.players[c] != "" || s.taken[playerSessionID]:
		return ErrConnectionInUse
	}
	s.players[c], s.taken[playerSessionID] = playerSessionID, true
	if s.empty != nil {
		s.empty.Stop()
	}
	return nil
}

// leave unregisters a connection and returns its player session, "" if unknown.
func (s *Server) leave(c ConnectionID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.players[c]
	delete(s.players, c)
	delete(s.taken, id)
	if len(s.players) == 0 && s.came && s.opts.EndWhenEmpty && s.state != Ending && s.state != Ended {
		s.empty = time.AfterFunc(s.opts.EmptyGrace, s.endIfEmpty)
	}
	return id
}

func (s *Server) endIfEmpty() {
	s.mu.Lock()
	empty := len(s.players) == 0
	s.mu.Unlock()
	if empty {
		s.begin(EndEmpty, nil)
	}
}

// giveBack frees the slot of a player whose connection is no longer wanted.
func (s *Server) giveBack(playerSessionID string) {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	if err := call0(ctx, func() error { return s.sdk.Remove(playerSessionID) }, nil); err != nil {
		s.opts.Logger.Error("player session not given back", "player_session_id", playerSessionID, "error", err)
	}
}

// PlayerLeft reports to the service that a player has left (RemovePlayerSession),
// which frees the slot. Errors: ErrUnknownConnection.
func (s *Server) PlayerLeft(ctx context.Context, c ConnectionID) error {
	id := s.leave(c)
	if id == "" {
		return ErrUnknownConnection
	}
	err := call0(ctx, func() error { return s.sdk.Remove(id) }, nil)
	if s.opts.Backfill.OnLeave {
		s.filling.because("a player left", "")
	}
	if err != nil {
		return fmt.Errorf("remove player session: %w", err)
	}
	return nil
}

// Connected returns the player session of each connection.
func (s *Server) Connected() map[ConnectionID]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.players)
}

// SetAcceptingPlayers opens or closes the game session to new players
// (UpdatePlayerSessionCreationPolicy). Errors: ErrNoSession.
func (s *Server) SetAcceptingPlayers(ctx context.Context, open bool) error {
	policy := model.DenyAll
	if open {
		policy = model.AcceptAll
	}
	if _, ok := s.Session(); !ok {
		return ErrNoSession
	}
	return call0(ctx, func() error { return s.sdk.SetPolicy(policy) }, nil)
}

// perPage is how many player sessions a request returns.
const perPage = 30

// PlayerSessions yields the game session's player sessions of a status (RESERVED,
// ACTIVE, COMPLETED, TIMEDOUT; "" is all), page by page. It ends after yielding an
// error.
func (s *Server) PlayerSessions(ctx context.Context, status string) iter.Seq2[model.PlayerSession, error] {
	return func(yield func(model.PlayerSession, error) bool) {
		info, ok := s.Session()
		if !ok {
			yield(model.PlayerSession{}, ErrNoSession)
			return
		}
		ask := request.NewDescribePlayerSessions()
		ask.GameSessionID, ask.PlayerSessionStatusFilter, ask.Limit = info.ID, status, perPage
		for {
			page, err := call(ctx, func() (result.DescribePlayerSessionsResult, error) { return s.sdk.Describe(ask) }, nil)
			if err != nil {
				yield(model.PlayerSession{}, fmt.Errorf("describe player sessions: %w", err))
				return
			}
			for _, p := range page.PlayerSessions {
				if !yield(p, nil) {
					return
				}
			}
			if page.NextToken == "" || page.NextToken == ask.NextToken {
				return
			}
			ask = request.NewDescribePlayerSessions()
			ask.GameSessionID, ask.PlayerSessionStatusFilter, ask.Limit, ask.NextToken = info.ID, status, perPage, page.NextToken
		}
	}
}
