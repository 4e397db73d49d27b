package wire

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// frames of unmodified clients, and what they mean.
var recorded = []struct {
	name   string
	text   string
	binary string // in hexadecimal
	want   Packet
}{
	{"ping", "2", "", Packet{Kind: Ping, ID: NoID, Data: []byte{}}},
	{"ping of a Go client", "2probe", "", Packet{Kind: Ping, ID: NoID, Data: []byte("probe")}},
	{"ready, Node", `451-0["com.amazon.whitewater.auxproxy.pbuffer.ProcessReady",{"_placeholder":true,"num":0}]`, "040A0A2F746D702F612E6C6F6710E13C",
		Packet{Kind: Event, ID: 0, Name: Package + "ProcessReady", Payload: unhex("0A0A2F746D702F612E6C6F6710E13C")}},
	{"ready, C# 3.4.0", "420[\n  \"com.amazon.whitewater.auxproxy.pbuffer.ProcessReady\",\n  \"EOE8\"\n]", "",
		Packet{Kind: Event, ID: 0, Name: Package + "ProcessReady", Payload: unhex("10E13C")}},
	{"empty message, C#", "427[\r\n  \"com.amazon.whitewater.auxproxy.pbuffer.ReportHealth\",\r\n  \"\"\r\n]", "",
		Packet{Kind: Event, ID: 7, Name: Package + "ReportHealth", Payload: []byte{}}},
	{"empty message, C++", `451-1["com.amazon.whitewater.auxproxy.pbuffer.ProcessEnding",{"_placeholder":true,"num":0}]`, "04",
		Packet{Kind: Event, ID: 1, Name: Package + "ProcessEnding", Payload: []byte{}}},
	{"ack", "4317[true]", "", Packet{Kind: Ack, ID: 17, True: true}},
	{"ack, C#", "4317[\n  true\n]", "", Packet{Kind: Ack, ID: 17, True: true}},
	{"not ready", "4317[false]", "", Packet{Kind: Ack, ID: 17}},
	{"unparsable push, C++", "4317[]", "", Packet{Kind: Ack, ID: 17}},
	{"leaves", "41", "", Packet{Kind: Disconnect, ID: NoID}},
	{"connects to the namespace", "40", "", Packet{ID: NoID}},
}

