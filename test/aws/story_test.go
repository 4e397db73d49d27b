package aws

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// The central story: a game server starts, a game session is placed on it, a player
// reserves a slot, is validated and leaves, the game session is terminated, and the
// server shuts down.
func TestStory(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	s := b.Server(t, func(o *gameserver.Options) { o.Port = 4321 })
	asked := time.Now()

	g := node.Must(b.Create(ctx, 2, func(in *gamelift.CreateGameSessionInput) {
		in.Name, in.GameSessionData, in.CreatorId = aws.String("friday"), aws.String("{seed: 1}"), aws.String("me")
		in.GameProperties = []types.GameProperty{{Key: aws.String("map"), Value: aws.String("winter")}}
	}))(t)
	if prefix := "arn:aws:gamelift:us-east-1::gamesession/" + b.FleetID + "/" + b.Location + "/gsess-"; !strings.HasPrefix(*g.GameSessionId, prefix) {
		t.Errorf("GameSessionId %s, want %s…", *g.GameSessionId, prefix)
	}
	if g.Status != types.GameSessionStatusActivating || *g.Port != 4321 || *g.IpAddress != "127.0.0.1" || *g.ComputeName != b.ComputeName {
		t.Errorf("created: %+v", *g)
	}
	if d := g.CreationTime.Sub(asked); d < -time.Second || d > time.Minute {
		t.Errorf("CreationTime is %s off", d)
	}
	start := receive(t, s.Started())
	if start.GameSessionID != *g.GameSessionId || start.Name != "friday" || start.MaxPlayers != 2 ||
		start.Data != "{seed: 1}" || start.Properties["map"] != "winter" || start.Port != 4321 {
		t.Errorf("the server was told %+v", start)
	}
	receive(t, s.Activated())
	if now := b.game(t, g.GameSessionId); now.Status != types.GameSessionStatusActive {
		t.Errorf("after activation: %s", now.Status)
	}

	p := b.reserve(t, g, "ana")
	if p.Status != types.PlayerSessionStatusReserved || *p.PlayerId != "ana" || *p.Port != 4321 || *p.IpAddress != "127.0.0.1" ||
		!strings.HasPrefix(*p.PlayerSessionId, "psess-") || *p.FleetId != b.FleetID {
		t.Errorf("reserved: %+v", *p)
	}
	if err := s.Accept(ctx, *g.GameSessionId, *p.PlayerSessionId); err != nil {
		t.Fatal(err)
	}
	if now := b.player(t, p.PlayerSessionId); now.Status != types.PlayerSessionStatusActive {
		t.Errorf("after acceptance: %s", now.Status)
	}
	if now := b.game(t, g.GameSessionId); *now.CurrentPlayerSessionCount != 1 {
		t.Errorf("%d players, want 1", *now.CurrentPlayerSessionCount)
	}
	if err := s.Accept(ctx, *g.GameSessionId, *p.PlayerSessionId); err == nil {
		t.Error("a player session was accepted twice")
	}
	if err := s.Remove(ctx, *g.GameSessionId, *p.PlayerSessionId); err != nil {
		t.Fatal(err)
	}
	if now := b.player(t, p.PlayerSessionId); now.Status != types.PlayerSessionStatusCompleted || now.TerminationTime == nil {
		t.Errorf("after leaving: %s, %v", now.Status, now.TerminationTime)
	}

	stopped := node.Must(b.Client.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{
		GameSessionId: g.GameSessionId, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	}))(t)
	if stopped.GameSession.Status != types.GameSessionStatusTerminating {
		t.Errorf("TerminateGameSession answers %s", stopped.GameSession.Status)
	}
	receive(t, s.Terminated())
	receive(t, s.Done())
	b.events.Code(t, "SERVER_PROCESS_ENDED")
	over := b.game(t, g.GameSessionId)
	if over.Status != types.GameSessionStatusTerminated || over.TerminationTime == nil || over.StatusReason != types.GameSessionStatusReasonTriggeredOnProcessTerminate {
		t.Errorf("at the end: %s %s %v", over.Status, over.StatusReason, over.TerminationTime)
	}
	_, err := b.TryCreate(ctx, 2)
	refused[*types.FleetCapacityExceededException](t, err, "no free process")
}

// A server that loses its connection keeps its game session, and gets no message twice.
func TestStory_Reconnect(t *testing.T) {
	b := setup(t)
	s := b.Server(t)
	g := b.active(t, s, 3)
	p := b.reserve(t, g, "ana")
	for range 3 {
		s.Drop()
		receive(t, s.Returned())
	}
	if err := s.Accept(t.Context(), *g.GameSessionId, *p.PlayerSessionId); err != nil {
		t.Fatal(err)
	}
	if now := b.game(t, g.GameSessionId); now.Status != types.GameSessionStatusActive {
		t.Errorf("the game session is %s", now.Status)
	}
	if hosted := s.Hosted(); len(hosted) != 1 {
		t.Errorf("the server was given %v", hosted)
	}
}
