package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"

	"github.com/musterhq/muster/test/gameserver"
)

// Place is where a test's game servers run: a custom location, an Anywhere fleet
// in it, and one compute.
type Place struct {
	Client                      *gamelift.Client
	Location, FleetID, FleetARN string
	ComputeName                 string
	Endpoint, Token             string // for game servers
}

// NewPlace creates a location with a unique name, a fleet in it and a compute.
func NewPlace(t testing.TB, c *gamelift.Client) *Place {
	t.Helper()
	p, err := MakePlace(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// MakePlace is like NewPlace but returns an error, for goroutines that must not end the
// test.
func MakePlace(ctx context.Context, c *gamelift.Client) (*Place, error) {
	p := &Place{Client: c, Location: "custom-" + uuid.NewString(), ComputeName: "host-1"}
	if _, err := c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: &p.Location}); err != nil {
		return nil, err
	}
	fleet, err := c.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("fleet in " + p.Location), ComputeType: types.ComputeTypeAnywhere,
		Locations:             []types.LocationConfiguration{{Location: &p.Location}},
		AnywhereConfiguration: &types.AnywhereConfiguration{Cost: aws.String("1")},
	})
	if err != nil {
		return nil, err
	}
	p.FleetID, p.FleetARN = *fleet.FleetAttributes.FleetId, *fleet.FleetAttributes.FleetArn
	return p, p.join(ctx)
}

// Beside returns a place on another compute of the same fleet, which it registers.
func (p *Place) Beside(ctx context.Context, computeName string) (*Place, error) {
	other := *p
	other.ComputeName = computeName
	return &other, other.join(ctx)
}

// join registers the compute and gets its token.
func (p *Place) join(ctx context.Context) error {
	compute, err := p.Client.RegisterCompute(ctx, &gamelift.RegisterComputeInput{
		FleetId: &p.FleetID, ComputeName: &p.ComputeName, Location: &p.Location, IpAddress: aws.String("127.0.0.1"),
	})
	if err != nil {
		return err
	}
	p.Endpoint = *compute.Compute.GameLiftServiceSdkEndpoint
	token, err := p.Client.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: &p.FleetID, ComputeName: &p.ComputeName})
	if err != nil {
		return err
	}
	p.Token = *token.AuthToken
	return nil
}

// Options returns the options of a game server at this place.
func (p *Place) Options() gameserver.Options {
	return gameserver.Options{Endpoint: p.Endpoint, Token: p.Token, FleetID: p.FleetID, ComputeName: p.ComputeName}
}

// Server starts a game server that is ready for a game session; it is killed at the end
// of the test.
func (p *Place) Server(t testing.TB, change ...func(*gameserver.Options)) *gameserver.Process {
	t.Helper()
	o := p.Options()
	for _, f := range change {
		f(&o)
	}
	s, err := gameserver.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// Create creates a game session here. A process that has just become ready counts as
// free only a moment after its first heartbeat, so Create retries while no process is
// free, for a minute at most.
func (p *Place) Create(ctx context.Context, players int32, change ...func(*gamelift.CreateGameSessionInput)) (*types.GameSession, error) {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(time.Minute); ; <-again.C {
		g, err := p.TryCreate(ctx, players, change...)
		if _, full := errors.AsType[*types.FleetCapacityExceededException](err); !full || time.Now().After(end) {
			return g, err
		}
	}
}

// TryCreate creates a game session here, if a process is free now.
func (p *Place) TryCreate(ctx context.Context, players int32, change ...func(*gamelift.CreateGameSessionInput)) (*types.GameSession, error) {
	in := &gamelift.CreateGameSessionInput{FleetId: &p.FleetID, MaximumPlayerSessionCount: &players}
	if p.Location != "" { // else the home region
		in.Location = &p.Location
	}
	for _, f := range change {
		f(in)
	}
	out, err := p.Client.CreateGameSession(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.GameSession, nil
}
