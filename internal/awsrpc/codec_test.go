package awsrpc

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/fault"
)

// sampleStart returns a typical request of a frequent operation.
func sampleStart() *gamelift.StartGameSessionPlacementInput {
	in := &gamelift.StartGameSessionPlacementInput{
		PlacementId:               new("placement-6f1c2a34-0001"),
		GameSessionQueueName:      new("main-queue"),
		MaximumPlayerSessionCount: new(int32(10)),
		GameSessionName:           new("ranked match"),
		GameSessionData:           new(`{"map":"harbour","mode":"ranked"}`),
		GameProperties:            []gamelift.GameProperty{{Key: new("map"), Value: new("harbour")}, {Key: new("mode"), Value: new("ranked")}},
	}
	for i := range 3 {
		id := fmt.Sprintf("player-%d", i)
		in.DesiredPlayerSessions = append(in.DesiredPlayerSessions, gamelift.DesiredPlayerSession{PlayerId: &id, PlayerData: new("level=7")})
		in.PlayerLatencies = append(in.PlayerLatencies, gamelift.PlayerLatency{
			PlayerId: &id, RegionIdentifier: new("us-east-1"), LatencyInMilliseconds: new(float32(40.5))})
	}
	return in
}

// sampleOutput returns the matching response.
func sampleOutput() *gamelift.DescribeGameSessionPlacementOutput {
	in := sampleStart()
	p := &gamelift.GameSessionPlacement{
		PlacementId: in.PlacementId, GameSessionQueueName: in.GameSessionQueueName, Status: new("FULFILLED"),
		MaximumPlayerSessionCount: in.MaximumPlayerSessionCount, GameSessionName: in.GameSessionName,
		GameProperties: in.GameProperties, PlayerLatencies: in.PlayerLatencies, GameSessionData: in.GameSessionData,
		GameSessionArn: new("arn:aws:gamelift:us-east-1::gamesession/fleet-1/placement-6f1c2a34-0001"),
		StartTime:      gamelift.At(time.UnixMilli(1469498468057)), EndTime: gamelift.At(time.UnixMilli(1469498469000)),
		IpAddress: new("192.0.2.7"), Port: new(int32(33435)),
	}
	for _, d := range in.DesiredPlayerSessions {
		p.PlacedPlayerSessions = append(p.PlacedPlayerSessions, gamelift.PlacedPlayerSession{PlayerId: d.PlayerId, PlayerSessionId: new("psess-1")})
	}
	return &gamelift.DescribeGameSessionPlacementOutput{GameSessionPlacement: p}
}

func TestDecode_Lenient(t *testing.T) {
	s := newTestServer(t)
	for _, c := range []struct {
		name string
		codec
		body string
	}{
		{"empty", s.json, ""}, {"empty", s.cbor, ""},
		{"blanks", s.json, " \n{ } \n"},
		{"null", s.json, `{"AliasId":null}`},
		{"null", s.cbor, "\xa1gAliasId\xf6"}, {"undefined", s.cbor, "\xa1gAliasId\xf7"},
		{"unknown members", s.json, `{"X":{"Y":[1,{"Z":null}]}}`}, {"unknown members", s.cbor, "\xa1aX\xa1aY\x82\x01\xc1\xfb\x41\xd5\xe5\xb1\x19\x03\xa5\xe3"},
		{"other case is unknown", s.json, `{"aliasid":"x"}`}, {"other case is unknown", s.cbor, "\xa1galiasidax"},
	} {
		var in gamelift.DescribeAliasInput
		if err := c.decode([]byte(c.body), &in); err != nil || in.AliasId != nil {
			t.Errorf("%s %s: %v, %v", c.codec.name(), c.name, in.AliasId, err)
		}
	}
	latency := func(c codec, body string) {
		var in gamelift.StartGameSessionPlacementInput
		err := c.decode([]byte(body), &in)
		if err != nil || len(in.PlayerLatencies) != 1 || *in.PlayerLatencies[0].LatencyInMilliseconds != 1.5 {
			t.Errorf("%s latency %q: %+v, %v", c.name(), body, in.PlayerLatencies, err)
		}
	}
	latency(s.json, `{"PlayerLatencies":[{"LatencyInMilliseconds":1.5}]}`)
	head := "\xa1oPlayerLatencies\x81\xa1uLatencyInMilliseconds"
	latency(s.cbor, head+"\xf9\x3e\x00")                         // half
	latency(s.cbor, head+"\xfa\x3f\xc0\x00\x00")                 // single, as SDKs send it
	latency(s.cbor, head+"\xfb\x3f\xf8\x00\x00\x00\x00\x00\x00") // double

	for _, c := range []struct {
		codec
		body   string
		millis int64
	}{
		{s.json, `1577836800`, 1577836800000}, {s.json, `1577836800.5`, 1577836800500}, {s.json, `0`, 0},
		{s.cbor, "\xc1\x1a\x5e\x0b\xe1\x00", 1577836800000}, {s.cbor, "\xc1\xfb\x41\xd7\x82\xf8\x40\x20\x00\x00", 1577836800500}, {s.cbor, "\xc1\x00", 0},
	} {
		head := map[string]string{"json": `{"StartTime":`, "cbor": "\xa1iStartTime"}[c.name()]
		var in gamelift.DescribeFleetEventsInput
		if err := c.decode([]byte(head+c.body+map[string]string{"json": "}"}[c.name()]), &in); err != nil || in.StartTime.UnixMilli() != c.millis {
			t.Errorf("%s time %q: %v, %v", c.name(), c.body, in.StartTime, err)
		}
	}
}

