package aws

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// bundle is a Muster with a place that can host games.
type bundle struct {
	*node.Place
	app    *app.App
	events *node.Events
}

func setup(t *testing.T) bundle {
	t.Helper()
	t.Parallel()
	return setupWith(t, nil)
}

func setupWith(t *testing.T, change func(*app.Options)) bundle {
	t.Helper()
	a := node.InProcess(t, func(o *app.Options) {
		o.Audit.Level = audit.Off // records of refusals would change the state
		if change != nil {
			change(o)
		}
	})
	return bundle{Place: node.NewPlace(t, node.Client(a.URL())), app: a, events: node.Follow(t, a.URL())}
}

// active creates a game session and waits until its server has activated it.
func (b bundle) active(t *testing.T, s *gameserver.Process, players int32, change ...func(*gamelift.CreateGameSessionInput)) *types.GameSession {
	t.Helper()
	g, err := b.Create(t.Context(), players, change...)
	if err != nil {
		t.Fatal(err)
	}
	if got := receive(t, s.Activated()); got != *g.GameSessionId {
		t.Fatalf("the server activated %s, want %s", got, *g.GameSessionId)
	}
	return g
}

// game returns the current state of a game session.
func (b bundle) game(t *testing.T, id *string) types.GameSession {
	t.Helper()
	out := node.Must(b.Client.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: id}))(t)
	if len(out.GameSessions) != 1 {
		t.Fatalf("%d game sessions have the id %s", len(out.GameSessions), *id)
	}
	return out.GameSessions[0]
}

// player returns the current state of a player session.
func (b bundle) player(t *testing.T, id *string) types.PlayerSession {
	t.Helper()
	out := node.Must(b.Client.DescribePlayerSessions(t.Context(), &gamelift.DescribePlayerSessionsInput{PlayerSessionId: id}))(t)
	if len(out.PlayerSessions) != 1 {
		t.Fatalf("%d player sessions have the id %s", len(out.PlayerSessions), *id)
	}
	return out.PlayerSessions[0]
}

// reserve creates a player session.
func (b bundle) reserve(t *testing.T, g *types.GameSession, player string) *types.PlayerSession {
	t.Helper()
	return node.Must(b.Client.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{
		GameSessionId: g.GameSessionId, PlayerId: &player,
	}))(t).PlayerSession
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

// refused fails the test unless err is the typed exception E with what in its message.
// As in AWS, members begin in lower case in a message about their own constraints,
// otherwise in upper case.
func refused[E error](t *testing.T, err error, what string) {
	t.Helper()
	var want E
	switch {
	case err == nil:
		t.Errorf("no error, want %T with %q", want, what)
	case !errors.As(err, &want):
		t.Errorf("error %v, want %T", err, want)
	case !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(what)):
		t.Errorf("error %v lacks %q", err, what)
	}
}

// receive returns the next value of a channel, and ends the test if that takes more
// than a minute.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		var none T
		t.Fatalf("no %T after a minute", none)
		return none
	}
}
