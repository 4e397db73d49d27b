package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/common"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"
	sdk "github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"

	"github.com/musterhq/muster/examples/arena/server"
)

// service is the hosting service as the arena uses it: the few calls of the
// Server SDK 5 that a game server needs, and no more.
type service interface {
	server.PlayerSessions
	// Ready says that the process can take a game session, which arrives later.
	Ready(port int, logs []string, on callbacks) error
	// Activate says that the game session can take players.
	Activate() error
	// Ending says that the process is about to exit.
	Ending() error
}

// callbacks are what the service may tell or ask, each from its own goroutine.
type callbacks struct {
	start     func(model.GameSession)
	update    func(model.UpdateGameSession)
	terminate func()
	healthy   func() bool
}

// gamelift is the service behind the official SDK. The SDK connects again by
// itself after a lost connection; calls made meanwhile fail after 20 seconds.
type gamelift struct{}

// connect starts the SDK. Environment variables GAMELIFT_SDK_* override params;
// on a host managed by the service they suffice and params are empty.
func connect(params sdk.ServerParameters, log *slog.Logger) (gamelift, error) {
	sdk.SetLoggerInterface(sdkLog{log.With("component", "server-sdk")})
	if err := sdk.InitSDK(params); err != nil {
		return gamelift{}, fmt.Errorf("connect to the hosting service: %w", err)
	}
	return gamelift{}, nil
}

func (gamelift) Ready(port int, logs []string, on callbacks) error {
	return sdk.ProcessReady(sdk.ProcessParameters{
		OnStartGameSession:  on.start,
		OnUpdateGameSession: on.update,
		OnProcessTerminate:  on.terminate,
		OnHealthCheck:       on.healthy,
		Port:                port,
		LogParameters:       sdk.LogParameters{LogPaths: logs},
	})
}

func (gamelift) Activate() error { return sdk.ActivateGameSession() }

func (gamelift) Accept(playerSessionID string) error {
	err := sdk.AcceptPlayerSession(playerSessionID)
	var known *common.GameLiftError
	if errors.As(err, &known) && refuses(known.ErrorType) {
		return fmt.Errorf("%w: %w", server.ErrRefused, err)
	}
	return err
}

// refuses tells an answer about the player session from trouble in asking.
func refuses(kind common.GameLiftErrorType) bool {
	switch kind {
	case common.BadRequestException, common.NotFoundException, common.ConflictException,
		common.UnauthorizedException, common.ForbiddenException, common.ValidationException:
		return true
	}
	return false
}

func (gamelift) Remove(playerSessionID string) error { return sdk.RemovePlayerSession(playerSessionID) }

func (gamelift) Ending() error {
	return errors.Join(sdk.ProcessEnding(), sdk.Destroy())
}

// sdkLog writes the SDK's log lines to ours. Without it the SDK makes a folder
// "logs" in the working directory and exits if it cannot.
type sdkLog struct{ log *slog.Logger }

func (l sdkLog) Debugf(format string, args ...any) { l.log.Debug(fmt.Sprintf(format, args...)) }
func (l sdkLog) Warnf(format string, args ...any)  { l.log.Warn(fmt.Sprintf(format, args...)) }
func (l sdkLog) Errorf(format string, args ...any) { l.log.Error(fmt.Sprintf(format, args...)) }
