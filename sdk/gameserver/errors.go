package gameserver

import (
	"errors"
	"fmt"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/common"
)

// What can go wrong. Use errors.Is; the SDK's own error is wrapped as well.
var (
	// ErrInvalid: an argument is missing or breaks a rule.
	ErrInvalid = errors.New("invalid argument")
	// ErrUsed: the SDK lives once in a process, and so does a Server.
	ErrUsed = errors.New("a process runs one game server, once")
	// ErrNoSession: there is no game session yet.
	ErrNoSession = errors.New("no game session")
	// ErrEnding: the process is ending.
	ErrEnding = errors.New("the game server is ending")
	// ErrConnectionInUse: the connection or the player session is in use already.
	ErrConnectionInUse = errors.New("connection or player session in use")
	// ErrUnknownConnection: no player was let in on this connection.
	ErrUnknownConnection = errors.New("unknown connection")
	// ErrRefused: the service knows no such reservation: forged, over, used, or for
	// another game session. Other errors of ValidatePlayer mean that the service
	// could not be asked; the player may try again.
	ErrRefused = errors.New("player session refused")
	// ErrNoMatchData: the game session was not made by FlexMatch.
	ErrNoMatchData = errors.New("the game session has no matchmaker data")
	// ErrAutoBackfill: the service already asks for players by itself.
	ErrAutoBackfill = errors.New("the service backfills by itself")
	// ErrNoPlayers: a backfill needs at least one player that is connected.
	ErrNoPlayers = errors.New("no player to backfill around")
	// ErrNoTicket: there is no backfill to stop.
	ErrNoTicket = errors.New("no backfill ticket")
)

// refusal tells the service's answer about a player session from trouble in
// asking.
func refusal(err error) error {
	known, ok := errors.AsType[*common.GameLiftError](err)
	if !ok {
		return err
	}
	switch known.ErrorType {
	case common.BadRequestException, common.NotFoundException, common.ConflictException,
		common.UnauthorizedException, common.ForbiddenException, common.ValidationException:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}
