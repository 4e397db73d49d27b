package conformance

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

type in = map[string]any

// refusal is a request that is refused by a rule which is not in the API's description.
type refusal struct {
	operation string
	in        in
	code      string // an exception that the operation models
	says      string // a part of the text
}

// Each refusal of the domain has the exception that AWS documents and a text about the member
// and the rule, in both protocols, and changes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, refusals := range map[string]func(*testing.T, *world, *node.Place) []refusal{
		"fleets": fleetRefusals, "sessions": sessionRefusals, "queues": queueRefusals, "placements": placementRefusals,
		"matchmaking": matchmakingRefusals, "groups": groupRefusals, "containers": containerRefusals, "resources": resourceRefusals,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{app: node.InProcess(t, unaudited)}
			for _, r := range refusals(t, w, node.NewPlace(t, node.Client(w.app.URL()))) {
				before := state(t, w.app)
				for _, p := range protocols {
					answer := p.call(t, w.app.URL(), r.operation, r.in)
					if err := p.envelope(answer, r.code, r.says, true); answer.status != 400 || err != nil {
						t.Errorf("%s, %s %v: status %d, %v", p.name, r.operation, r.in, answer.status, err)
					}
				}
				if state(t, w.app) != before {
					t.Errorf("%s %v was refused and changed the state", r.operation, r.in)
				}
			}
		})
	}
}

// nowhere and nobody are a location and a fleet that do not exist.
const nowhere, nobody = "custom-nowhere", "fleet-00000000-0000-0000-0000-000000000000"

// at returns an input's list of locations.
func at(locations ...string) (all []any) {
	for _, l := range locations {
		all = append(all, in{"Location": l})
	}
	return all
}

// with returns an input with other members, and without those that are nil.
func with(input, change in) in {
	input = maps.Clone(input)
	for name, value := range change {
		if input[name] = value; value == nil {
			delete(input, name)
		}
	}
	return input
}

// twice has the same key twice.
var twice = []any{in{"Key": "a", "Value": "1"}, in{"Key": "a", "Value": "2"}}

func fleetRefusals(_ *testing.T, _ *world, p *node.Place) []refusal {
	fleet, here := p.FleetID, p.Location
	all := []refusal{
		{"CreateLocation", in{"LocationName": here}, "ConflictException", here},
		{"CreateLocation", in{"LocationName": nowhere, "Tags": twice}, "TaggingFailedException", `"a"`},
		{"DeleteLocation", in{"LocationName": here}, "InvalidRequestException", fleet},
		{"DeleteLocation", in{"LocationName": nowhere}, "NotFoundException", nowhere},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE"}, "InvalidRequestException", "Locations"},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE", "Locations": at(nowhere)}, "InvalidRequestException", nowhere},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE", "Locations": at("us-west-2")}, "InvalidRequestException", "us-west-2"},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE", "Locations": at(here, here)}, "InvalidRequestException", "Locations.2"},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE", "Locations": at(here), "EC2InstanceType": "c5.large"}, "InvalidRequestException", "EC2InstanceType"},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE", "Locations": at(here), "PlayerGatewayMode": "REQUIRED"}, "InvalidRequestException", "PlayerGatewayMode"},
		{"CreateFleetLocations", in{"FleetId": fleet, "Locations": at(nowhere)}, "InvalidRequestException", nowhere},
		{"CreateFleetLocations", in{"FleetId": fleet, "Locations": at(here)}, "InvalidRequestException", "Locations.1.Location"},
		{"DeleteFleetLocations", in{"FleetId": fleet, "Locations": []any{"us-east-1"}}, "InvalidRequestException", "us-east-1"},
		{"DeleteFleetLocations", in{"FleetId": fleet, "Locations": []any{nowhere}}, "InvalidRequestException", nowhere},
		{"UpdateFleetAttributes", in{"FleetId": nobody, "Name": "n"}, "NotFoundException", nobody},
		{"DeleteFleet", in{"FleetId": nobody}, "NotFoundException", nobody},
		{"DescribeFleetPortSettings", in{"FleetId": nobody}, "NotFoundException", nobody},
		{"UpdateRuntimeConfiguration", in{"FleetId": fleet, "RuntimeConfiguration": in{"ServerProcesses": []any{in{"LaunchPath": "/local/game/s", "ConcurrentExecutions": 51}}}}, "InvalidRequestException", "ConcurrentExecutions"},
		{"CreateAlias", in{"Name": "a", "RoutingStrategy": in{"Type": "SIMPLE", "FleetId": nobody}}, "InvalidRequestException", nobody},
		{"CreateAlias", in{"Name": "a", "RoutingStrategy": in{"Type": "SIMPLE"}}, "InvalidRequestException", "FleetId"},
		{"CreateAlias", in{"Name": "a", "RoutingStrategy": in{"Type": "TERMINAL"}}, "InvalidRequestException", "Message"},
		{"UpdateAlias", in{"AliasId": "alias-1", "Name": "b"}, "NotFoundException", "alias-1"},
		{"DeleteAlias", in{"AliasId": "alias-1"}, "NotFoundException", "alias-1"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "host-1", "Location": here, "IpAddress": "0.0.0.0"}, "InvalidRequestException", "IpAddress: 0.0.0.0"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "new", "IpAddress": "127.0.0.1"}, "InvalidRequestException", "Location"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "new", "Location": here}, "InvalidRequestException", "IpAddress"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "new", "Location": here, "DnsName": "host.test"}, "InvalidRequestException", "IpAddress"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "new", "Location": here, "IpAddress": "1.2.3"}, "InvalidRequestException", "1.2.3"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "new", "Location": nowhere, "IpAddress": "127.0.0.1"}, "InvalidRequestException", nowhere},
		{"DeregisterCompute", in{"FleetId": fleet, "ComputeName": "absent"}, "NotFoundException", "absent"},
		{"GetComputeAccess", in{"FleetId": fleet, "ComputeName": p.ComputeName}, "InvalidRequestException", "machine of your own"},
	}
	// An ARN with another Region or account names no resource of this server.
	for _, other := range []string{"arn:aws:gamelift:eu-west-1:000000000000:fleet/", "arn:aws:gamelift:us-east-1:999999999999:fleet/"} {
		for _, operation := range []string{"DescribeFleetEvents", "DescribeRuntimeConfiguration"} {
			all = append(all, refusal{operation, in{"FleetId": other + fleet}, "NotFoundException", other})
		}
		all = append(all, refusal{"ListTagsForResource", in{"ResourceARN": other + fleet}, "NotFoundException", other})
	}
	return all
}