func TestDecode_Refusals(t *testing.T) {
	s := newTestServer(t)
	for _, bad := range []string{`"yesterday"`, `true`, `[1]`} {
		if err := s.json.decode([]byte(`{"StartTime":`+bad+`}`), new(gamelift.DescribeFleetEventsInput)); !fault.Is(err, fault.Serialization) {
			t.Errorf("time %s: got %v", bad, err)
		}
	}
	many := strings.Repeat(`"",`, maxValues+1)
	for _, c := range []struct {
		codec
		body, want string
	}{
		{s.json, `{"AliasId":`, "malformed JSON"},
		{s.json, `{} {}`, "malformed JSON"},
		{s.json, "{\"AliasId\":\"\xff\"}", "malformed JSON"},
		{s.json, `{"PlayerIds":["a",{"b":1}]}`, "PlayerIds[1]: must be a string"},
		{s.json, `{"PlayerIds":["` + many + `"]}`, "malformed JSON"}, // the quotes end the list early, which is harmless
		{s.json, `{"PlayerIds":[` + many + `""]}`, "more than 131072 values"},
		{s.json, strings.Repeat(`{"a":`, 33), "deeper than 32"},
		{s.cbor, "\xa1", "malformed CBOR"},
		{s.cbor, "\xa0\xa0", "malformed CBOR"},
		{s.cbor, "\x80", "body: cannot be a CBOR array"},
		{s.cbor, "\xa1iPlayerIds\x81\x01", "PlayerIds: cannot be a CBOR positive integer"},
		{s.cbor, "\xa2iPlayerIds\x80iPlayerIds\x80", "malformed CBOR"},
		{s.cbor, "\xa1iPlayerIds\x9a\x7f\xff\xff\xff", "malformed CBOR"},
		{s.cbor, "\xa1hTicketIda\xff", "malformed CBOR"},
		{s.cbor, "\xa1aX" + strings.Repeat("\x81", 40) + "\x01", "malformed CBOR"},
	} {
		err := c.decode([]byte(c.body), new(gamelift.AcceptMatchInput))
		if !fault.Is(err, fault.Serialization) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.40q: got %v, want %q", c.codec.name(), c.body, err, c.want)
		}
	}
}

