package aws

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// Outcomes of a request with an access key.
const (
	allowed = "allowed"
	denied  = "denied"  // the key is valid but lacks the permission
	unknown = "unknown" // the key counts as unknown
	hidden  = "hidden"  // allowed, with the ids of player sessions hidden
)

// verdict returns the outcome that an error stands for.
func verdict(err error) string {
	code := errorCode(err)
	if refusal, ok := errors.AsType[*client.Error](err); ok {
		code = refusal.Code
		switch refusal.Status {
		case http.StatusUnauthorized:
			code = "UnrecognizedClientException"
		case http.StatusForbidden:
			code = "AccessDeniedException"
		}
	}
	switch {
	case err == nil:
		return allowed
	case code == "AccessDeniedException":
		return denied
	case code == "UnrecognizedClientException":
		return unknown
	}
	return err.Error()
}

// signed sends a request with a signature for a service; if the server refuses, the
// error is a *client.Error.
func signed(ctx context.Context, c client.Credentials, service, method, url, body string) error {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Amz-Content-Sha256", hash)
	key := aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(ctx, key, r, hash, service, "us-east-1", time.Now()); err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		return err
	}
	if answer.StatusCode < 300 {
		return nil
	}
	refusal := &client.Error{Status: answer.StatusCode, Message: text.String()}
	if strings.Contains(refusal.Message, "InvalidAccessKeyId") { // S3's code for an unknown key
		refusal.Status = http.StatusUnauthorized
	}
	return refusal
}

