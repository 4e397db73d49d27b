package conformance

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/shape"
	"github.com/musterhq/muster/test/node"
)

// world is a Muster with a resource of each kind, so that requests reach the rules of
// the domain and not only those of the wire.
type world struct {
	app   *app.App
	value map[string]any // a valid value, by member name
	arns  []any          // of resources of several kinds
}

const ruleSet = `{"name":"r","ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":1}],` +
	`"teams":[{"name":"red","minPlayers":1,"maxPlayers":4}]}`

// newWorld starts a Muster and fills it.
func newWorld(t testing.TB, change func(*app.Options)) *world {
	t.Helper()
	type in = map[string]any
	a := node.InProcess(t, change)
	w := &world{app: a}
	p := node.NewPlace(t, node.Client(a.URL()))
	server := p.Server(t)
	game := node.Must(p.Create(t.Context(), 4))(t)
	<-server.Activated()
	p.Server(t)
	player := w.must(t, "CreatePlayerSession", in{"GameSessionId": *game.GameSessionId, "PlayerId": "ana"}, "PlayerSession", "PlayerSessionId")
	alias := w.must(t, "CreateAlias", in{"Name": "a", "RoutingStrategy": in{"Type": "SIMPLE", "FleetId": p.FleetID}}, "Alias", "AliasId")
	build := w.readyBuild(t)
	managed := w.must(t, "CreateFleet", in{
		"Name": "m", "BuildId": build, "EC2InstanceType": "c5.large",
		"RuntimeConfiguration": in{"ServerProcesses": []any{in{"LaunchPath": "/local/game/s", "ConcurrentExecutions": 1}}},
	}, "FleetAttributes", "FleetId")
	script := w.must(t, "CreateScript", in{"Name": "s", "ZipFile": archive(t)}, "Script", "ScriptId")
	queue := w.must(t, "CreateGameSessionQueue", in{"Name": "queue", "Destinations": []any{in{"DestinationArn": p.FleetARN}}}, "GameSessionQueue", "GameSessionQueueArn")
	w.must(t, "CreateMatchmakingRuleSet", in{"Name": "rules", "RuleSetBody": ruleSet}, "RuleSet", "RuleSetArn")
	configuration := w.must(t, "CreateMatchmakingConfiguration", in{
		"Name": "match", "RuleSetName": "rules", "AcceptanceRequired": false, "RequestTimeoutSeconds": 600, "GameSessionQueueArns": []any{queue},
	}, "Configuration", "ConfigurationArn")
	ticket := w.must(t, "StartMatchmaking", in{"ConfigurationName": "match", "Players": []any{in{"PlayerId": "ben"}}}, "MatchmakingTicket", "TicketId")
	placement := w.must(t, "StartGameSessionPlacement", in{
		"PlacementId": "placement-1", "GameSessionQueueName": "queue", "MaximumPlayerSessionCount": 2,
	}, "GameSessionPlacement", "PlacementId")
	machine := node.Join(t, &client.Client{Endpoint: a.URL(), Credentials: client.Credentials{AccessKeyID: "AKIDANY", SecretAccessKey: "secret"}}, "machine", "us-east-1")
	types := []any{in{"InstanceType": "c5.large"}, in{"InstanceType": "c5.xlarge"}}
	group := w.must(t, "CreateGameServerGroup", in{
		"GameServerGroupName": "group", "RoleArn": "arn:aws:iam::1:role/r", "MinSize": 0, "MaxSize": 2,
		"LaunchTemplate": in{"LaunchTemplateName": "template"}, "InstanceDefinitions": types,
	}, "GameServerGroup", "GameServerGroupArn")
	for _, id := range []string{"server-1", "server-2"} {
		w.must(t, "RegisterGameServer", in{"GameServerGroupName": "group", "GameServerId": id, "InstanceId": machine.InstanceID}, "GameServer")
	}
	w.arns = []any{group, p.FleetARN, queue, configuration, *game.GameSessionId, "arn:aws:gamelift:us-east-1::" + alias.(string), "arn:aws:gamelift:*:*:fleet/*"}
	w.value = in{
		"FleetId": p.FleetID, "AliasId": alias, "BuildId": build, "ScriptId": script, "Location": p.Location, "LocationName": "custom-more",
		"LocationFilter": "AWS", "ComputeName": p.ComputeName, "ComputeType": "ANYWHERE", "GameSessionId": *game.GameSessionId,
		"GameSessionArn": *game.GameSessionId, "PlayerSessionId": player, "PlayerId": "eve", "PlayerIds": []any{"eve"},
		"PlacementId": placement, "GameSessionQueueName": "queue", "TicketId": ticket, "TicketIds": []any{ticket},
		"ConfigurationName": "match", "MatchmakingConfigurationArn": configuration, "RuleSetName": "rules", "RuleSetBody": ruleSet,
		"ResourceARN": p.FleetARN, "TagKeys": []any{"k"}, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE", "AcceptanceType": "ACCEPT",
		"OperatingSystem": "AMAZON_LINUX_2023", "EC2InstanceType": "c5.large", "MaximumPlayerSessionCount": 2, "FleetIds": []any{p.FleetID, managed},
		"DestinationArn": p.FleetARN, "GameSessionQueueArns": []any{queue}, "ZipFile": archive(t), "IpAddress": "127.0.0.1", "Limit": 10,
		"FilterExpression": "playerSessionCount>=0", "SortExpression": "creationTimeMillis ASC", "Attributes": []any{"ALL"},
		"MetricName": "PercentAvailableGameSessions", "PolicyType": "TargetBased", "TargetConfiguration": in{"TargetValue": 50.0},
		"ScalingAdjustmentType": "ChangeInCapacity", "ComparisonOperator": "LessThanThreshold", "PlayerSessionCreationPolicy": "ACCEPT_ALL",
		"RequestTimeoutSeconds": 60, "AcceptanceTimeoutSeconds": 60, "TimeoutInSeconds": 60, "MinSize": 0, "MaxSize": 2, "DesiredInstances": 1,
		"GameServerGroupName": "group", "GameServerId": "server-1", "InstanceIds": []any{machine.InstanceID}, "InstanceDefinitions": types,
		"LaunchTemplate": in{"LaunchTemplateName": "template"}, "UtilizationStatus": "UTILIZED", "InstanceStatuses": []any{"ACTIVE"},
		"StorageLocation": in{"Bucket": "b", "Key": "k", "RoleArn": "arn:aws:iam::1:role/r"}, "Actions": []any{"AUTO_SCALING"},
	}
	return w
}

