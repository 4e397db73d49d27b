package players

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// A game session is shown to players who have a slot in it, or had one until it
// ended; for others it does not exist. The operator's data for the game server is
// shown to nobody.
func TestSession_ToldToItsPlayersAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	server := s.server()
	g, err := s.place.Create(t.Context(), 2, func(in *gamelift.CreateGameSessionInput) {
		in.GameProperties = []types.GameProperty{{Key: aws.String("seed"), Value: aws.String("secret")}}
	})
	s.must(err)
	<-server.Activated()
	anna, eve := s.guest(), s.guest()
	region, rest, _ := strings.Cut(strings.TrimPrefix(*g.GameSessionId, "arn:aws:gamelift:"), "::gamesession/")
	name := region + ":" + strings.ReplaceAll(rest, "/", ":") // as docs/players.md says
	path := "/sessions/" + name
	anna.refused("GET", path, nil, 404, "not-found")
	_, err = s.aws.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: &anna.login.PlayerID})
	s.must(err)

	var got protocol.GameSession
	anna.call("GET", path, nil, 200, &got)
	if got.SessionID != name {
		t.Errorf("the session %s is named %s", *g.GameSessionId, got.SessionID)
	}
	if got.Status != protocol.GameSessionStatusActive || got.Players != 1 || got.MaxPlayers != 2 || !got.AcceptsPlayers || got.Location != s.place.Location {
		t.Errorf("got %+v", got)
	}
	if got.Pool != "" || len(got.Properties) != 0 {
		t.Errorf("a player is told what is not for players: %+v", got)
	}
	eve.refused("GET", path, nil, 404, "not-found")
	(&client{stage: s}).refused("GET", path, nil, 401, "token-missing")
	anna.refused("GET", "/sessions/YXJuOmF3czpub25l", nil, 404, "not-found")
	anna.refused("GET", "/sessions/!", nil, 404, "not-found")

	s.must(server.SetPolicy(t.Context(), *g.GameSessionId, "DENY_ALL"))
	anna.call("GET", path, nil, 200, &got)
	if got.AcceptsPlayers {
		t.Error("a closed game session is told to take players")
	}
	s.must(server.End(t.Context()))
	anna.call("GET", path, nil, 200, &got)
	if got.Status != protocol.GameSessionStatusTerminated || got.EndedAt.IsZero() || got.Players != 0 {
		t.Errorf("after its end: %+v", got)
	}
	eve.refused("GET", path, nil, 404, "not-found")
}
