package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"
)

// UploadGrant is what temporary credentials allow: to upload the archive of one build,
// until a time.
type UploadGrant struct {
	BuildID string    // build- and a UUID
	Expires time.Time // whole seconds
}

// Temporary are credentials with a session token, like those of AWS's STS.
type Temporary struct {
	AccessKeyID, SecretAccessKey, SessionToken string
}

const (
	uploadPrefix = "MSTU" // of access key ids for uploads
	buildPrefix  = "build-"
)

// uploadEncoding uses only upper-case letters and digits, like AWS's key ids.
var uploadEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// IssueUpload returns credentials for a grant, or false if the build id is invalid.
// Nothing is stored: the access key id contains the grant, and the secret and the
// session token are MACs over it, so nobody else can create them, and any node can
// check them.
func (m *Master) IssueUpload(g UploadGrant) (Temporary, bool) {
	id, err := uuid.Parse(strings.TrimPrefix(g.BuildID, buildPrefix))
	if err != nil || !strings.HasPrefix(g.BuildID, buildPrefix) {
		return Temporary{}, false
	}
	raw := binary.BigEndian.AppendUint32(nil, uint32(g.Expires.Unix()))
	raw = append(raw, id[:]...)
	salt := make([]byte, 6)
	rand.Read(salt)
	raw = append(raw, salt...)
	return m.temporary(uploadPrefix + uploadEncoding.EncodeToString(raw)), true
}

// Upload decodes the grant in an access key id and returns the credentials that belong
// to it; ok is false if the id is not one for uploads. Only a caller that got the
// secret from IssueUpload can sign with it. The grant may have expired.
func (m *Master) Upload(accessKeyID string) (t Temporary, g UploadGrant, ok bool) {
	text, ours := strings.CutPrefix(accessKeyID, uploadPrefix)
	raw, err := uploadEncoding.DecodeString(text)
	if !ours || err != nil || len(raw) != 4+16+6 {
		return Temporary{}, UploadGrant{}, false
	}
	g.Expires = time.Unix(int64(binary.BigEndian.Uint32(raw)), 0)
	g.BuildID = buildPrefix + uuid.UUID(raw[4:20]).String()
	return m.temporary(accessKeyID), g, true
}

func (m *Master) temporary(accessKeyID string) Temporary {
	return Temporary{accessKeyID, m.text("muster upload secret v1", accessKeyID), m.text("muster upload token v1", accessKeyID)}
}

// text returns a secret text for one purpose and label.
func (m *Master) text(purpose, label string) string {
	mac := hmac.New(sha256.New, m.derive(purpose))
	mac.Write([]byte(label))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Signer returns the access key with which Muster signs URLs. Its secret never leaves
// the nodes.
func (m *Master) Signer() (accessKeyID, secret string) {
	const id = "MSTRSIGNER"
	return id, m.text("muster signed url v1", id)
}