func sessionRefusals(t *testing.T, _ *world, p *node.Place) []refusal {
	fleet, here, game := p.FleetID, p.Location, hosted(t, p)
	one := in{"FleetId": fleet, "Location": here, "MaximumPlayerSessionCount": 1}
	return []refusal{
		{"CreateGameSession", one, "FleetCapacityExceededException", "no free process"},
		{"CreateGameSession", with(one, in{"MaximumPlayerSessionCount": 2, "IdempotencyToken": "token"}), "IdempotentParameterMismatchException", "token"},
		{"CreateGameSession", with(one, in{"FleetId": nobody}), "NotFoundException", nobody},
		{"CreateGameSession", with(one, in{"Location": nil}), "InvalidRequestException", "Location: required"},
		{"CreateGameSession", with(one, in{"Location": nowhere}), "InvalidRequestException", "not a location of fleet"},
		{"CreateGameSession", with(one, in{"FleetId": nil}), "InvalidRequestException", "FleetId or AliasId"},
		{"CreateGameSession", with(one, in{"AliasId": "alias-1"}), "InvalidRequestException", "FleetId and AliasId"},
		{"CreateGameSession", with(one, in{"IdempotencyToken": "a", "GameSessionId": "b"}), "InvalidRequestException", "give one of them, or"},
		{"UpdateGameSession", in{"GameSessionId": game, "MaximumPlayerSessionCount": 0}, "InvalidRequestException", "MaximumPlayerSessionCount"},
		{"UpdateGameSession", in{"GameSessionId": game + "x", "Name": "n"}, "NotFoundException", game + "x"},
		{"TerminateGameSession", in{"GameSessionId": game, "TerminationMode": "FORCE_TERMINATE"}, "InvalidRequestException", "TRIGGER_ON_PROCESS_TERMINATE"},
		{"TerminateGameSession", in{"GameSessionId": game + "x", "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"}, "NotFoundException", game + "x"},
		{"DescribeGameSessions", in{"FleetId": fleet, "Location": nowhere}, "NotFoundException", nowhere},
		{"CreatePlayerSession", in{"GameSessionId": game, "PlayerId": "ben"}, "GameSessionFullException", "0 free slots"},
		{"CreatePlayerSessions", in{"GameSessionId": game, "PlayerIds": []any{"ben", "eve"}}, "GameSessionFullException", "0 free slots"},
		{"CreatePlayerSession", in{"GameSessionId": game + "x", "PlayerId": "ben"}, "NotFoundException", game + "x"},
		{"DescribePlayerSessions", in{}, "InvalidRequestException", "PlayerSessionId"},
		{"DescribePlayerSessions", in{"PlayerSessionId": "psess-00000000-0000-0000-0000-000000000000"}, "NotFoundException", "psess-0000"},
	}
}

