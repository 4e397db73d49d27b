package guides

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestNotifications types the commands of the guide: a placement's notice comes to the URL, and
// is among the last five.
func TestNotifications(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	r := newReader(t, "notifications")
	url, bodies := received(t)
	r.puts("http://127.0.0.1:9999", url)
	r.follow(
		step{"bin/muster local --notify-url", func(text string) {
			local := r.runs(text, "--demo=false --listen 127.0.0.1:0 --log-level warn --data data")
			r.puts("http://127.0.0.1:9080", local.URL)
			placed(t, node.Client(local.URL))
			if got := until(t, bodies, "PlacementCancelled"); !strings.HasPrefix(got, "/hook\n") || !strings.Contains(got, `"aws.gamelift"`) {
				t.Errorf("what is sent: %s", got)
			}
		}},
		r.types("curl 'http://127.0.0.1:9080/notify/recent", "PlacementCancelled", `"source"`),
	)
}

// placed starts a placement and cancels it.
func placed(t *testing.T, gl *gamelift.Client) {
	t.Helper()
	place := node.NewPlace(t, gl)
	if _, err := gl.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("duels"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: &place.FleetARN}},
		NotificationTarget: aws.String("arn:aws:sns:us-east-1:000000000000:matches"),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := gl.StartGameSessionPlacement(t.Context(), &gamelift.StartGameSessionPlacementInput{
		PlacementId: aws.String("one"), GameSessionQueueName: aws.String("duels"), MaximumPlayerSessionCount: aws.Int32(2),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := gl.StopGameSessionPlacement(t.Context(), &gamelift.StopGameSessionPlacementInput{PlacementId: aws.String("one")}); err != nil {
		t.Fatal(err)
	}
}

// TestNotifications_Sinks starts a server with the sinks of the guide: the webhook gets the notice, and
// the endpoint of SNS is asked to confirm.
func TestNotifications_Sinks(t *testing.T) {
	t.Parallel()
	r := newReader(t, "notifications")
	url, bodies := received(t)
	r.write("sinks.yaml", strings.ReplaceAll(document.Find(t, r.guide, "yaml", "- name: backend").Text, "https://game.example", url))
	_, operator := r.serve("data", "--sinks", filepath.Join(r.dir, "sinks.yaml"))
	until(t, bodies, "SubscriptionConfirmation")
	placed(t, api(operator))
	if got := until(t, bodies, "PlacementCancelled"); !strings.HasPrefix(got, "/hooks/muster\n") {
		t.Errorf("what is sent: %s", got)
	}
	r.prints("muster webhooks", "backend", "matchmaking")
}