// TestRoles calls one operation of each class with a key of each role, with keys that
// are no longer valid, and with keys whose scope does not include the resource.
func TestRoles(t *testing.T) {
	k := setupKeyed(t)
	ctx := t.Context()
	game := k.active(t, k.Server(t), 100)
	session := k.reserve(t, game, "ada")
	queue := aws.String("arena")
	node.Must(k.Client.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: queue}))(t)
	player, _ := guest(t, k.app.URL())

	keys := map[string]client.Credentials{}
	for _, role := range []string{"admin", "operator", "game-backend", "game-server", "player-data", "read-only"} {
		keys[role] = k.key(t, client.KeySpec{Role: role})
	}
	elsewhere := client.KeyScope{Resources: []string{"arn:aws:gamelift:*:*:fleet/other"}}
	keys["operator elsewhere"] = k.key(t, client.KeySpec{Role: "operator", Scope: elsewhere})
	keys["read-only elsewhere"] = k.key(t, client.KeySpec{Role: "read-only", Scope: elsewhere})
	keys["read-only of the fleet"] = k.key(t, client.KeySpec{Role: "read-only", Scope: client.KeyScope{Resources: []string{k.FleetARN}}})
	keys["disabled"] = k.key(t, client.KeySpec{Role: "admin"})
	node.Must(k.admin.Keys().Disable(ctx, keys["disabled"].AccessKeyID))(t)
	keys["deleted"] = k.key(t, client.KeySpec{Role: "admin"})
	if err := k.admin.Keys().Delete(ctx, keys["deleted"].AccessKeyID); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(2 * time.Second)
	keys["expired"] = k.key(t, client.KeySpec{Role: "admin", Expires: end})
	select {
	case <-time.After(time.Until(end)):
	case <-ctx.Done():
	}

	made := 0
	next := func(prefix string) *string {
		made++
		return aws.String(fmt.Sprint(prefix, made))
	}
	everybody := "admin, operator, game-backend, read-only"
	for _, call := range []struct {
		class   string
		allowed string // the keys for which it is allowed
		hidden  string // the keys from which ids are hidden
		do      func(c *gamelift.Client, at *client.Client) error
	}{
		{"lists", everybody + ", operator elsewhere, read-only elsewhere, read-only of the fleet", "", func(c *gamelift.Client, _ *client.Client) error {
			return second(c.ListFleets(ctx, &gamelift.ListFleetsInput{}))
		}},
		{"reads one", everybody + ", read-only of the fleet", "", func(c *gamelift.Client, _ *client.Client) error {
			return second(c.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{k.FleetID}}))
		}},
		{"reads a queue", everybody, "", func(c *gamelift.Client, _ *client.Client) error {
			return second(c.DescribeGameSessionQueues(ctx, &gamelift.DescribeGameSessionQueuesInput{Names: []string{*queue}}))
		}},
		{"changes", "admin, operator", "", func(c *gamelift.Client, _ *client.Client) error {
			return second(c.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{FleetId: &k.FleetID, Name: next("fleet")}))
		}},
		{"creates", "admin, operator", "", func(c *gamelift.Client, _ *client.Client) error {
			return second(c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: next("custom-new-")}))
		}},
		{"plays", "admin, operator, game-backend", "", func(c *gamelift.Client, _ *client.Client) error {
			return second(c.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: game.GameSessionId, PlayerId: next("player")}))
		}},
		{"registers a compute", "admin, operator, game-server", "", func(c *gamelift.Client, _ *client.Client) error {
			return second(c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{
				FleetId: &k.FleetID, ComputeName: next("compute"), Location: &k.Location, IpAddress: aws.String("127.0.0.1"),
			}))
		}},
		{"gives access", "admin, operator, game-server", "", func(c *gamelift.Client, _ *client.Client) error {
			return second(c.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: &k.FleetID, ComputeName: &k.ComputeName}))
		}},
		{"connects players", "admin, operator, game-backend", "", func(c *gamelift.Client, _ *client.Client) error {
			return second(c.GetPlayerConnectionDetails(ctx, &gamelift.GetPlayerConnectionDetailsInput{GameSessionId: game.GameSessionId, PlayerIds: []string{"ada"}}))
		}},
		{"sees ids that seat players", "admin, operator, game-backend", "read-only, read-only of the fleet", func(c *gamelift.Client, _ *client.Client) error {
			out, err := c.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{GameSessionId: game.GameSessionId, Limit: aws.Int32(1)})
			if err == nil && *out.PlayerSessions[0].PlayerSessionId != *session.PlayerSessionId {
				return errors.New(hidden)
			}
			return err
		}},
		{"reads events", everybody, "", func(_ *gamelift.Client, at *client.Client) error {
			return at.Events(ctx, client.EventQuery{Last: 1}, func(client.Event) error { return nil })
		}},
		{"reads all fleets at a glance", everybody, "", func(_ *gamelift.Client, at *client.Client) error {
			return second(at.Fleets(ctx))
		}},
		{"sees hosts", everybody, "", func(_ *gamelift.Client, at *client.Client) error {
			return second(at.Hosts().List(ctx))
		}},
		{"lets hosts join", "admin, operator", "", func(_ *gamelift.Client, at *client.Client) error {
			return second(at.CreateJoinToken(ctx, client.JoinTokenInput{Location: k.Location}))
		}},
		{"reads notices", "admin, operator, game-backend", "", func(_ *gamelift.Client, at *client.Client) error {
			return signed(ctx, at.Credentials, "gamelift", http.MethodGet, at.Endpoint+"/notify/recent", "")
		}},
		{"reads files", "admin, operator", "", func(_ *gamelift.Client, at *client.Client) error {
			return signed(ctx, at.Credentials, "s3", http.MethodGet, at.Endpoint+"/muster_scripts?list-type=2", "")
		}},
		{"writes players' data", "admin, operator, game-backend, player-data", "", func(_ *gamelift.Client, at *client.Client) error {
			return signed(ctx, at.Credentials, "gamelift", http.MethodPut, at.Endpoint+"/player/v1/server/players/"+player+"/data/server/skill", `{"mu":25}`)
		}},
		{"reads players' data", "admin, operator, game-backend, player-data", "", func(_ *gamelift.Client, at *client.Client) error {
			return signed(ctx, at.Credentials, "gamelift", http.MethodGet, at.Endpoint+"/player/v1/server/players/"+player+"/data/server/skill", "")
		}},
		{"bans players", "admin, operator, game-backend", "", func(_ *gamelift.Client, at *client.Client) error {
			return signed(ctx, at.Credentials, "gamelift", http.MethodPut, at.Endpoint+"/player/v1/server/players/"+player+"/ban", `{"until":"2000-01-01T00:00:00Z","reason":"cheats"}`)
		}},
		{"sees keys", "admin", "", func(_ *gamelift.Client, at *client.Client) error {
			return second(at.Keys().List(ctx))
		}},
		{"makes keys", "admin", "", func(_ *gamelift.Client, at *client.Client) error {
			return second(at.Keys().Create(ctx, client.KeySpec{Name: *next("key"), Role: "admin"}))
		}},
		{"reads the audit log", "admin", "", func(_ *gamelift.Client, at *client.Client) error {
			return at.AuditLog().Read(ctx, client.AuditQuery{}, func(client.AuditRecord) error { return nil })
		}},
		{"verifies the audit log", "admin", "", func(_ *gamelift.Client, at *client.Client) error {
			_, _, err := at.AuditLog().Verify(ctx)
			return err
		}},
	} {
		has := func(list, who string) bool { return strings.Contains(", "+list+", ", ", "+who+", ") }
		for who, key := range keys {
			want := denied
			switch {
			case who == "disabled" || who == "deleted" || who == "expired":
				want = unknown
			case has(call.allowed, who):
				want = allowed
			case has(call.hidden, who):
				want = hidden
			}
			if got := verdict(call.do(k.as(key), &client.Client{Endpoint: k.app.URL(), Credentials: key})); got != want {
				t.Errorf("%s %s: %s, want %s", who, call.class, got, want)
			}
		}
	}
}

// guest creates a player's account and returns its id and token.
func guest(t *testing.T, url string) (id, token string) {
	t.Helper()
	status, body := fetch(t, http.MethodPost, url+"/player/v1/auth/guest", "", `{}`)
	var login struct {
		ID    string `json:"player_id"`
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(body), &login); err != nil || login.ID == "" {
		t.Fatalf("a guest is answered with %d %s, %v", status, body, err)
	}
	return login.ID, login.Token
}
