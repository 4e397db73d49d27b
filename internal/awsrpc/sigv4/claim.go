package sigv4

import (
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// Claim is the signer of a request according to its headers, checked as far as possible
// before the body is read.
type Claim struct {
	Identity Identity // not to be trusted before Body has returned nil

	verifier *Verifier
	request  *http.Request
	sig      signature
	secret   Secret
	payload  string // the body's hash if the signature was valid for it, "" if it is not yet checked
}

// Claim reads the Authorization header of a request. The key must be known, and scope
// and time must be valid. If the signed header x-amz-content-sha256 has the body's
// hash, the signature is checked too.
//
// Its errors are those of Header.
func (v *Verifier) Claim(r *http.Request, now time.Time) (*Claim, error) {
	c := &Claim{verifier: v, request: r}
	var err error
	if c.secret, err = v.claim(&c.sig, r, now); err != nil {
		return nil, err
	}
	c.Identity = c.sig.identity()
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
	_, err := c.verifier.judge(&c.sig, c.secret, true, c.verifier.canonical(c.request, &c.sig, hash))
	return err
}

// claim parses the Authorization header into s, checks scope and time, and returns the
// key's secret.
func (v *Verifier) claim(s *signature, r *http.Request, now time.Time) (Secret, error) {
	if err := s.parseHeader(r); err != nil {
		return Secret{}, err
	}
	if err := s.checkScope(v.service); err != nil {
		return Secret{}, err
	}
	if err := checkSkew(s.signed, now, v.skew); err != nil {
		return Secret{}, err
	}
	if err := s.checkSignedHeaders(r.Header); err != nil {
		return Secret{}, err
	}
	secret, known := v.lookup(s.accessKeyID)
	if !known {
		return Secret{}, unknownKey()
	}
	return secret, nil
}

// isHash reports whether text is a SHA-256 hash in lower-case hexadecimal, not one of
// the keywords allowed in its place.
func isHash(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 64 && text == strings.ToLower(text)
}
