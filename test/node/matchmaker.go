package node

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// Matchmaker creates a rule set and a matchmaking configuration of it, both with a name: standalone,
// without acceptance, and with a timeout of ten minutes, unless it is changed.
func Matchmaker(t testing.TB, c *gamelift.Client, name, rules string, change ...func(*gamelift.CreateMatchmakingConfigurationInput)) {
	t.Helper()
	if _, err := c.CreateMatchmakingRuleSet(t.Context(), &gamelift.CreateMatchmakingRuleSetInput{Name: &name, RuleSetBody: &rules}); err != nil {
		t.Fatal(err)
	}
	in := &gamelift.CreateMatchmakingConfigurationInput{
		Name: &name, RuleSetName: &name, FlexMatchMode: types.FlexMatchModeStandalone, RequestTimeoutSeconds: aws.Int32(600), AcceptanceRequired: aws.Bool(false),
	}
	for _, f := range change {
		f(in)
	}
	if _, err := c.CreateMatchmakingConfiguration(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}
