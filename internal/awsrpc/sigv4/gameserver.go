package sigv4

import (
	"net/url"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// GameServer verifies the signature in the WebSocket URL of a game server SDK. That
// signature is not of a canonical request: it covers only ComputeId, FleetId and pID,
// so it can be replayed within the window for the same process.
//
// The time of signing may differ from now by at most window. It must be wide: SDKs
// reconnect hours later with the URL that they first signed, and the C# SDK stamps
// local time as if it were UTC.
func (v *Verifier) GameServer(q url.Values, now time.Time, window time.Duration) (Identity, error) {
	if q.Get("X-Amz-Signature") == "" {
		return Identity{}, fault.New(fault.MissingAuthentication, "parameter X-Amz-Signature: is required")
	}
	if q.Get("X-Amz-Algorithm") != algorithm {
		return Identity{}, malformed("parameter X-Amz-Algorithm: must be " + algorithm)
	}
	s := &signature{hex: q.Get("X-Amz-Signature"), token: q.Get("X-Amz-Security-Token")}
	if err := s.parseCredential(q.Get("X-Amz-Credential"), q.Get("X-Amz-Date")); err != nil {
		return Identity{}, err
	}
	if err := s.checkScope(v.service); err != nil {
		return Identity{}, err
	}
	if err := checkSkew(s.signed, now, window); err != nil {
		return Identity{}, err
	}
	return v.find(s, processText(q, rfcEscape), processText(q, url.QueryEscape))
}

// processText returns a function that appends the text that the signature covers. The SDKs differ in how they
// escape spaces, so callers try both ways.
func processText(q url.Values, escape func(string) string) func([]byte) []byte {
	return func(b []byte) []byte {
		return append(b, "ComputeId="+escape(q.Get("ComputeId"))+
			"&FleetId="+escape(q.Get("FleetId"))+
			"&pID="+escape(q.Get("pID"))...)
	}
}

func rfcEscape(s string) string { return string(appendEscaped(nil, s, "")) }
