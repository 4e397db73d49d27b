package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// ComputeGrant is what a compute token allows: to connect as the game server processes
// of one registration of one compute.
type ComputeGrant struct {
	FleetID, ComputeName string
	Registered           time.Time // time of this registration: a compute that is registered again has new tokens
}

// NodeSecret returns the secret with which the nodes of a deployment authenticate to
// each other.
func (m *Master) NodeSecret() []byte { return m.derive("muster nodes v1") }

// macBytes is the length of the MAC in a token; with 20 bytes a token has 49 characters
// of the API's 64.
const macBytes = 20

// Issue returns a token for a compute that expires at a time (whole seconds). It has at
// most 64 characters of [a-zA-Z0-9-], as the API requires.
func (m *Master) Issue(g ComputeGrant, expires time.Time) string {
	at := strconv.FormatInt(expires.Unix(), 16)
	return at + "-" + hex.EncodeToString(m.grantMAC(g, at))
}

// Check reports whether a token was issued for the grant, and returns when it expires.
// An expired token still belongs to the grant: processes that connected with it may
// reconnect, since AWS's SDKs never request a new one.
func (m *Master) Check(token string, g ComputeGrant) (expires time.Time, ok bool) {
	at, mac, _ := strings.Cut(token, "-")
	got, err := hex.DecodeString(mac)
	want := m.grantMAC(g, at)
	if !hmac.Equal(got, want) || err != nil {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(at, 16, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0), true
}

func (m *Master) grantMAC(g ComputeGrant, at string) []byte {
	mac := hmac.New(sha256.New, m.tokens)
	for _, part := range []string{g.FleetID, g.ComputeName, strconv.FormatInt(g.Registered.UnixMilli(), 16), at} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	return mac.Sum(nil)[:macBytes]
}