// hosted returns the id of a game session that is ACTIVE and full.
func hosted(t *testing.T, p *node.Place) string {
	t.Helper()
	s := p.Server(t)
	g := node.Must(p.Create(t.Context(), 1, func(in *sdk.CreateGameSessionInput) { in.IdempotencyToken = aws.String("token") }))(t)
	<-s.Activated()
	node.Must(p.Client.CreatePlayerSession(t.Context(), &sdk.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("ana")}))(t)
	return *g.GameSessionId
}

// queue creates the queue q to a place where no process is free.
func (w *world) queue(t *testing.T, p *node.Place) {
	t.Helper()
	w.must(t, "CreateGameSessionQueue", in{"Name": "q", "TimeoutInSeconds": 600, "Destinations": to(p.FleetARN)})
}

// to returns an input's list of destinations.
func to(arns ...string) (all []any) {
	for _, a := range arns {
		all = append(all, in{"DestinationArn": a})
	}
	return all
}

func queueRefusals(t *testing.T, w *world, p *node.Place) []refusal {
	w.queue(t, p)
	prefix := strings.TrimSuffix(p.FleetARN, "fleet/"+p.FleetID)
	all := []refusal{
		{"CreateGameSessionQueue", in{"Name": "q"}, "InvalidRequestException", "exists already"},
		{"DeleteGameSessionQueue", in{"Name": "none"}, "NotFoundException", "does not exist"},
		{"UpdateGameSessionQueue", in{"Name": "none"}, "NotFoundException", "does not exist"},
		{"DescribeGameSessionQueues", in{"NextToken": "x"}, "InvalidRequestException", "NextToken"},
	}
	for _, c := range []struct {
		change     in
		code, says string
	}{
		{in{"Destinations": to(p.FleetID)}, "InvalidRequestException", "DestinationArn"},
		{in{"Destinations": to(prefix + "gamesessionqueue/q")}, "InvalidRequestException", "DestinationArn"},
		{in{"Destinations": to(p.FleetARN, p.FleetARN)}, "InvalidRequestException", "listed twice"},
		{in{"Destinations": to(p.FleetARN, prefix+"fleet/"+nobody)}, "NotFoundException", "does not exist"},
		{in{"Destinations": to(prefix + "alias/alias-00000000-0000-7000-8000-000000000000")}, "NotFoundException", "does not exist"},
		{in{"PlayerLatencyPolicies": []any{in{"PolicyDurationSeconds": 5}}}, "InvalidRequestException", "MaximumIndividualPlayerLatencyMilliseconds"},
		{in{"FilterConfiguration": in{"AllowedLocations": []any{"us-east-1", "us-east-1"}}}, "InvalidRequestException", "listed twice"},
		{in{"PriorityConfiguration": in{"PriorityOrder": []any{"COST", "COST"}}}, "InvalidRequestException", "listed twice"},
		{in{"PriorityConfiguration": in{"PriorityOrder": []any{"LOCATION"}, "LocationOrder": []any{"us-east-1", "us-east-1"}}}, "InvalidRequestException", "listed twice"},
		{in{"TimeoutInSeconds": 1}, "InvalidRequestException", "TimeoutInSeconds"},
		{in{"TimeoutInSeconds": 9}, "InvalidRequestException", "TimeoutInSeconds"},
		{in{"TimeoutInSeconds": 601}, "InvalidRequestException", "TimeoutInSeconds"},
		{in{"TimeoutInSeconds": 100_000}, "InvalidRequestException", "TimeoutInSeconds"},
	} {
		for operation, name := range map[string]string{"CreateGameSessionQueue": "new", "UpdateGameSessionQueue": "q"} {
			all = append(all, refusal{operation, with(in{"Name": name}, c.change), c.code, c.says})
		}
	}
	return all
}

