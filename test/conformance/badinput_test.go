package conformance

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/shape"
	"github.com/musterhq/muster/test/node"
)

// unaudited keeps refused requests out of the audit log, which is part of the state.
func unaudited(o *app.Options) { o.Audit.Level = audit.Off }

// state returns everything that a refused request might have changed: the rows, and
// the event log.
func state(t *testing.T, a *app.App) string {
	t.Helper()
	response, err := http.Get(a.URL() + "/console/api/events?after=0")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.Digest() + "\n" + string(events)
}

// Each rule of the API's description, broken alone, causes a refusal that names the
// member and the rule, and changes nothing.
func TestBadInput_Rules(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, unaudited)
	node.NewPlace(t, node.Client(a.URL()))
	g := generator{gamelift.API()}
	before, tried := state(t, a), 0
	for _, op := range g.api.Operations {
		if !available(t, a.URL(), op) {
			continue
		}
		digest := a.Digest()
		for i, v := range g.violations(op) {
			tried++
			p := protocols[i%len(protocols)]
			answer := p.call(t, a.URL(), op.Name, v.in)
			text := string(answer.body)
			if answer.status != 400 || !strings.Contains(text, "InvalidRequestException") || !strings.Contains(text, " at '"+v.path+"' failed to satisfy constraint: "+v.rule) {
				t.Errorf("%s, %s, %v: %d %q", op.Name, p.name, v, answer.status, text)
			}
		}
		if a.Digest() != digest {
			t.Errorf("%s: a refused request changed the state", op.Name)
		}
	}
	if state(t, a) != before {
		t.Error("refused requests changed the state or told of events")
	}
	if tried < 300 {
		t.Errorf("tried only %d violations: the generator is broken", tried)
	}
	t.Logf("%d violations", tried)
}

// available reports whether Muster implements an operation.
func available(t testing.TB, url string, op shape.Operation) bool {
	t.Helper()
	a := protocols[0].call(t, url, op.Name, map[string]any{})
	return !strings.Contains(string(a.body), "is not available in this version of Muster")
}

// A member of the wrong type is refused before anything reads it.
func TestBadInput_Types(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, unaudited)
	before := state(t, a)
	for _, op := range gamelift.API().Operations {
		if !available(t, a.URL(), op) {
			continue
		}
		for _, m := range op.Input {
			for _, p := range protocols {
				answer := p.call(t, a.URL(), op.Name, map[string]any{m.Name: wrongType(m.Type)})
				if answer.status != 400 || !strings.Contains(string(answer.body), "SerializationException") {
					t.Errorf("%s, %s, %s: %d %q", op.Name, p.name, m.Name, answer.status, answer.body)
				}
			}
		}
	}
	if state(t, a) != before {
		t.Error("refused requests changed the state or told of events")
	}
}

func wrongType(t shape.Type) any {
	switch t.Kind {
	case shape.String, shape.Boolean:
		return []any{1}
	case shape.Blob:
		return true
	case shape.List, shape.Map, shape.Struct:
		return "text"
	}
	return "many"
}

// refusal is a request that the rules of the domain refuse.
type refusal struct {
	operation string
	in        map[string]any
	code      string
}

// Refusals of the domain change nothing either.
func TestBadInput_Domain(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, unaudited)
	p := node.NewPlace(t, node.Client(a.URL()))
	game := hosted(t, p)
	for i, r := range refusals(p, game) {
		codec := protocols[i%len(protocols)]
		before := state(t, a)
		answer := codec.call(t, a.URL(), r.operation, r.in)
		if answer.status != 400 || !strings.Contains(string(answer.body), r.code) {
			t.Errorf("%s %v: %d %q, want %s", r.operation, r.in, answer.status, answer.body, r.code)
		}
		if state(t, a) != before {
			t.Errorf("%s %v was refused and changed the state", r.operation, r.in)
		}
	}
}

// hosted returns the id of a game session that is ACTIVE and full.
func hosted(t *testing.T, p *node.Place) string {
	t.Helper()
	s := p.Server(t)
	g, err := p.Create(t.Context(), 1, func(in *sdk.CreateGameSessionInput) { in.IdempotencyToken = aws.String("token") })
	if err != nil {
		t.Fatal(err)
	}
	<-s.Activated()
	_, err = p.Client.CreatePlayerSession(t.Context(), &sdk.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("ana")})
	if err != nil {
		t.Fatal(err)
	}
	return *g.GameSessionId
}

