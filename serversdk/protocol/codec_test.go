package protocol_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/serversdk/protocol"
)

const gs = "arn:aws:gamelift:us-west-2::gamesession/fleet-2222bbbb-33cc-44dd-55ee-6666ffff77aa/custom-dev/gsess-1111"

// TestEncode compares frames with those that AWS's SDKs were observed to accept (Server
// SDK 5 protocol, recorded run).
func TestEncode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		message any
		want    string
	}{
		{"answer", protocol.Response{Action: protocol.ActivateServerProcess, RequestID: "acf79f2f", StatusCode: 200},
			`{"Action":"ActivateServerProcess","RequestId":"acf79f2f","StatusCode":200}`},
		{"refusal", protocol.ErrorResponse{Response: protocol.Response{Action: protocol.AcceptPlayerSession, RequestID: "r4", StatusCode: 400}, ErrorMessage: "player session psess-1 is not RESERVED"},
			`{"Action":"AcceptPlayerSession","RequestId":"r4","StatusCode":400,"ErrorMessage":"player session psess-1 is not RESERVED"}`},
		{"no player sessions", protocol.DescribePlayerSessionsResponse{Response: protocol.Response{Action: protocol.DescribePlayerSessions, RequestID: "r7", StatusCode: 200}},
			`{"Action":"DescribePlayerSessions","RequestId":"r7","StatusCode":200,"NextToken":"","PlayerSessions":[]}`},
		{"player sessions", protocol.DescribePlayerSessionsResponse{
			Response: protocol.Response{Action: protocol.DescribePlayerSessions, RequestID: "r7", StatusCode: 200},
			PlayerSessions: []protocol.PlayerSession{{
				PlayerID: "p1", PlayerSessionID: "psess-1", GameSessionID: gs, FleetID: "fleet-2222bbbb", PlayerData: "{}",
				IPAddress: "10.0.0.5", Port: 7777, CreationTime: 1700000000123, Status: "ACTIVE",
			}}},
			`{"Action":"DescribePlayerSessions","RequestId":"r7","StatusCode":200,"NextToken":"","PlayerSessions":[{"PlayerId":"p1","PlayerSessionId":"psess-1","GameSessionId":"` + gs + `","FleetId":"fleet-2222bbbb","PlayerData":"{}","IpAddress":"10.0.0.5","Port":7777,"CreationTime":1700000000123,"TerminationTime":0,"DnsName":"","Status":"ACTIVE"}]}`},
		{"backfill", protocol.StartMatchBackfillResponse{Response: protocol.Response{Action: protocol.StartMatchBackfill, RequestID: "r8", StatusCode: 200}, TicketID: "bf-1"},
			`{"Action":"StartMatchBackfill","RequestId":"r8","StatusCode":200,"TicketId":"bf-1"}`},
		{"certificate", protocol.GetComputeCertificateResponse{Response: protocol.Response{Action: protocol.GetComputeCertificate, RequestID: "r10", StatusCode: 200}, CertificatePath: "/local/gamemetadata/certificates/cert.pem", ComputeName: "compute-1"},
			`{"Action":"GetComputeCertificate","RequestId":"r10","StatusCode":200,"CertificatePath":"/local/gamemetadata/certificates/cert.pem","ComputeName":"compute-1"}`},
		{"credentials", protocol.GetFleetRoleCredentialsResponse{Response: protocol.Response{Action: protocol.GetFleetRoleCredentials, RequestID: "r11", StatusCode: 200}},
			`{"Action":"GetFleetRoleCredentials","RequestId":"r11","StatusCode":200,"AssumedRoleUserArn":"","AssumedRoleId":"","AccessKeyId":"","SecretAccessKey":"","SessionToken":"","Expiration":0}`},
		{"start", protocol.CreateGameSessionPush{Action: protocol.CreateGameSession, MaxPlayers: 4, Port: 7777, IPAddress: "127.0.0.1", GameSessionID: gs, Name: "demo", DNSName: "localhost", Properties: map[string]string{"mode": "ctf", "map": "winter"}},
			`{"Action":"CreateGameSession","MaximumPlayerSessionCount":4,"Port":7777,"IpAddress":"127.0.0.1","GameSessionId":"` + gs + `","GameSessionName":"demo","GameSessionData":"","MatchmakerData":"","DnsName":"localhost","GameProperties":{"map":"winter","mode":"ctf"}}`},
		{"update", protocol.UpdateGameSessionPush{Action: protocol.UpdateGameSession, UpdateReason: "MATCHMAKING_DATA_UPDATED", BackfillTicketID: "bf-1",
			GameSession: protocol.GameSession{GameSessionID: gs, Name: "demo", FleetID: "fleet-2222bbbb", Location: "custom-dev", MaxPlayers: 4, IPAddress: "127.0.0.1", Port: 7777, DNSName: "localhost", MatchmakerData: "{}", Status: "ACTIVE"}},
			`{"Action":"UpdateGameSession","GameSession":{"GameSessionId":"` + gs + `","Name":"demo","FleetId":"fleet-2222bbbb","Location":"custom-dev","MaximumPlayerSessionCount":4,"IpAddress":"127.0.0.1","Port":7777,"DnsName":"localhost","GameSessionData":"","MatchmakerData":"{}","GameProperties":{},"Status":"ACTIVE","StatusReason":""},"UpdateReason":"MATCHMAKING_DATA_UPDATED","BackfillTicketId":"bf-1"}`},
		{"terminate", protocol.TerminateProcessPush{Action: protocol.TerminateProcess, TerminationTime: 1700000300000},
			`{"Action":"TerminateProcess","TerminationTime":1700000300000}`},
		{"refresh", protocol.RefreshConnectionPush{Action: protocol.RefreshConnection, Endpoint: "wss://sdk.example:9443/", AuthToken: "11111111"},
			`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"wss://sdk.example:9443/","AuthToken":"11111111"}`},
		{"bytes that are no UTF-8", protocol.CreateGameSessionPush{Action: protocol.CreateGameSession, Name: "a\xffb"},
			`{"Action":"CreateGameSession","MaximumPlayerSessionCount":0,"Port":0,"IpAddress":"","GameSessionId":"","GameSessionName":"a�b","GameSessionData":"","MatchmakerData":"","DnsName":"","GameProperties":{}}`},
	} {
		if diff := cmp.Diff(c.want, string(protocol.Encode(c.message))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestDecode reads requests as AWS's SDKs were observed to write them.
func TestDecode(t *testing.T) {
	t.Parallel()
	ready, err := protocol.Decode[protocol.ActivateServerProcessRequest]([]byte(
		`{"Action":"ActivateServerProcess","RequestId":"r","SdkVersion":"5.5.0","SdkLanguage":"Go","Port":7777,"LogPaths":["/local/game/logs/a.log"],"New":{"a":[1]}}`))
	want := protocol.ActivateServerProcessRequest{SDKVersion: "5.5.0", SDKLanguage: "Go", Port: 7777, LogPaths: []string{"/local/game/logs/a.log"}}
	if diff := cmp.Diff(want, ready); diff != "" || err != nil {
		t.Errorf("ActivateServerProcess: %v\n%s", err, diff)
	}
	nulls, err := protocol.Decode[protocol.ActivateServerProcessRequest]([]byte(`{"SdkVersion":null,"Port":null,"LogPaths":null}`))
	if diff := cmp.Diff(protocol.ActivateServerProcessRequest{}, nulls); diff != "" || err != nil {
		t.Errorf("nulls: %v\n%s", err, diff)
	}
	backfill, err := protocol.Decode[protocol.MatchBackfillRequest]([]byte(
		`{"GameSessionArn":"g","MatchmakingConfigurationArn":"m","TicketId":"","Players":[{"PlayerId":"p1","Team":"red","PlayerAttributes":{"skill":{"AttrType":"DOUBLE","N":23},"s":{"AttrType":"STRING","S":"x"},"modes":{"AttrType":"STRING_LIST","SL":["ctf"]},"m":{"AttrType":"STRING_DOUBLE_MAP","SDM":{"a":1}}},"LatencyInMs":{"us-west-2":20}},{"PlayerId":"p2","PlayerAttributes":null,"LatencyInMs":null}]}`))
	wantBackfill := protocol.MatchBackfillRequest{GameSessionARN: "g", MatchmakingARN: "m", Players: []protocol.Player{
		{PlayerID: "p1", Team: "red", LatencyMS: map[string]int{"us-west-2": 20}, Attributes: map[string]protocol.AttributeValue{
			"skill": {AttrType: "DOUBLE", N: 23}, "s": {AttrType: "STRING", S: "x"},
			"modes": {AttrType: "STRING_LIST", SL: []string{"ctf"}}, "m": {AttrType: "STRING_DOUBLE_MAP", SDM: map[string]float64{"a": 1}},
		}},
		{PlayerID: "p2"},
	}}
	if diff := cmp.Diff(wantBackfill, backfill); diff != "" || err != nil {
		t.Errorf("StartMatchBackfill: %v\n%s", err, diff)
	}
}

// TestDecode_Spellings reads a backfill as recorded from AWS's C# SDK, which spells two
// members differently and sends null or zero for the values that an attribute does not
// have.
func TestDecode_Spellings(t *testing.T) {
	t.Parallel()
	csharp, err := protocol.Decode[protocol.MatchBackfillRequest]([]byte(csharpBackfill))
	want := protocol.MatchBackfillRequest{GameSessionARN: "g", MatchmakingARN: "m", TicketID: "t", Players: []protocol.Player{{
		PlayerID: "p", Team: "red", LatencyMS: map[string]int{"us-east-1": 20}, Attributes: map[string]protocol.AttributeValue{
			"skill": {AttrType: "DOUBLE", N: 10}, "mode": {AttrType: "STRING", S: "ctf"},
		},
	}}}
	if diff := cmp.Diff(want, csharp); diff != "" || err != nil {
		t.Errorf("C#: %v\n%s", err, diff)
	}
	others := strings.NewReplacer("attrType", "AttrType", "LatencyInMS", "LatencyInMs").Replace(csharpBackfill)
	same, err := protocol.Decode[protocol.MatchBackfillRequest]([]byte(others))
	if diff := cmp.Diff(want, same); diff != "" || err != nil {
		t.Errorf("Go, C++: %v\n%s", err, diff)
	}
}

const csharpBackfill = `{"Action":"StartMatchBackfill","RequestId":"r","GameSessionArn":"g","MatchmakingConfigurationArn":"m","TicketId":"t",` +
	`"Players":[{"PlayerId":"p","PlayerAttributes":{"skill":{"attrType":"DOUBLE","S":null,"N":10.0,"SL":null,"SDM":null},` +
	`"mode":{"attrType":"STRING","S":"ctf","N":0.0,"SL":null,"SDM":null}},"Team":"red","LatencyInMS":{"us-east-1":20}}]}`

// TestDecode_Refusals checks that each refusal names the member.
func TestDecode_Refusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ frame, want string }{
		{`{"Port":"7777"}`, "Port: must be an integer"},
		{`{"Port":1.5}`, "Port: must be an integer"},
		{`{"Port":1e99}`, "Port: must be an integer"},
		{`{"LogPaths":"x"}`, "LogPaths: must be a list"},
		{`{"LogPaths":[1]}`, "LogPaths.0: must be a string"},
		{`{"SdkVersion":{}}`, "SdkVersion: must be a string"},
		{`[]`, "the frame is no JSON object"},
		{`{"SdkVersion":"` + "\xff" + `"}`, "the frame is no JSON object in UTF-8"},
		{`{"SdkVersion":"a\u0000b"}`, "the frame holds U+0000, which no member may"},
	} {
		_, err := protocol.Decode[protocol.ActivateServerProcessRequest]([]byte(c.frame))
		if f, ok := fault.As(err); !ok || f.Kind != fault.InvalidRequest || f.Message != c.want {
			t.Errorf("%s: got %v, want InvalidRequestException: %s", c.frame, err, c.want)
		}
	}
}

func TestDecodeHead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		frame string
		want  protocol.Head
		ok    bool
	}{
		{`{"Action":"X","RequestId":"r","Port":"wrong form"}`, protocol.Head{Action: "X", RequestID: "r"}, true},
		{`{"Action":"X","Action":"Y"}`, protocol.Head{Action: "Y"}, true},
		{`{"Action":null}`, protocol.Head{}, true},
		{`{"Action":1}`, protocol.Head{}, false},
		{`{"Action":"X"`, protocol.Head{}, false},
		{``, protocol.Head{}, false},
		{`{"RequestId":"` + strings.Repeat("x", protocol.MaxRequestID+1) + `"}`, protocol.Head{}, false},
	} {
		head, err := protocol.DecodeHead([]byte(c.frame))
		if (err == nil) != c.ok || c.ok && head != c.want {
			t.Errorf("%.60s: got %+v, %v", c.frame, head, err)
		}
	}
}
