package live

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/setup"
)

// Canary is a share of a fleet's instances that a new build gets first.
type Canary struct {
	Share float64       // above 0 and below 1; 0 means no canary
	For   time.Duration // how long it is watched before the rest follows; 0 means that this is for Promote or Rollback
	File  *setup.Setup  // what the file says, without the options of a command; nil means that this is not known
}

// canary starts the fleet that is to take the place of another as its canary.
func (m *rollout) canary(ctx context.Context, key string, c Canary) error {
	n, of, err := m.next(ctx, key, c.Share)
	if err != nil {
		return err
	}
	next := setup.NextName(key)
	m.rolling.reach(leading)
	queues, err := m.lead(ctx, m.fleets[key], m.fleets[next])
	if err != nil {
		return err
	}
	if queues == 0 {
		m.rolling.reach(beside)
		return fmt.Errorf("no queue leads to fleet %s, so a canary would get no game sessions: an alias leads to one fleet alone. Deploy without --canary, or place game sessions by a queue", key)
	}
	m.tell("fleet %s: is ACTIVE with %s beside %d, and first in %s", next, plain.Count(n, "instance"), of, plain.Count(queues, "queue"))
	if c.For == 0 {
		m.tell("it stays so until 'muster deploy --promote' or 'muster deploy --rollback'")
		return nil
	}
	until := time.Now().Add(c.For)
	var bad string
	watched := *m.Server
	watched.Patience = c.For + time.Minute
	err = watched.wait(ctx, "canary "+next, func(ctx context.Context) (bool, string, error) {
		var err error
		bad, err = m.failure(ctx, *m.fleets[next].FleetId)
		return bad != "" || time.Now().After(until), "watching it for " + c.For.String(), err
	})
	if err != nil {
		return err
	}
	if bad != "" {
		m.tell("fleet %s: %s", next, bad)
		if err := m.takeOut(ctx, key, func(ctx context.Context) error {
			return m.rolledBack(ctx, c.File, key, m.fleets[key], m.fleets[next], m.Setup.Fleets[key])
		}); err != nil {
			return err
		}
		m.rolling.reach(takenOut)
		return fmt.Errorf("rolled back: the canary failed: %s", bad)
	}
	return m.roll(ctx, key)
}

// failures are the events of a fleet that end a canary.
var failures = []types.EventCode{
	types.EventCodeServerProcessCrashed, types.EventCodeServerProcessTerminatedUnhealthy, types.EventCodeServerProcessSdkInitializationTimeout, types.EventCodeServerProcessInvalidPath,
	types.EventCodeServerProcessProcessReadyTimeout, types.EventCodeServerProcessProcessExitTimeout, types.EventCodeGameSessionActivationTimeout, types.EventCodeServerProcessForceTerminated,
}

// failure returns the message of an event since the creation of a fleet that says that its
// build is bad, "" if there is none.
func (m *rollout) failure(ctx context.Context, id string) (string, error) {
	all, err := m.failures(ctx, id)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return fmt.Sprintf("%s: %s", all[0].EventCode, val(all[0].Message)), nil
}