func refusals(p *node.Place, game string) []refusal {
	const nowhere, nobody = "custom-nowhere", "fleet-00000000-0000-0000-0000-000000000000"
	type in = map[string]any
	fleet, here := p.FleetID, p.Location
	at := func(location string) []any { return []any{in{"Location": location}} }
	return []refusal{
		{"CreateLocation", in{"LocationName": here}, "ConflictException"},
		{"CreateLocation", in{"LocationName": nowhere, "Tags": []any{in{"Key": "a", "Value": "1"}, in{"Key": "a", "Value": "2"}}}, "TaggingFailedException"},
		{"DeleteLocation", in{"LocationName": here}, "InvalidRequestException"},
		{"DeleteLocation", in{"LocationName": nowhere}, "NotFoundException"},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE"}, "InvalidRequestException"},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE", "Locations": at(nowhere)}, "InvalidRequestException"},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE", "Locations": at("us-west-2")}, "InvalidRequestException"},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE", "Locations": append(at(here), at(here)...)}, "InvalidRequestException"},
		{"CreateFleet", in{"Name": "f", "ComputeType": "ANYWHERE", "Locations": at(here), "EC2InstanceType": "c5.large"}, "InvalidRequestException"},
		{"CreateFleetLocations", in{"FleetId": fleet, "Locations": at(nowhere)}, "InvalidRequestException"},
		{"CreateFleetLocations", in{"FleetId": fleet, "Locations": at(here)}, "InvalidRequestException"},
		{"DeleteFleetLocations", in{"FleetId": fleet, "Locations": []any{"us-east-1"}}, "InvalidRequestException"},
		{"DeleteFleetLocations", in{"FleetId": fleet, "Locations": []any{nowhere}}, "InvalidRequestException"},
		{"UpdateFleetAttributes", in{"FleetId": nobody, "Name": "n"}, "NotFoundException"},
		{"DeleteFleet", in{"FleetId": nobody}, "NotFoundException"},
		{"UpdateRuntimeConfiguration", in{"FleetId": fleet, "RuntimeConfiguration": in{"ServerProcesses": []any{in{"LaunchPath": "/local/game/s", "ConcurrentExecutions": 51}}}}, "InvalidRequestException"},
		{"CreateAlias", in{"Name": "a", "RoutingStrategy": in{"Type": "SIMPLE", "FleetId": nobody}}, "InvalidRequestException"},
		{"CreateAlias", in{"Name": "a", "RoutingStrategy": in{"Type": "SIMPLE"}}, "InvalidRequestException"},
		{"CreateAlias", in{"Name": "a", "RoutingStrategy": in{"Type": "TERMINAL"}}, "InvalidRequestException"},
		{"UpdateAlias", in{"AliasId": "alias-1", "Name": "b"}, "NotFoundException"},
		{"DeleteAlias", in{"AliasId": "alias-1"}, "NotFoundException"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "host-1", "Location": here, "IpAddress": "127.0.0.1"}, "ConflictException"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "new", "IpAddress": "127.0.0.1"}, "InvalidRequestException"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "new", "Location": here}, "InvalidRequestException"},
		{"RegisterCompute", in{"FleetId": fleet, "ComputeName": "new", "Location": nowhere, "IpAddress": "127.0.0.1"}, "InvalidRequestException"},
		{"DeregisterCompute", in{"FleetId": fleet, "ComputeName": "absent"}, "NotFoundException"},
		{"CreateGameSession", in{"FleetId": fleet, "Location": here, "MaximumPlayerSessionCount": 1}, "FleetCapacityExceededException"},
		{"CreateGameSession", in{"FleetId": fleet, "Location": here, "MaximumPlayerSessionCount": 2, "IdempotencyToken": "token"}, "IdempotentParameterMismatchException"},
		{"CreateGameSession", in{"FleetId": nobody, "Location": here, "MaximumPlayerSessionCount": 1}, "NotFoundException"},
		{"UpdateGameSession", in{"GameSessionId": game, "MaximumPlayerSessionCount": 0}, "InvalidRequestException"},
		{"UpdateGameSession", in{"GameSessionId": game + "x", "Name": "n"}, "NotFoundException"},
		{"TerminateGameSession", in{"GameSessionId": game, "TerminationMode": "FORCE_TERMINATE"}, "InvalidRequestException"},
		{"TerminateGameSession", in{"GameSessionId": game + "x", "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"}, "NotFoundException"},
		{"CreatePlayerSession", in{"GameSessionId": game, "PlayerId": "ben"}, "GameSessionFullException"},
		{"CreatePlayerSessions", in{"GameSessionId": game, "PlayerIds": []any{"ben", "eve"}}, "GameSessionFullException"},
		{"CreatePlayerSession", in{"GameSessionId": game + "x", "PlayerId": "ben"}, "NotFoundException"},
		{"TagResource", in{"ResourceARN": p.FleetARN, "Tags": []any{in{"Key": "a", "Value": "1"}, in{"Key": "a", "Value": "2"}}}, "TaggingFailedException"},
		{"TagResource", in{"ResourceARN": strings.TrimSuffix(p.FleetARN, fleet) + nobody, "Tags": []any{in{"Key": "a", "Value": "1"}}}, "NotFoundException"},
		{"UntagResource", in{"ResourceARN": strings.TrimSuffix(p.FleetARN, fleet) + nobody, "TagKeys": []any{"a"}}, "NotFoundException"},
	}
}