func unhex(text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

func TestDecoder(t *testing.T) {
	for _, r := range recorded {
		var d Decoder
		p, ok, err := d.Text([]byte(r.text))
		if err == nil && r.binary != "" {
			if ok {
				t.Errorf("%s: complete without its attachment", r.name)
			}
			p, ok, err = d.Binary(unhex(r.binary))
		}
		if err != nil || !ok || !reflect.DeepEqual(p, r.want) {
			t.Errorf("%s: %+v, %v, %v; want %+v", r.name, p, ok, err, r.want)
		}
	}
}

func TestDecoder_Refuses(t *testing.T) {
	for _, text := range []string{
		"", "4", "42", "42[", "42[]", `42[1]`, `42["a",1]`, `42["a","???"]`, `452-0["a"]`, `45["a"]`, `45-["a"]`, `451["a"]`,
		`4299999999999999999999["a",""]`, "43x", `42{"a":1}`, "42" + strings.Repeat("[", 20_000),
	} {
		var d Decoder
		if p, ok, err := d.Text([]byte(text)); err == nil {
			t.Errorf("%.40q is taken for %+v, %v", text, p, ok)
		}
	}
	var d Decoder
	if _, _, err := d.Text([]byte(`451-0["a",{}]`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Text([]byte("2")); !errors.Is(err, errAttachment) {
		t.Errorf("a text frame in place of the attachment: %v", err)
	}
}

// pb builds messages as AWS's clients do.
type pb []byte

func (b pb) text(n protowire.Number, s string) pb {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func (b pb) number(n protowire.Number, v uint64) pb {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func (b pb) double(n protowire.Number, bits uint64) pb {
	return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), bits)
}

func (b pb) inner(n protowire.Number, m pb) pb { return b.text(n, string(m)) }

const oneAndAHalf = 0x3ff8000000000000

func TestParseRequest(t *testing.T) {
	attribute := func(name string, m pb) pb { return pb(nil).text(1, name).inner(2, m) }
	player := pb(nil).text(1, "ada").
		inner(2, attribute("mode", pb(nil).number(1, TypeString).text(2, "duel"))).
		inner(2, attribute("skill", pb(nil).number(1, TypeDouble).double(3, oneAndAHalf))).
		inner(2, attribute("maps", pb(nil).number(1, TypeStringList).text(4, "a").text(4, "b"))).
		inner(2, attribute("ranks", pb(nil).number(1, TypeStringDoubleMap).inner(5, pb(nil).text(1, "x").double(2, oneAndAHalf)))).
		text(3, "red").inner(4, pb(nil).text(1, "eu-west-1").number(2, 23))
	for _, c := range []struct {
		name string
		body pb
		want any
	}{
		{"ProcessReady", unhex("0A0A2F746D702F612E6C6F6710E13C"), ProcessReady{[]string{"/tmp/a.log"}, 7777}},
		{Package + "ProcessReady", unhex("10E13C"), ProcessReady{Port: 7777}},
		{"ProcessReady", pb(nil).number(9, 1).text(10, "new").number(2, 5), ProcessReady{Port: 5}},
		{"ProcessReady", nil, ProcessReady{}},
		{"ProcessEnding", nil, ProcessEnding{}},
		{"GetInstanceCertificate", nil, GetInstanceCertificate{}},
		{"ReportHealth", nil, ReportHealth{}},
		{"ReportHealth", pb(nil).number(1, 1), ReportHealth{true}},
		{"GameSessionActivate", pb(nil).text(1, "arn:s").number(2, 4), GameSessionActivate{"arn:s"}},
		{"GameSessionTerminate", pb(nil).text(1, "arn:s"), GameSessionTerminate{"arn:s"}},
		{"UpdatePlayerSessionCreationPolicy", pb(nil).text(1, "arn:s").text(2, "DENY_ALL"), UpdatePlayerSessionCreationPolicy{"arn:s", "DENY_ALL"}},
		{"AcceptPlayerSession", pb(nil).text(1, "arn:s").text(2, "psess-1"), AcceptPlayerSession{"arn:s", "psess-1"}},
		{"RemovePlayerSession", pb(nil).text(1, "arn:s").text(2, "psess-1"), RemovePlayerSession{"arn:s", "psess-1"}},
		{"DescribePlayerSessionsRequest", pb(nil).text(1, "arn:s").text(2, "ada").text(3, "psess-1").text(4, "ACTIVE").text(5, "more").number(6, 30),
			DescribePlayerSessions{"arn:s", "ada", "psess-1", "ACTIVE", "more", 30}},
		{"StopMatchmakingRequest", pb(nil).text(1, "t").text(2, "arn:s").text(3, "arn:c"), StopMatchmaking{"t", "arn:s", "arn:c"}},
		{"BackfillMatchmakingRequest", pb(nil).text(2, "arn:s").text(3, "arn:c").inner(4, player), BackfillMatchmaking{
			GameSessionARN: "arn:s", ConfigurationARN: "arn:c",
			Players: []Player{{ID: "ada", Team: "red", LatencyMS: map[string]int{"eu-west-1": 23}, Attributes: map[string]Attribute{
				"mode": {Type: TypeString, S: "duel"}, "skill": {Type: TypeDouble, N: 1.5}, "maps": {Type: TypeStringList, SL: []string{"a", "b"}},
				"ranks": {Type: TypeStringDoubleMap, SDM: map[string]float64{"x": 1.5}},
			}}},
		}},
	} {
		got, err := ParseRequest(c.name, c.body)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %x: %+v, %v; want %+v", c.name, []byte(c.body), got, err, c.want)
		}
	}
	if _, err := ParseRequest("TerminateGameSession", nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown request: %v", err)
	}
	for _, broken := range []pb{{0x0a}, {0x0a, 0x05, 'a'}, pb(nil).text(1, "\xff"), {0xff}} {
		if got, err := ParseRequest("AcceptPlayerSession", broken); err == nil {
			t.Errorf("%x is taken for %+v", []byte(broken), got)
		}
	}
}

func TestFrames(t *testing.T) {
	session := GameSession{
		GameSessionID: "arn:s", FleetID: "fleet-1", Name: "n", MaxPlayers: 4, Properties: []Property{{"k", "v"}}, IPAddress: "127.0.0.1", Port: 1935,
	}
	const members = `"gameSessionId":"arn:s","fleetId":"fleet-1","name":"n","maxPlayers":4,"gameProperties":[{"key":"k","value":"v"}],` +
		`"ipAddress":"127.0.0.1","port":1935,"gameSessionData":"","matchmakerData":"","dnsName":""`
	hello := Hello("1")
	for _, c := range []struct{ got, want string }{
		{string(hello[0]), `0{"sid":"1","upgrades":[],"pingInterval":25000,"pingTimeout":60000}`},
		{string(hello[1]), "40"},
		{string(Pong([]byte("probe"))), "3probe"},
		{string(Answer(0, true, Encode(Result{Status: OK}))), `430[true,"{\"status\":\"OK\"}"]`},
		{string(Answer(3, false, Encode(Result{BadRequest, "no"}))), `433[false,"{\"status\":\"ERROR_400\",\"errorMessage\":\"no\"}"]`},
		{string(PushFrame(17, ActivateGameSession{session})), `4217["StartGameSession","{\"gameSession\":{` + strings.ReplaceAll(members, `"`, `\"`) + `}}"]`},
		{string(PushFrame(NoID, TerminateProcess{1700000000})), `42["TerminateProcess","{\"terminationTime\":1700000000}"]`},
		{string(Envelope(ActivateGameSession{session})), `{"innerMessage":{"@type":"type.googleapis.com/` + Package + `ActivateGameSession","gameSession":{` + members + `}}}`},
		{string(Envelope(UpdateGameSession{session, "BACKFILL_FAILED", "t"})),
			`{"innerMessage":{"@type":"type.googleapis.com/` + Package + `UpdateGameSession","gameSession":{` + members + `},"updateReason":"BACKFILL_FAILED","backfillTicketId":"t"}}`},
		{string(Envelope(TerminateProcess{1})), `{"innerMessage":{"@type":"type.googleapis.com/` + Package + `TerminateProcess","terminationTime":1}}`},
		{string(Encode(Certificate{CertificatePath: "a", CertificateChainPath: "b", PrivateKeyPath: "c"})), `{"certificatePath":"a","certificateChainPath":"b","privateKeyPath":"c"}`},
		{string(Encode(PlayerSessions{PlayerSessions: []PlayerSession{}})), `{"nextToken":"","playerSessions":[]}`},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	for _, r := range recorded {
		f.Add([]byte(r.text), unhex(r.binary))
	}
	f.Fuzz(func(t *testing.T, text, binary []byte) {
		var d Decoder
		p, ok, err := d.Text(text)
		if err == nil && !ok {
			p, ok, err = d.Binary(binary)
		}
		if err != nil {
			return
		}
		if ok && p.Kind == Event && p.ID < NoID || p.ID > maxID {
			t.Errorf("id %d", p.ID)
		}
		if ok && p.Kind == Event && len(p.Payload) > MaxFrame {
			t.Errorf("%d bytes", len(p.Payload))
		}
		_, _ = ParseRequest(p.Name, p.Payload)
	})
}

func FuzzParseRequest(f *testing.F) {
	for name := range requests {
		f.Add(name, []byte(pb(nil).text(1, "a").text(2, "b").number(3, 1).double(4, oneAndAHalf).inner(4, pb(nil).text(1, "x").inner(2, pb(nil).text(1, "y")))))
	}
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		got, err := ParseRequest(name, body)
		again, same := ParseRequest(name, body)
		if (err == nil) != (same == nil) || err == nil && fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", again) {
			t.Errorf("%s: read twice, two results: %+v, %+v", name, got, again)
		}
	})
}