// must makes a request that has to succeed, and returns the value at path in the
// answer.
func (w *world) must(t testing.TB, operation string, in map[string]any, path ...string) any {
	t.Helper()
	answer := protocols[0].call(t, w.app.URL(), operation, in)
	var out any
	if err := json.Unmarshal(answer.body, &out); err != nil || answer.status != 200 {
		t.Fatalf("%s: %d %s", operation, answer.status, answer.body)
	}
	for _, name := range path {
		out = out.(map[string]any)[name]
	}
	return out
}

// readyBuild uploads an archive as a build. Fleets of the build can be created before
// the archive has been read completely, so it does not wait.
func (w *world) readyBuild(t testing.TB) any {
	t.Helper()
	type in = map[string]any
	for _, object := range []struct {
		path string
		body []byte
	}{{"/builds", nil}, {"/builds/b.zip", archive(t)}} {
		put(t, w.app.URL()+object.path, object.body)
	}
	id := w.must(t, "CreateBuild", in{"OperatingSystem": "AMAZON_LINUX_2023", "StorageLocation": in{"Bucket": "builds", "Key": "b.zip", "RoleArn": "arn:aws:iam::1:role/r"}}, "Build", "BuildId")
	for w.must(t, "DescribeBuild", in{"BuildId": id}, "Build", "Status") == "INITIALIZED" {
		if t.Context().Err() != nil {
			t.Fatal("the build was not read")
		}
	}
	return id
}

// put sends an object as S3 clients do; the signature is not checked here.
func put(t testing.TB, url string, body []byte) {
	t.Helper()
	r := node.Must(http.NewRequestWithContext(t.Context(), http.MethodPut, url, bytes.NewReader(body)))(t)
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=ANY/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0")
	if answer := do(t, r); answer.status != http.StatusOK {
		t.Fatalf("PUT %s: %d %s", url, answer.status, answer.body)
	}
}

func archive(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	f, err := z.Create("s")
	if err == nil {
		_, err = io.WriteString(f, "#!/bin/sh\n")
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// plausible returns an input that passes the rules of the wire and names resources of
// the world.
func (w *world) plausible(g generator, members []shape.Member, depth int) map[string]any {
	in := map[string]any{}
	for _, m := range members {
		if m.Required || w.value[m.Name] != nil && depth > 0 {
			in[m.Name] = w.fitting(g, m, depth)
		}
	}
	return in
}

func (w *world) fitting(g generator, m shape.Member, depth int) any {
	v, ok := w.value[m.Name]
	switch {
	case ok:
		return v
	case m.Type.Kind == shape.Struct && depth > 0:
		return w.plausible(g, g.api.Structures[m.Type.Ref], depth-1)
	case m.Type.Kind == shape.List && m.Type.Elem.Kind == shape.Struct && depth > 0:
		return []any{w.plausible(g, g.api.Structures[m.Type.Elem.Ref], depth-1)}
	}
	return g.sample(m.Type)
}
