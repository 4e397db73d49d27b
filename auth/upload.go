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

// UploadGrant is what temporary credentials allow: to bring one build its
// archive, until a time.
type UploadGrant struct {
	BuildID string    // build- and a UUID
	Expires time.Time // whole seconds
}

// Temporary are credentials with a session token, as AWS's STS gives them.
type Temporary struct {
	AccessKeyID, SecretAccessKey, SessionToken string
}

const (
	uploadPrefix = "MSTU" // of access key ids of uploads
	buildPrefix  = "build-"
)

// uploadEncoding has upper case letters and digits only, as AWS's key ids.
var uploadEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// IssueUpload makes credentials for a grant. Nothing is stored: the access key
// id holds the grant, and the secret and the session token are MACs over it, so
// that nobody else can make either, and any node can check them.
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

// Upload reads the grant in an access key id and gives the credentials that
// belong to it; !ok where it is none of ours. Whoever signed with the secret
// was given it by IssueUpload. The grant may have expired.
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

// text makes a secret text for one purpose and label.
func (m *Master) text(purpose, label string) string {
	mac := hmac.New(sha256.New, m.derive(purpose))
	mac.Write([]byte(label))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Signer gives the key with which Muster signs URLs that it hands out. Its
// secret leaves no node.
func (m *Master) Signer() (accessKeyID, secret string) {
	const id = "MSTRSIGNER"
	return id, m.text("muster signed url v1", id)
}
