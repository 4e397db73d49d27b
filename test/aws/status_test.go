package aws

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

func manual(o *gameserver.Options) { o.Manual = true }

// A game session that its server does not activate in time ends, and the fleet's events
// say why.
func TestStatus_ActivationTimeout(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	node.Must(b.Client.UpdateRuntimeConfiguration(ctx, &gamelift.UpdateRuntimeConfigurationInput{
		FleetId: &b.FleetID, RuntimeConfiguration: &types.RuntimeConfiguration{GameSessionActivationTimeoutSeconds: aws.Int32(1)},
	}))(t)
	s := b.Server(t, manual)
	g := node.Must(b.Create(ctx, 1))(t)
	_, err := b.Client.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("p")})
	refused[*types.InvalidGameSessionStatusException](t, err, "ACTIVATING")
	b.events.Code(t, "GAME_SESSION_TERMINATED")
	if now := b.game(t, g.GameSessionId); now.Status != types.GameSessionStatusTerminated {
		t.Errorf("the game session is %s", now.Status)
	}
	if err := s.Activate(ctx, *g.GameSessionId); err == nil {
		t.Error("a session was activated after its end")
	}
	found := node.Must(b.Client.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: &b.FleetID}))(t)
	if found.Events[0].EventCode != types.EventCodeGameSessionActivationTimeout {
		t.Errorf("the newest fleet event is %s", found.Events[0].EventCode)
	}
}

func TestStatus_ReservationTimeout(t *testing.T) {
	t.Parallel()
	b := setupWith(t, func(o *app.Options) { o.Sessions.ReservationTimeout = 100 * time.Millisecond })
	s := b.Server(t)
	g := b.active(t, s, 1)
	p := b.reserve(t, g, "ana")
	b.events.Code(t, "PLAYER_SESSION_TIMED_OUT")
	if now := b.player(t, p.PlayerSessionId); now.Status != types.PlayerSessionStatusTimedout || now.TerminationTime == nil {
		t.Errorf("the player session is %s, %v", now.Status, now.TerminationTime)
	}
	if err := s.Accept(t.Context(), *g.GameSessionId, *p.PlayerSessionId); err == nil {
		t.Error("a reservation was accepted after its end")
	}
	b.reserve(t, g, "ben") // the slot is open again
}

// TERMINATING lasts until the server has ended; until then the game session cannot be
// changed.
func TestStatus_Terminating(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	s := b.Server(t, manual)
	g := node.Must(b.Create(ctx, 2))(t)
	if err := s.Activate(ctx, *g.GameSessionId); err != nil {
		t.Fatal(err)
	}
	stop := &gamelift.TerminateGameSessionInput{GameSessionId: g.GameSessionId, TerminationMode: types.TerminationModeTriggerOnProcessTerminate}
	node.Must(b.Client.TerminateGameSession(ctx, stop))(t)
	push := receive(t, s.Terminated())
	if left := time.Until(time.UnixMilli(push.TerminationTime)); left < time.Minute || left > 6*time.Minute {
		t.Errorf("the server is given %s, want about 5 minutes", left)
	}
	if now := b.game(t, g.GameSessionId); now.Status != types.GameSessionStatusTerminating {
		t.Errorf("the game session is %s", now.Status)
	}
	_, err := b.Client.TerminateGameSession(ctx, stop)
	refused[*types.InvalidGameSessionStatusException](t, err, "terminated already")
	_, err = b.Client.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("p")})
	refused[*types.InvalidGameSessionStatusException](t, err, "TERMINATING")
	if err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	if now := b.game(t, g.GameSessionId); now.Status != types.GameSessionStatusTerminated {
		t.Errorf("the game session is %s", now.Status)
	}
	_, err = b.Client.TerminateGameSession(ctx, stop)
	refused[*types.InvalidGameSessionStatusException](t, err, "over")
}

// A process that does not reconnect in time counts as ended, and its game session ends
// with it.
func TestStatus_ConnectionLostForGood(t *testing.T) {
	t.Parallel()
	b := setupWith(t, func(o *app.Options) { o.Computes.ReconnectGrace = 100 * time.Millisecond })
	s := b.Server(t)
	g := b.active(t, s, 1)
	s.Kill()
	b.events.Code(t, "GAME_SESSION_TERMINATED")
	if now := b.game(t, g.GameSessionId); now.Status != types.GameSessionStatusTerminated {
		t.Errorf("the game session is %s", now.Status)
	}
	if found := fleetEvents(t, b); found[0].EventCode != types.EventCodeServerProcessCrashed {
		t.Errorf("the newest fleet event is %s", found[0].EventCode)
	}
	if _, err := gameserver.Launch(t.Context(), func() gameserver.Options {
		o := b.Options()
		o.ProcessID = s.ID()
		return o
	}()); err == nil {
		t.Error("a process that was given up was let in again")
	}
}

func TestStatus_Unhealthy(t *testing.T) {
	b := setup(t)
	s := b.Server(t, manual)
	for range 3 {
		if err := s.Heartbeat(t.Context(), gameserver.Unhealthy); err != nil {
			t.Fatal(err)
		}
	}
	receive(t, s.Terminated())
	_, err := b.TryCreate(t.Context(), 1)
	refused[*types.FleetCapacityExceededException](t, err, "no free process")
	if found := fleetEvents(t, b); found[0].EventCode != types.EventCodeServerProcessTerminatedUnhealthy {
		t.Errorf("the newest fleet event is %s", found[0].EventCode)
	}
}

// Deleting a fleet ends its game sessions and processes, and then the fleet is gone.
func TestStatus_DeleteFleet(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	s := b.Server(t, manual)
	g := node.Must(b.Create(ctx, 1))(t)
	if err := s.Activate(ctx, *g.GameSessionId); err != nil {
		t.Fatal(err)
	}
	node.Must(b.Client.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: &b.FleetID}))(t)
	receive(t, s.Terminated())
	attributes := node.Must(b.Client.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{b.FleetID}}))(t)
	if got := attributes.FleetAttributes[0].Status; got != types.FleetStatusDeleting {
		t.Errorf("the fleet is %s", got)
	}
	_, err := b.Create(ctx, 1)
	refused[*types.InvalidFleetStatusException](t, err, "DELETING")
	_, err = b.Client.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: &b.FleetID})
	refused[*types.InvalidRequestException](t, err, "Cannot delete fleet "+b.FleetID+" that is in status of DELETING")
	if err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	b.events.Code(t, "FLEET_DELETED")
	attributes = node.Must(b.Client.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{b.FleetID}}))(t)
	if len(attributes.FleetAttributes) != 0 {
		t.Errorf("the deleted fleet is still shown: %v", attributes.FleetAttributes)
	}
	if found := fleetEvents(t, b); found[0].EventCode != types.EventCodeFleetDeleted {
		t.Errorf("the newest event of the deleted fleet is %s", found[0].EventCode)
	}
}

func fleetEvents(t *testing.T, b bundle) []types.Event {
	t.Helper()
	out := node.Must(b.Client.DescribeFleetEvents(t.Context(), &gamelift.DescribeFleetEventsInput{FleetId: &b.FleetID}))(t)
	if len(out.Events) == 0 {
		t.Fatal("the fleet has no events")
	}
	return out.Events
}
