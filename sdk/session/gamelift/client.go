// Package gamelift implements package session with the Amazon GameLift API
// (2015-10-01) and AWS's own SDK: for callers with operator keys, such as a game's
// backend, tools and tests. It uses documented operations and members only, so it
// works against Amazon GameLift and against Muster; only the endpoint differs.
//
//	client, err := gamelift.New(ctx, gamelift.Config{Endpoint: "http://127.0.0.1:9080", …})
//	for info, err := range client.Search(ctx, session.SearchRequest{Target: …}) { … }
//
// Operator keys must not be shipped with a game: its clients talk to a backend.
package gamelift

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/internal/joining"
)

// Config says which service to call and with which credentials.
type Config struct {
	// Region is a region name such as "us-west-2". If it is "", the region of AWS or
	// of the environment (AWS_REGION) is used; with an Endpoint the last resort is
	// "us-east-1", which then matters for signatures only.
	Region string
	// Endpoint is the base URL of the service, such as "http://127.0.0.1:9080". If it
	// is "", AWS_ENDPOINT_URL_GAMELIFT or else Amazon's endpoint is used.
	Endpoint string
	// Credentials sign requests; nil uses AWS's default chain (environment, profile,
	// role).
	Credentials aws.CredentialsProvider
	// Anonymous sends unsigned requests, for development servers that accept them.
	Anonymous bool
	// AWS, if set, is used instead of the environment's and profile's settings.
	AWS *aws.Config
	// Connector is the game's netcode, for Join and Leave; nil only reserves.
	Connector session.Connector
	// Logger receives warnings about calls that will be retried; nil discards them.
	Logger *slog.Logger
	// OnSDK functions may change the SDK's options, after all other settings.
	OnSDK []func(*gamelift.Options)
}

// Client implements session.Sessions and session.Matchmaking.
type Client struct {
	api  *gamelift.Client
	log  *slog.Logger
	seat joining.Seat
}

var (
	_ session.Sessions    = (*Client)(nil)
	_ session.Matchmaking = (*Client)(nil)
)

// New returns a client. It sends nothing, except that the default credential chain
// may look up the machine's role. Errors: ErrInvalid without a region; others if the
// AWS settings cannot be read.
func New(ctx context.Context, c Config) (*Client, error) {
	settings, err := c.settings(ctx)
	if err != nil {
		return nil, err
	}
	if settings.Region == "" {
		return nil, fmt.Errorf("%w: Region is required", session.ErrInvalid)
	}
	return &Client{
		api: gamelift.NewFromConfig(settings, c.OnSDK...), log: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), seat: joining.Seat{Connector: c.Connector},
	}, nil
}

func (c Config) settings(ctx context.Context) (aws.Config, error) {
	var settings aws.Config
	if c.AWS != nil {
		settings = c.AWS.Copy()
	} else {
		var err error
		if settings, err = config.LoadDefaultConfig(ctx); err != nil {
			return aws.Config{}, fmt.Errorf("read the AWS settings: %w", err)
		}
	}
	settings.Region = cmp.Or(c.Region, settings.Region)
	if c.Endpoint != "" {
		settings.BaseEndpoint = &c.Endpoint
		settings.Region = cmp.Or(settings.Region, "us-east-1")
	}
	if c.Credentials != nil {
		settings.Credentials = c.Credentials
	}
	if c.Anonymous {
		settings.Credentials = aws.AnonymousCredentials{}
	}
	return settings, nil
}

// Ping makes a cheap call (ListLocations) to learn whether the endpoint answers and
// accepts the credentials.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.api.ListLocations(ctx, &gamelift.ListLocationsInput{Limit: aws.Int32(1)})
	return wrap("ping", err)
}