func placementRefusals(t *testing.T, w *world, p *node.Place) []refusal {
	w.queue(t, p)
	for _, id := range []string{"pending", "over"} {
		w.must(t, "StartGameSessionPlacement", in{"PlacementId": id, "GameSessionQueueName": "q", "MaximumPlayerSessionCount": 2})
	}
	w.must(t, "StopGameSessionPlacement", in{"PlacementId": "over"})
	w.explained(t, "pending")
	const none, rule = "NotFoundException", "InvalidRequestException"
	all := []refusal{
		{"StopGameSessionPlacement", in{"PlacementId": "over"}, rule, "is over"},
		{"DescribeGameSessionPlacement", in{"PlacementId": "none"}, none, "does not exist"},
		{"StopGameSessionPlacement", in{"PlacementId": "none"}, none, "does not exist"},
	}
	player := func(id string) any { return in{"PlayerId": id} }
	order := in{"LocationOrder": []any{"us-east-1"}}
	for _, c := range []struct {
		change     in
		code, says string
	}{
		{in{"PlacementId": "pending"}, rule, "PENDING"},
		{in{"GameSessionQueueName": "none"}, none, "does not exist"},
		{in{"GameSessionQueueName": "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/none"}, none, "does not exist"},
		{in{"DesiredPlayerSessions": []any{player("a"), player("b"), player("c")}}, rule, "DesiredPlayerSessions"},
		{in{"DesiredPlayerSessions": []any{player("a"), player("a")}}, rule, "listed twice"},
		{in{"DesiredPlayerSessions": []any{in{"PlayerData": "x"}}}, rule, "'desiredPlayerSessions.1.member.playerId'"},
		{in{"PlayerLatencies": []any{in{"RegionIdentifier": "us-east-1", "LatencyInMilliseconds": 20.0}}}, rule, "PlayerLatencies.1.PlayerId"},
		{in{"PlayerLatencies": []any{in{"PlayerId": "ann", "LatencyInMilliseconds": 20.0}}}, rule, "PlayerLatencies.1.RegionIdentifier"},
		{in{"PlayerLatencies": []any{in{"PlayerId": "ann", "RegionIdentifier": "us-east-1", "LatencyInMilliseconds": -1.0}}}, rule, "LatencyInMilliseconds"},
		{in{"PlayerLatencies": []any{in{"PlayerId": "ann", "RegionIdentifier": "us-east-1", "LatencyInMilliseconds": 20.0}}, "PriorityConfigurationOverride": order}, rule, "PriorityConfigurationOverride"},
		{in{"PriorityConfigurationOverride": order}, rule, "PriorityConfigurationOverride"},
	} {
		start := in{"PlacementId": "new", "GameSessionQueueName": "q", "MaximumPlayerSessionCount": 2}
		all = append(all, refusal{"StartGameSessionPlacement", with(start, c.change), c.code, c.says})
	}
	return all
}

