package aws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// What the API's documentation demands beyond its model is refused with
// InvalidRequestException, and changes nothing.
func TestDocumented_Refusals(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	b.queue(t)
	tickets := strings.Split("abcdefghijk", "")
	refuse[*types.InvalidRequestException](t, b, []refusal{
		{"a rule set without a name", func() error {
			_, err := c.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String(""), RuleSetBody: aws.String(duel)})
			return err
		}, "'name'"},
		{"a configuration without a name", func() error {
			_, err := c.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
				Name: aws.String(""), RuleSetName: aws.String("none"), AcceptanceRequired: aws.Bool(false), RequestTimeoutSeconds: aws.Int32(60),
			})
			return err
		}, "'name'"},
		{"a desired player without an id", func() error {
			_, err := c.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
				PlacementId: aws.String("p"), GameSessionQueueName: aws.String("q"), MaximumPlayerSessionCount: aws.Int32(2),
				DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerData: aws.String("x")}},
			})
			return err
		}, "'desiredPlayerSessions.1.member.playerId'"},
		{"eleven tickets", func() error {
			_, err := c.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: tickets})
			return err
		}, "less than or equal to 10"},
		{"nobody accepts", func() error {
			_, err := c.AcceptMatch(ctx, &gamelift.AcceptMatchInput{TicketId: aws.String("a"), PlayerIds: []string{}, AcceptanceType: types.AcceptanceTypeAccept})
			return err
		}, "'playerIds'"},
		{"a stored build without a role", func() error {
			_, err := c.CreateBuild(ctx, &gamelift.CreateBuildInput{
				OperatingSystem: types.OperatingSystemAmazonLinux2023, StorageLocation: &types.S3Location{Bucket: aws.String("b"), Key: aws.String("k")},
			})
			return err
		}, "'storageLocation.roleArn'"},
		{"a compute with a name only", func() error {
			_, err := c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &b.FleetID, ComputeName: aws.String("new"), Location: &b.Location, DnsName: aws.String("host.test")})
			return err
		}, "IpAddress"},
		{"a compute with half an address", func() error {
			_, err := c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &b.FleetID, ComputeName: aws.String("new"), Location: &b.Location, IpAddress: aws.String("1.2.3")})
			return err
		}, "1.2.3"},
	})
	for _, timeout := range []int32{1, 9, 601, 100_000} {
		refuse[*types.InvalidRequestException](t, b, []refusal{
			{fmt.Sprintf("create a queue with a timeout of %d s", timeout), func() error {
				_, err := c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: aws.String("new"), TimeoutInSeconds: &timeout})
				return err
			}, "TimeoutInSeconds"},
			{fmt.Sprintf("update a queue with a timeout of %d s", timeout), func() error {
				_, err := c.UpdateGameSessionQueue(ctx, &gamelift.UpdateGameSessionQueueInput{Name: aws.String("q"), TimeoutInSeconds: &timeout})
				return err
			}, "TimeoutInSeconds"},
		})
	}
}

// What Terraform sends for a member that is not set is taken as none, and read
// back as such, so that its next plan is empty.
func TestDocumented_NotSet(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	for name, given := range map[string]*int32{"absent": nil, "zero": aws.Int32(0), "shortest": aws.Int32(10), "longest": aws.Int32(600)} {
		q := must(c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: &name, TimeoutInSeconds: given}))(t).GameSessionQueue
		if q.TimeoutInSeconds == nil || *q.TimeoutInSeconds != aws.ToInt32(given) {
			t.Errorf("%s: the queue shows a timeout of %v", name, q.TimeoutInSeconds)
		}
	}
	q := must(c.UpdateGameSessionQueue(ctx, &gamelift.UpdateGameSessionQueueInput{Name: aws.String("longest"), TimeoutInSeconds: aws.Int32(0)}))(t)
	if *q.GameSessionQueue.TimeoutInSeconds != 0 {
		t.Errorf("a timeout that was taken back shows as %d", *q.GameSessionQueue.TimeoutInSeconds)
	}

	a := must(c.CreateAlias(ctx, &gamelift.CreateAliasInput{
		Name: aws.String("a"), Description: aws.String("d"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal, Message: aws.String("m")},
	}))(t).Alias
	for _, description := range []string{"", "again", ""} {
		got := must(c.UpdateAlias(ctx, &gamelift.UpdateAliasInput{AliasId: a.AliasId, Name: aws.String("b"), Description: &description}))(t).Alias
		if aws.ToString(got.Description) != description || *got.Name != "b" {
			t.Errorf("the alias is %s with description %q, want %q", *got.Name, aws.ToString(got.Description), description)
		}
		must(c.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{FleetId: &b.FleetID, Name: aws.String("b"), Description: &description}))(t)
		f := must(c.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{b.FleetID}}))(t).FleetAttributes[0]
		if aws.ToString(f.Description) != description || *f.Name != "b" {
			t.Errorf("the fleet is %s with description %q, want %q", *f.Name, aws.ToString(f.Description), description)
		}
	}
}