// Every input that can be decoded can be encoded and decoded again, with the same
// result.
func fuzzCodec(f *testing.F, c codec) {
	for _, in := range []any{sampleStart(), sampleOutput(), &gamelift.StartMatchmakingInput{Players: []gamelift.Player{{
		PlayerAttributes: map[string]gamelift.AttributeValue{"skill": {N: new(2.5)}}, LatencyInMs: map[string]int32{"a": 1}}}},
		&gamelift.CreateScriptInput{ZipFile: []byte{1, 2}}, &gamelift.DescribeFleetEventsInput{StartTime: gamelift.At(time.UnixMilli(5))}} {
		var buf bytes.Buffer
		if err := c.encode(&buf, in); err != nil {
			f.Fatal(err)
		}
		f.Add(buf.Bytes())
	}
	names := []func() any{
		func() any { return new(gamelift.StartGameSessionPlacementInput) },
		func() any { return new(gamelift.StartMatchmakingInput) },
		func() any { return new(gamelift.CreateScriptInput) },
		func() any { return new(gamelift.DescribeFleetEventsInput) },
		func() any { return new(gamelift.DescribeGameSessionPlacementOutput) },
	}
	s := newTestServer(f)
	start := s.operations["StartMatchmaking"].input
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, make := range names {
			in := make()
			if err := c.decode(body, in); err != nil {
				if !fault.Is(err, fault.Serialization) {
					t.Fatalf("%v is no SerializationException", err)
				}
				continue
			}
			if m, ok := in.(*gamelift.StartMatchmakingInput); ok && new(checker).check(start, m) != nil {
				continue // NaN cannot be written as JSON, and is not equal to itself
			}
			var buf bytes.Buffer
			if err := c.encode(&buf, in); err != nil {
				if strings.Contains(err.Error(), "NaN") || strings.Contains(err.Error(), "Inf") {
					continue
				}
				t.Fatalf("write what %q gave: %v", body, err)
			}
			again := make()
			if err := c.decode(buf.Bytes(), again); err != nil {
				t.Fatalf("read %q again: %v", buf.Bytes(), err)
			}
			if d := cmp.Diff(in, again, nanEqual); d != "" {
				t.Fatalf("%q: %s", body, d)
			}
		}
	})
}

var nanEqual = cmp.FilterValues(func(a, b float32) bool { return a != a && b != b }, cmp.Comparer(func(a, b float32) bool { return true }))

func FuzzJSON(f *testing.F) { fuzzCodec(f, jsonCodec{}) }

func FuzzCBOR(f *testing.F) {
	c, err := newCBORCodec("n")
	if err != nil {
		f.Fatal(err)
	}
	fuzzCodec(f, c)
}

func BenchmarkCodec(b *testing.B) {
	s := newTestServer(b)
	op := s.operations["StartGameSessionPlacement"]
	for _, c := range []codec{s.json, s.cbor} {
		var body, buf bytes.Buffer
		if err := c.encode(&body, sampleStart()); err != nil {
			b.Fatal(err)
		}
		b.Run(c.name()+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(body.Len()))
			for b.Loop() {
				if err := c.decode(body.Bytes(), op.NewInput()); err != nil {
					b.Fatal(err)
				}
			}
		})
		out := sampleOutput()
		b.Run(c.name()+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf.Reset()
				if err := c.encode(&buf, out); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(buf.Len()))
		})
	}
	in, check := sampleStart(), new(checker)
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := check.check(op.input, in); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// discard is a ResponseWriter that discards the body.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkServe measures a whole request except for the socket and the signature.
func BenchmarkServe(b *testing.B) {
	s := newTestServer(b)
	Handle(s, "StartGameSessionPlacement", func(context.Context, *gamelift.StartGameSessionPlacementInput) (*gamelift.StartGameSessionPlacementOutput, error) {
		return &gamelift.StartGameSessionPlacementOutput{GameSessionPlacement: sampleOutput().GameSessionPlacement}, nil
	})
	for _, c := range []codec{s.json, s.cbor} {
		b.Run(c.name(), func(b *testing.B) {
			var body bytes.Buffer
			if err := c.encode(&body, sampleStart()); err != nil {
				b.Fatal(err)
			}
			r := httptest.NewRequest("POST", "/", nil)
			r.Header.Set(targetHeader, "GameLift.StartGameSessionPlacement")
			if c.name() == "cbor" {
				r = httptest.NewRequest("POST", s.cborPath+"StartGameSessionPlacement", nil)
				r.Header.Set(smithyProtocol, rpcV2CBOR)
			}
			r.Header.Set("Content-Type", c.contentType())
			reader := bytes.NewReader(nil)
			b.ReportAllocs()
			for b.Loop() {
				reader.Reset(body.Bytes())
				r.Body = readCloser{reader}
				s.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }
