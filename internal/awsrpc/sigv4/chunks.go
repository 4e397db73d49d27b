package sigv4

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"time"
)

// The x-amz-content-sha256 values of payloads sent in signed or unsigned chunks (Amazon
// S3 API reference, "Transferring Payload in Multiple Chunks").
const (
	StreamingSigned          = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	StreamingSignedTrailer   = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
	StreamingUnsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// Chunks checks the signatures of a payload's chunks. Each covers the signature before
// it, the first covers that of the request. It is not safe for concurrent use.
type Chunks struct {
	key      []byte
	scope    string // stamp and scope as in each text to sign
	previous string
}

// Stream is like Header for a request whose payload comes in signed chunks. The Chunks
// that it returns check them.
func (v *Verifier) Stream(r *http.Request, payloadHash string, now time.Time) (Identity, *Chunks, error) {
	id, err := v.Header(r, payloadHash, now)
	if err != nil {
		return Identity{}, nil, err
	}
	var s signature
	if err := s.parseHeader(r); err != nil {
		return Identity{}, nil, err
	}
	secret, known := v.lookup(s.accessKeyID)
	key, _ := v.keys.derive(&s, secret.Key, known)
	return id, newChunks(&s, key.key), nil
}

func newChunks(s *signature, key []byte) *Chunks {
	return &Chunks{key: key, scope: s.stamp + "\n" + string(s.appendScope(nil)) + "\n", previous: s.hex}
}

// emptyHash is the SHA-256 hash of an empty payload.
var emptyHash = HashPayload(nil)

// Chunk reports whether a signature is that of the next chunk, whose data has the
// SHA-256 hash sum.
func (c *Chunks) Chunk(sum []byte, signature string) bool {
	return c.next("AWS4-HMAC-SHA256-PAYLOAD", emptyHash+"\n"+hex.EncodeToString(sum), signature)
}

// Trailer reports whether a signature is that of the trailing headers, each written as
// name:value and a line feed.
func (c *Chunks) Trailer(headers, signature string) bool {
	sum := sha256.Sum256([]byte(headers))
	return c.next("AWS4-HMAC-SHA256-TRAILER", hex.EncodeToString(sum[:]), signature)
}

func (c *Chunks) next(kind, hashes, signature string) bool {
	text := kind + "\n" + c.scope + c.previous + "\n" + hashes
	want := hex.EncodeToString(mac(c.key, []byte(text)))
	c.previous = want
	return subtle.ConstantTimeCompare([]byte(want), []byte(signature)) == 1
}