// explained waits for the first round of a placement that nothing can host. It is the last
// one if latency caps do not change, so from then on the state does not change.
func (w *world) explained(t *testing.T, id string) {
	t.Helper()
	wait.For(t, "a round of placement "+id+" is written", func() error {
		e, _, err := (&client.Client{Endpoint: w.app.URL()}).Placements().Explain(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Rounds) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
}

func matchmakingRefusals(t *testing.T, w *world, _ *node.Place) []refusal {
	w.must(t, "CreateMatchmakingRuleSet", in{"Name": "rules", "RuleSetBody": ruleSet})
	w.must(t, "CreateMatchmakingConfiguration", in{
		"Name": "mm", "RuleSetName": "rules", "AcceptanceRequired": false, "RequestTimeoutSeconds": 60, "FlexMatchMode": "STANDALONE",
	})
	start := func(players ...any) in { return in{"ConfigurationName": "mm", "Players": players} }
	return []refusal{
		{"CreateMatchmakingRuleSet", in{"Name": "", "RuleSetBody": ruleSet}, "InvalidRequestException", "'name'"},
		{"CreateMatchmakingConfiguration", in{"Name": "", "RuleSetName": "none", "AcceptanceRequired": false, "RequestTimeoutSeconds": 60}, "InvalidRequestException", "'name'"},
		{"ValidateMatchmakingRuleSet", in{"RuleSetBody": `{"ruleLanguageVersion": "1.0"}`}, "InvalidRequestException", "E_NO_TEAMS"},
		{"DescribeMatchmaking", in{"TicketIds": strings.Split("abcdefghijk", "")}, "InvalidRequestException", "less than or equal to 10"},
		{"AcceptMatch", in{"TicketId": "a", "PlayerIds": []any{}, "AcceptanceType": "ACCEPT"}, "InvalidRequestException", "'playerIds'"},
		{"AcceptMatch", in{"TicketId": "none", "PlayerIds": []any{"p"}, "AcceptanceType": "ACCEPT"}, "NotFoundException", "does not exist"},
		{"DeleteMatchmakingRuleSet", in{"Name": "rules"}, "InvalidRequestException", "is used by configuration mm"},
		{"StartMatchmaking", start(in{"PlayerId": "p"}, in{"PlayerId": "p"}), "InvalidRequestException", "listed twice"},
		{"StartMatchmaking", start(in{"PlayerId": "p", "PlayerAttributes": in{"skill": in{"S": "x"}}}), "InvalidRequestException", "is a string; the rule set declares a number"},
		{"StartMatchmaking", in{"ConfigurationName": "none", "Players": []any{in{"PlayerId": "p"}}}, "NotFoundException", "does not exist"},
	}
}

func groupRefusals(t *testing.T, w *world, _ *node.Place) []refusal {
	group := in{
		"GameServerGroupName": "group", "RoleArn": "arn:aws:iam::1:role/r", "MinSize": 1, "MaxSize": 2, "LaunchTemplate": in{"LaunchTemplateName": "template"},
		"InstanceDefinitions": []any{in{"InstanceType": "c5.large"}, in{"InstanceType": "c5.xlarge"}},
	}
	create := func(change in) in { return with(with(group, in{"GameServerGroupName": "new"}), change) }
	operator := &client.Client{Endpoint: w.app.URL(), Credentials: client.Credentials{AccessKeyID: "AKIDANY", SecretAccessKey: "secret"}}
	host := node.Join(t, operator, "machine", "us-east-1").InstanceID
	server := func(group, id string) in { return in{"GameServerGroupName": group, "GameServerId": id} }
	register := func(group, id, instance string) in {
		return in{"GameServerGroupName": group, "GameServerId": id, "InstanceId": instance}
	}
	w.must(t, "CreateGameServerGroup", create(in{"GameServerGroupName": "empty"}))
	w.must(t, "CreateGameServerGroup", group)
	w.must(t, "RegisterGameServer", register("group", "server-1", host))
	w.must(t, "ClaimGameServer", server("group", "server-1"))
	const rule, none = "InvalidRequestException", "NotFoundException"
	return []refusal{
		{"CreateGameServerGroup", group, "ConflictException", "GameServerGroupName"},
		{"CreateGameServerGroup", create(in{"MinSize": 9}), rule, "MinSize"},
		{"CreateGameServerGroup", create(in{"LaunchTemplate": in{}}), rule, "LaunchTemplate"},
		{"CreateGameServerGroup", create(in{"InstanceDefinitions": []any{in{"InstanceType": "c5.large"}, in{"InstanceType": "c5.large"}}}), rule, "InstanceDefinitions.2"},
		{"CreateGameServerGroup", create(in{"Tags": []any{in{"Key": "aws:k", "Value": "v"}}}), rule, "Tags"},
		{"DescribeGameServerGroup", in{"GameServerGroupName": "none"}, none, "GameServerGroupName"},
		{"UpdateGameServerGroup", in{"GameServerGroupName": "none"}, none, "GameServerGroupName"},
		{"DeleteGameServerGroup", in{"GameServerGroupName": "none"}, none, "game server group none does not exist"},
		{"DescribeGameServerInstances", in{"GameServerGroupName": "none"}, none, "GameServerGroupName"},
		{"ListGameServers", in{"GameServerGroupName": "none"}, rule, "GameServerGroupName"},
		{"RegisterGameServer", register("group", "server-1", host), "ConflictException", "GameServerId"},
		{"RegisterGameServer", register("none", "server-2", host), rule, "GameServerGroupName"},
		{"RegisterGameServer", register("group", "server-2", "i-0123456789abcdef0"), rule, "InstanceId"},
		{"ClaimGameServer", in{"GameServerGroupName": "empty"}, "OutOfCapacityException", "no game server that can be claimed"},
		{"ClaimGameServer", server("group", "server-1"), "ConflictException", "is CLAIMED"},
		{"ClaimGameServer", in{"GameServerGroupName": "group", "FilterOption": in{"InstanceStatuses": []any{"DRAINING"}}}, rule, "FilterOption.InstanceStatuses"},
		{"ClaimGameServer", in{"GameServerGroupName": "none"}, none, "GameServerGroupName"},
		{"ClaimGameServer", server("group", "none"), none, "GameServerId"},
		{"DescribeGameServer", server("group", "none"), none, "GameServerId"},
		{"UpdateGameServer", server("group", "none"), none, "GameServerId"},
		{"DeregisterGameServer", server("group", "none"), none, "GameServerId"},
	}
}

func containerRefusals(t *testing.T, w *world, p *node.Place) []refusal {
	w.must(t, "CreateContainerGroupDefinition", in{
		"Name": "arena", "OperatingSystem": "AMAZON_LINUX_2023", "TotalMemoryLimitMebibytes": 1024, "TotalVcpuLimit": 1.5,
		"GameServerContainerDefinition": in{
			"ContainerName": "game", "ImageUri": "registry.example/arena@sha256:" + strings.Repeat("a", 64), "ServerSdkVersion": "5.4.0",
			"PortConfiguration": in{"ContainerPortRanges": []any{in{"FromPort": 7000, "ToPort": 7010, "Protocol": "UDP"}}},
		},
	})
	fleet := in{"FleetRoleArn": "arn:aws:iam::1:role/r", "GameServerContainerGroupDefinitionName": "arena", "InstanceType": "c5.large"}
	const rule, none = "InvalidRequestException", "NotFoundException"
	all := []refusal{
		{"CreateContainerFleet", with(fleet, in{"GameServerContainerGroupDefinitionName": "none"}), rule, "none does not exist"},
		{"CreateContainerFleet", with(fleet, in{"PerInstanceContainerGroupDefinitionName": "arena"}), rule, "is of type GAME_SERVER"},
		{"CreateContainerFleet", with(fleet, in{"GameServerContainerGroupsPerInstance": 2}), rule, "at most 1 do"},
		{"CreateContainerFleet", with(fleet, in{"InstanceConnectionPortRange": in{"FromPort": 4090, "ToPort": 5000}}), rule, "are reserved"},
		{"CreateContainerFleet", with(fleet, in{"LogConfiguration": in{"LogDestination": "S3"}}), rule, "S3BucketName"},
		{"CreateContainerFleet", with(fleet, in{"Locations": at(nowhere)}), rule, "Locations.1.Location"},
		{"CreateContainerFleet", with(fleet, in{"PlayerGatewayMode": "REQUIRED"}), rule, "PlayerGatewayMode"},
		{"CreateContainerFleet", with(fleet, in{"Tags": twice}), "TaggingFailedException", `"a"`},
		{"ListContainerFleets", in{"NextToken": "x"}, rule, "NextToken"},
		{"DescribeFleetDeployment", in{"FleetId": "containerfleet-none"}, none, "containerfleet-none"},
	}
	for _, operation := range []string{"UpdateContainerFleet", "DescribeContainerFleet", "DeleteContainerFleet", "ListFleetDeployments"} {
		all = append(all,
			refusal{operation, in{"FleetId": "containerfleet-none"}, none, "containerfleet-none"},
			refusal{operation, in{"FleetId": p.FleetID}, rule, "not a container fleet"}, // a fleet of another kind
			refusal{operation, in{"FleetId": p.FleetARN}, rule, "not a container fleet"})
	}
	return all
}

func resourceRefusals(_ *testing.T, _ *world, p *node.Place) []refusal {
	absent := strings.TrimSuffix(p.FleetARN, p.FleetID) + nobody
	later := in{"Bucket": "games", "Key": "later.zip", "RoleArn": "arn:aws:iam::1:role/r"}
	const rule, none = "InvalidRequestException", "NotFoundException"
	return []refusal{
		{"TagResource", in{"ResourceARN": p.FleetARN, "Tags": twice}, "TaggingFailedException", `"a"`},
		{"TagResource", in{"ResourceARN": absent, "Tags": []any{in{"Key": "a", "Value": "1"}}}, none, nobody},
		{"UntagResource", in{"ResourceARN": absent, "TagKeys": []any{"a"}}, none, nobody},
		{"ListTagsForResource", in{"ResourceARN": absent}, none, nobody},
		{"CreateBuild", in{"OperatingSystem": "AMAZON_LINUX_2023", "StorageLocation": in{"Bucket": "b", "Key": "k"}}, rule, "'storageLocation.roleArn'"},
		// Terraform's provider retries on these texts, since the object may still be on its way.
		{"CreateBuild", in{"OperatingSystem": "AMAZON_LINUX_2023", "StorageLocation": later}, rule, "Provided build is not accessible."},
		{"CreateScript", in{"StorageLocation": later}, rule, "Provided resource is not accessible."},
		{"DescribeVpcPeeringConnections", in{"FleetId": "fleet-1"}, none, "fleet-1"},
	}
}
