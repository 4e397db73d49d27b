package gameserver

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/common"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/request"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/result"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"
)

// SDK has the functions of the official package that this package uses. Its calls
// block. Package fakesdk implements it for tests.
type SDK interface {
	Init(server.ServerParameters) error
	Ready(server.ProcessParameters) error
	Ending() error
	Destroy() error
	Activate() error
	SetPolicy(model.PlayerSessionCreationPolicy) error
	Accept(playerSessionID string) error
	Remove(playerSessionID string) error
	Describe(request.DescribePlayerSessionsRequest) (result.DescribePlayerSessionsResult, error)
	StartBackfill(request.StartMatchBackfillRequest) (result.StartMatchBackfillResult, error)
	StopBackfill(request.StopMatchBackfillRequest) error
	TerminationTime() (int64, error) // Unix seconds
	Certificate() (result.GetComputeCertificateResult, error)
}

// Official is the official Server SDK. It can be initialized once per process.
type Official struct{ Logger *slog.Logger }

// initialised guards the SDK, which is global to the process and can be initialized
// only once.
var initialised atomic.Bool

// Init implements SDK.
func (o *Official) Init(p server.ServerParameters) error {
	if !initialised.CompareAndSwap(false, true) {
		return ErrUsed
	}
	keepJitter()
	server.SetLoggerInterface(sdkLog{o.Logger.With("component", "server-sdk")})
	if err := server.InitSDK(p); err != nil {
		return errors.Join(err, server.Destroy()) // or the SDK stays partly initialized
	}
	return nil
}

// leastJitter is the smallest jitter of health checks that the SDK supports: it draws
// a random number below the jitter in milliseconds, and panics if that is 0.
const leastJitter = time.Millisecond

// keepJitter raises a smaller jitter set in the environment to leastJitter.
func keepJitter() {
	jitter, err := time.ParseDuration(os.Getenv(common.HealthcheckMaxJitter))
	if err == nil && jitter < leastJitter {
		os.Setenv(common.HealthcheckMaxJitter, leastJitter.String())
	}
}

// Ready implements SDK.
func (*Official) Ready(p server.ProcessParameters) error { return server.ProcessReady(p) }

// Ending implements SDK.
func (*Official) Ending() error { return server.ProcessEnding() }

// Destroy implements SDK.
func (*Official) Destroy() error { return server.Destroy() }

// Activate implements SDK.
func (*Official) Activate() error { return server.ActivateGameSession() }

// SetPolicy implements SDK.
func (*Official) SetPolicy(p model.PlayerSessionCreationPolicy) error {
	return server.UpdatePlayerSessionCreationPolicy(p)
}

// Accept implements SDK.
func (*Official) Accept(id string) error { return server.AcceptPlayerSession(id) }

// Remove implements SDK.
func (*Official) Remove(id string) error { return server.RemovePlayerSession(id) }

// Describe implements SDK.
func (*Official) Describe(r request.DescribePlayerSessionsRequest) (result.DescribePlayerSessionsResult, error) {
	return server.DescribePlayerSessions(r)
}

// StartBackfill implements SDK.
func (*Official) StartBackfill(r request.StartMatchBackfillRequest) (result.StartMatchBackfillResult, error) {
	return server.StartMatchBackfill(r)
}

// StopBackfill implements SDK.
func (*Official) StopBackfill(r request.StopMatchBackfillRequest) error {
	return server.StopMatchBackfill(r)
}

// TerminationTime implements SDK.
func (*Official) TerminationTime() (int64, error) { return server.GetTerminationTime() }

// Certificate implements SDK.
func (*Official) Certificate() (result.GetComputeCertificateResult, error) {
	return server.GetComputeCertificate()
}

// sdkLog writes the SDK's log lines to a slog.Logger.
type sdkLog struct{ log *slog.Logger }

func (l sdkLog) Debugf(format string, args ...any) { l.log.Debug(fmt.Sprintf(format, args...)) }
func (l sdkLog) Warnf(format string, args ...any)  { l.log.Warn(fmt.Sprintf(format, args...)) }
func (l sdkLog) Errorf(format string, args ...any) { l.log.Error(fmt.Sprintf(format, args...)) }
