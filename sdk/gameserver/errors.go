package gameserver

import (
	"errors"
	"fmt"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/common"
)

// The errors of this package, to be tested with errors.Is. The SDK's own error is
// wrapped as well.
var (
	// ErrInvalid: an argument is missing or breaks a rule.
	ErrInvalid = errors.New("invalid argument")
	// ErrUsed: the SDK, and so a Server, can run once per process.
	ErrUsed = errors.New("a process runs one game server, once")
	// ErrNoSession: there is no game session yet.
	ErrNoSession = errors.New("no game session")
	// ErrEnding: the process is ending.
	ErrEnding = errors.New("the game server is ending")
	// ErrConnectionInUse: the connection or the player session is in use already.
	ErrConnectionInUse = errors.New("connection or player session in use")
	// ErrUnknownConnection: no player was admitted on this connection.
	ErrUnknownConnection = errors.New("unknown connection")
	// ErrRefused: the service does not accept the player session: it is forged,
	// expired, used, or for another game session. Other errors of ValidatePlayer mean
	// that the service could not answer; the player may try again.
	ErrRefused = errors.New("player session refused")
	// ErrNoMatchData: the game session was not created by FlexMatch.
	ErrNoMatchData = errors.New("the game session has no matchmaker data")
	// ErrAutoBackfill: the service backfills automatically.
	ErrAutoBackfill = errors.New("the service backfills by itself")
	// ErrNoPlayers: a backfill needs at least one player that is connected.
	ErrNoPlayers = errors.New("no player to backfill around")
	// ErrNoTicket: there is no backfill to stop.
	ErrNoTicket = errors.New("no backfill ticket")
)

// refusal wraps an error by which the service refuses a player session in ErrRefused.
// It returns other errors unchanged.
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
