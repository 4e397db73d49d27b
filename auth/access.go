package auth

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// AccessGrant is what credentials for remote access allow: to open shells on one
// registration of one compute, until a time.
type AccessGrant struct {
	KeyID                string // access key of the caller who asked for them; "" if the server requires none
	FleetID, ComputeName string
	Registered           time.Time // time of this registration: a compute that is registered again needs new credentials
	Expires              time.Time // whole seconds
}

// AccessLife is how long credentials for remote access are valid.
const AccessLife = 15 * time.Minute

const accessPrefix = "MSTA" // of access key ids for remote access

// IssueAccess returns credentials for a grant. Nothing is stored: the access key id
// contains the time, the session token names the rest, and the secret is a MAC over both,
// so nobody else can create them, and any node can check them.
func (m *Master) IssueAccess(g AccessGrant) Temporary {
	raw := binary.BigEndian.AppendUint32(nil, uint32(g.Expires.Unix()))
	salt := make([]byte, 6)
	rand.Read(salt)
	t := Temporary{
		AccessKeyID:  accessPrefix + base32.StdEncoding.EncodeToString(append(raw, salt...)),
		SessionToken: strings.Join([]string{g.KeyID, g.FleetID, g.ComputeName}, ":"),
	}
	t.SecretAccessKey = m.AccessSecret(t.AccessKeyID, t.SessionToken, g.Registered)
	return t
}

// ParseAccess returns the grant that credentials claim to have, except for the time of
// the registration; ok is false if they are none for remote access. The grant is not to
// be trusted before a signature with AccessSecret was checked, and may have expired.
func ParseAccess(accessKeyID, sessionToken string) (g AccessGrant, ok bool) {
	text, ours := strings.CutPrefix(accessKeyID, accessPrefix)
	raw, err := base32.StdEncoding.DecodeString(text)
	parts := strings.Split(sessionToken, ":")
	if !ours || err != nil || len(raw) != 10 || len(parts) != 3 {
		return AccessGrant{}, false
	}
	return AccessGrant{
		KeyID: parts[0], FleetID: parts[1], ComputeName: parts[2], Expires: time.Unix(int64(binary.BigEndian.Uint32(raw)), 0),
	}, true
}

// AccessSecret returns the secret of credentials for a compute with this time of
// registration.
func (m *Master) AccessSecret(accessKeyID, sessionToken string, registered time.Time) string {
	return m.text("muster remote access v1", strings.Join([]string{accessKeyID, sessionToken, strconv.FormatInt(registered.UnixMilli(), 16)}, "\n"))
}
