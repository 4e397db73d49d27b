package protocol_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/serversdk/protocol"
)

// FuzzDecode checks that no frame makes the reader panic, that each refusal is meant for
// the caller, and that what was read is the same after writing and reading it again.
func FuzzDecode(f *testing.F) {
	for _, frame := range []string{
		`{"Action":"ActivateServerProcess","RequestId":"r","SdkVersion":"5.5.0","Port":7777,"LogPaths":["/a"]}`,
		`{"Action":"HeartbeatServerProcess","RequestId":"r","HealthStatus":true}`,
		`{"Action":"DescribePlayerSessions","GameSessionId":"g","Limit":10,"NextToken":null}`,
		`{"Action":"StartMatchBackfill","Players":[{"PlayerId":"p","PlayerAttributes":{"a":{"AttrType":"DOUBLE","N":1e3}},"LatencyInMs":{"r":1}}]}`,
		csharpBackfill, `{"action":"startmatchbackfill","PLAYERS":[{"latencyinms":{"r":1},"LatencyInMS":null}]}`,
		`null`, `[`, "{\"Action\":\"\xff\"}", `{"Port":1e400}`, `{"a":{"a":{"a":[[[[]]]]}}}`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		head, err := protocol.DecodeHead(frame)
		if err == nil && len(head.RequestID) > protocol.MaxRequestID {
			t.Errorf("RequestId of %d bytes was taken", len(head.RequestID))
		}
		again[protocol.ActivateServerProcessRequest](t, frame)
		again[protocol.HeartbeatServerProcessRequest](t, frame)
		again[protocol.PlayerSessionRequest](t, frame)
		again[protocol.DescribePlayerSessionsRequest](t, frame)
		again[protocol.MatchBackfillRequest](t, frame)
	})
}

// again reads a frame, writes it, and reads it once more.
func again[T any](t *testing.T, frame []byte) {
	read, err := protocol.Decode[T](frame)
	if err != nil {
		if f, ok := fault.As(err); !ok || f.Kind != fault.InvalidRequest || f.Message == "" {
			t.Errorf("%q: error %v is not meant for the caller", frame, err)
		}
		return
	}
	written := protocol.Encode(read)
	reread, err := protocol.Decode[T](written)
	if err != nil {
		t.Fatalf("%q was read, written as %q, and then not read: %v", frame, written, err)
	}
	if diff := cmp.Diff(string(written), string(protocol.Encode(reread))); diff != "" {
		t.Errorf("%q reads differently after writing:\n%s", frame, diff)
	}
}
