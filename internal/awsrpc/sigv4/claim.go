package sigv4

import (
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// Claim is what a request's headers say of who signed it, as far as that can be
// checked before the body has been read.
type Claim struct {
	Identity Identity // not to be trusted before Body has returned nil

	verifier *Verifier
	request  *http.Request
	sig      *signature
	secret   Secret
	payload  string // hash of the body by a signature that was good, "" where it is yet to be checked
}

// Claim reads the Authorization header of a request, whose key must be known and
// whose scope and time must be good. Where the signed header x-amz-content-sha256
// has the body's hash, the signature is checked as well.
//
// Its errors are those of Header.
func (v *Verifier) Claim(r *http.Request, now time.Time) (*Claim, error) {
	s, secret, err := v.claim(r, now)
	if err != nil {
		return nil, err
	}
	c := &Claim{Identity: s.identity(), verifier: v, request: r, sig: s, secret: secret}
	if hash := r.Header.Get("X-Amz-Content-Sha256"); isHash(hash) {
		c.payload = hash
		return c, c.verify(hash)
	}
	return c, nil
}

// Body checks the claim against the body of the request.
func (c *Claim) Body(body []byte) error {
	hash := HashPayload(body)
	switch c.payload {
	case "":
		return c.verify(hash)
	case hash:
		return nil
	}
	return fault.New(fault.InvalidSignature, "header x-amz-content-sha256: is not the hash of the body")
}

func (c *Claim) verify(hash string) error {
	_, err := c.verifier.judge(c.sig, c.secret, true, canonicalRequest(c.request, c.sig, hash, c.verifier.service == "s3"))
	return err
}

// claim reads who claims to have signed a request, and finds the key's secret.
func (v *Verifier) claim(r *http.Request, now time.Time) (*signature, Secret, error) {
	s, err := parseHeader(r)
	if err != nil {
		return nil, Secret{}, err
	}
	if err := s.checkScope(v.service); err != nil {
		return nil, Secret{}, err
	}
	if err := checkSkew(s.signed, now, v.skew); err != nil {
		return nil, Secret{}, err
	}
	if err := s.checkSignedHeaders(r.Header); err != nil {
		return nil, Secret{}, err
	}
	secret, known := v.lookup(s.accessKeyID)
	if !known {
		return nil, Secret{}, unknownKey()
	}
	return s, secret, nil
}

// isHash reports whether text is a SHA-256 as clients write it, and none of the
// words that may stand in its place.
func isHash(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 64 && text == strings.ToLower(text)
}
