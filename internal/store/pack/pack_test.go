package pack_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/store/pack"
)

const (
	key      = "psess-01a20e26-c2d0-7027-8ad7-fd5a3a5282ec"
	ofPlayer = `{"id":"psess-01a20e26-c2d0-7027-8ad7-fd5a3a5282ec","game_session_id":"arn:aws:gamelift:us-east-1::gamesession/fleet-01a20e26-bacf-7000-be2b-4a340499826a/custom-load/gsess-01a20e26-c2ab-7020-bc41-3e23ca3dbfd3","fleet_id":"fleet-01a20e26-bacf-7000-be2b-4a340499826a","player_id":"player-9","status":"COMPLETED","created":"2026-11-24T15:22:30.992Z","ended":"2026-11-24T15:22:31.552Z","ip_address":"127.0.0.1","dns_name":"127.0.0.1","port":1298,"reserved_until":"2026-11-24T15:23:30.992Z","archive_at":"2026-11-24T15:22:32.552Z"}`
	ofEvent  = `{"id":"01a20e26-bce4-7004-9433-3f7f1e533d75","time":"2026-11-24T15:22:29.476Z","code":"PLAYER_SESSION_REMOVED","fleet_id":"fleet-01a20e26-bacf-7000-be2b-4a340499826a","game_session_id":"arn:aws:gamelift:us-east-1::gamesession/fleet-01a20e26-bacf-7000-be2b-4a340499826a/custom-load/gsess-01a20e26-bb8b-7000-8273-40d2aa03f7e1","player_session_id":"psess-01a20e26-bba5-7003-8559-7f45f0a9d768"}`
)

// Stored documents stay readable: these bytes were written by the first release that packed.
func TestUnpack_Stored(t *testing.T) {
	stored := "\x01\x0f\x02\x00\v\x01\x01\xa2\x0e&\xba\xcfp\x00\xbe+J4\x04\x99\x82j/x\x12\x01\x01\xa2\x0e&\u00abp \xbcA>#\xca=\xbf\xd3\n\x02\x01\x18\x03" +
		"\x01\xa2\x0e&\xc2\xd0\x1b\x04\x18\xeb\x04o\x13{@\x01\",\"\x00\x02\u00e9\":\xff\x16,\xff\x00\xff\x17}"
	want := `{"id":"psess-01a20e26-c2d0-7027-8ad7-fd5a3a5282ec","game_session_id":"arn:aws:gamelift:us-east-1::gamesession/fleet-01a20e26-bacf-7000-be2b-4a340499826a/x/gsess-01a20e26-c2ab-7020-bc41-3e23ca3dbfd3","fleet_id":"fleet-01a20e26-bacf-7000-be2b-4a340499826a","status":"COMPLETED","created":"2026-11-24T15:22:30.992Z","ended":"2026-11-24T15:22:31.552000001Z","é":true,"acceptanceRequired":false}`
	if got, err := pack.Unpack([]byte(stored), key); err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestPack_Small(t *testing.T) {
	for doc, most := range map[string]int{ofPlayer: 105, ofEvent: 95} {
		if n := len(pack.Pack(nil, []byte(doc), key)); n > most {
			t.Errorf("%d bytes, at most %d expected, for %s", n, most, doc)
		}
	}
}

func TestUnpack_Plain(t *testing.T) {
	for _, doc := range []string{"", "{}", ofEvent, "null"} {
		if got, err := pack.Unpack([]byte(doc), key); err != nil || string(got) != doc {
			t.Errorf("%q is %q, %v", doc, got, err)
		}
	}
}

// Every document is restored byte by byte, whatever it consists of.
func FuzzPack(f *testing.F) {
	for _, doc := range []string{ofPlayer, ofEvent, "", "\x00\x01\xff", "2026-11-24T15:22:31.5Z", "2026-11-24T15:22:31.500000001Z", "2026-11-24T24:22:31Z",
		"9999-01-01T00:00:00Z", "01A20E26-c2d0-7027-8ad7-fd5a3a5282ec", strings.Repeat("ü", 300), strings.Repeat("psess-", 100)} {
		f.Add([]byte(doc), key)
	}
	f.Fuzz(func(t *testing.T, doc []byte, key string) {
		packed := pack.Pack(nil, doc, key)
		got, err := pack.Unpack(packed, key)
		if err != nil || !bytes.Equal(got, doc) {
			t.Fatalf("%q became %q, %v", doc, got, err)
		}
	})
}

// Damaged documents are refused or read, and nothing more.
func FuzzUnpack(f *testing.F) {
	f.Add(pack.Pack(nil, []byte(ofPlayer), key), key)
	f.Fuzz(func(t *testing.T, stored []byte, key string) { pack.Unpack(stored, key) })
}

func BenchmarkPack(b *testing.B) {
	b.SetBytes(int64(len(ofPlayer)))
	var out []byte
	for b.Loop() {
		out = pack.Pack(out[:0], []byte(ofPlayer), key)
	}
	b.ReportMetric(float64(len(out)), "bytes/doc")
}

func BenchmarkUnpack(b *testing.B) {
	packed := pack.Pack(nil, []byte(ofPlayer), key)
	for b.Loop() {
		if _, err := pack.Unpack(packed, key); err != nil {
			b.Fatal(err)
		}
	}
}
