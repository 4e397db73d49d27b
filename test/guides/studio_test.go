package guides

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// studio is what the guides' commands ask about.
type studio struct {
	place    *node.Place // of the fleet live
	session  string      // id of a game session that is ACTIVE on it
	waiting  string      // id of a placement that waits
	ticket   string      // id of a ticket that waits
	machine  client.Host // build-machine
	operator *client.Client
}

// studio makes on a server what the guides' commands ask about.
func (r *reader) studio(operator *client.Client) *studio {
	r.Helper()
	gl := api(operator)
	s := &studio{place: node.NewPlace(r, gl), waiting: "waiting", ticket: "exported", operator: operator}
	if _, err := gl.UpdateFleetAttributes(r.Context(), &gamelift.UpdateFleetAttributesInput{FleetId: &s.place.FleetID, Name: aws.String("live")}); err != nil {
		r.Fatal(err)
	}
	s.place.Server(r)
	game, err := s.place.Create(r.Context(), 4)
	if err != nil {
		r.Fatal(err)
	}
	r.watches("muster events --follow", "GAME_SESSION_ACTIVATED")
	s.session = (*game.GameSessionId)[len(*game.GameSessionId)-8:]
	if _, err := gl.CreateGameSessionQueue(r.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("everywhere"), TimeoutInSeconds: aws.Int32(600), Destinations: []types.GameSessionQueueDestination{{DestinationArn: &s.place.FleetARN}},
	}); err != nil {
		r.Fatal(err)
	}
	if _, err := gl.StartGameSessionPlacement(r.Context(), &gamelift.StartGameSessionPlacementInput{
		PlacementId: &s.waiting, GameSessionQueueName: aws.String("everywhere"), MaximumPlayerSessionCount: aws.Int32(2),
	}); err != nil {
		r.Fatal(err)
	}
	waitForFive(r.T, gl)
	s.machine = node.Join(r, operator, "build-machine", s.place.Location)
	return s
}
