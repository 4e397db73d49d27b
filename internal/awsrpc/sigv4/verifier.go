// Package sigv4 verifies AWS Signature Version 4 in the three forms that Muster
// receives: the Authorization header of API calls, the signed URL of uploads and
// downloads, and the WebSocket URL of game server SDKs.
//
// It has no state but a cache: keys come from the caller's Lookup and the time is a
// parameter. Sources: AWS General Reference, "Create a signed AWS API request"; Amazon
// S3 API reference, "Authenticating Requests: Using Query Parameters"; Server SDK 5 for
// Go, C++ and C#, as published and observed.
package sigv4

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"
	timeForm   = "20060102T150405Z"
	dateForm   = "20060102"

	// DefaultSkew is how much a signer's clock may differ by default.
	DefaultSkew = 5 * time.Minute
	// MaxExpiry is the longest life of a signed URL.
	MaxExpiry = 7 * 24 * time.Hour
	// UnsignedPayload is used in place of the hash of a payload that the signature does
	// not cover.
	UnsignedPayload = "UNSIGNED-PAYLOAD"
)

// Secret is the secret part of an access key.
type Secret struct {
	Key          string // the secret access key
	SessionToken string // "" for long-lived keys
}

// Options configure a Verifier.
type Options struct {
	// Service is the scope's service: "gamelift" or "s3". S3 escapes paths once, all
	// other services twice.
	Service string
	// Lookup returns the secret of an access key id. It must be safe for concurrent
	// use, and take the same time whether it finds one or not.
	Lookup func(accessKeyID string) (Secret, bool)
	// Skew is how much a signer's clock may differ; 0 means DefaultSkew.
	Skew time.Duration
}

// Verifier verifies signatures for one service. It is safe for concurrent use.
type Verifier struct {
	service string
	lookup  func(string) (Secret, bool)
	skew    time.Duration
	keys    keyCache
}

// Identity is the signer of a request, and the region that it signed for.
type Identity struct {
	AccessKeyID string
	Region      string
}

// New returns a Verifier.
func New(o Options) *Verifier {
	return &Verifier{service: o.Service, lookup: o.Lookup, skew: cmp.Or(o.Skew, DefaultSkew)}
}

// HashPayload returns the hash of a body as signatures cover it: SHA-256 in lower-case
// hexadecimal.
func HashPayload(body []byte) string {
	sum := sha256.Sum256(body)
	return string(hex.AppendEncode(make([]byte, 0, 2*len(sum)), sum[:]))
}

// Header verifies a request signed in its Authorization header. payloadHash is
// HashPayload of the body, or the value that the service allows in its place (S3's
// x-amz-content-sha256, if the caller checks the content itself).
//
// Its errors are faults: MissingAuthentication if there is no signature,
// UnrecognizedClient for unknown keys and session tokens, InvalidSignature for anything
// else.
func (v *Verifier) Header(r *http.Request, payloadHash string, now time.Time) (Identity, error) {
	var s signature
	secret, err := v.claim(&s, r, now)
	if err != nil {
		return Identity{}, err
	}
	return v.judge(&s, secret, true, v.canonical(r, &s, payloadHash))
}

// canonical returns a function that appends the text that a request's signature covers.
func (v *Verifier) canonical(r *http.Request, s *signature, payloadHash string) func([]byte) []byte {
	return func(b []byte) []byte { return appendCanonical(b, r, s, payloadHash, v.service == "s3") }
}

// Query verifies a signed URL: the request's query has the signature and its lifetime.
// payloadHash is UnsignedPayload for S3.
func (v *Verifier) Query(r *http.Request, payloadHash string, now time.Time) (Identity, error) {
	s, err := parseQuery(r.URL.Query())
	if err != nil {
		return Identity{}, err
	}
	if err := s.checkScope(v.service); err != nil {
		return Identity{}, err
	}
	if err := s.checkExpiry(now, v.skew); err != nil {
		return Identity{}, err
	}
	if err := s.checkSignedHeaders(r.Header); err != nil {
		return Identity{}, err
	}
	return v.find(s, v.canonical(r, s, payloadHash))
}

// find looks up the key and compares signatures. An unknown key takes as long as a
// wrong signature.
func (v *Verifier) find(s *signature, canonical ...func([]byte) []byte) (Identity, error) {
	secret, known := v.lookup(s.accessKeyID)
	if !known {
		secret = Secret{Key: noSecret}
	}
	return v.judge(s, secret, known, canonical...)
}

// judge checks that the signature is that of one of the canonical texts.
func (v *Verifier) judge(s *signature, secret Secret, known bool, canonical ...func([]byte) []byte) (Identity, error) {
	key, cached := v.keys.derive(s, secret.Key, known)
	m := key.macer(cached)
	good := 0
	for _, c := range canonical {
		m.sign(s, c)
		good |= subtle.ConstantTimeCompare(m.sum, []byte(s.hex))
	}
	if cached {
		key.put(m)
	}
	token := subtle.ConstantTimeCompare([]byte(secret.SessionToken), []byte(s.token))
	switch {
	case !known:
		return Identity{}, unknownKey()
	case good == 0:
		return Identity{}, fault.New(fault.InvalidSignature, "the signature does not match the request: "+
			"check the secret access key, and that nothing between client and server changes the host, path, headers or body")
	case token == 0:
		return Identity{}, wrongToken(secret.SessionToken != "", s.token != "")
	}
	if !cached {
		v.keys.keep(s, key)
	}
	return s.identity(), nil
}

func (s *signature) identity() Identity {
	return Identity{AccessKeyID: s.accessKeyID, Region: s.region}
}

func unknownKey() error {
	return fault.New(fault.UnrecognizedClient, "the access key id is not known here; it may be of another server, or of AWS: "+
		"use a key of this one, such as 'muster admin keys create NAME --role ROLE' makes")
}

// wrongToken returns the fault of a request with another session token than its key has; the
// request's signature is that of the key.
func wrongToken(has, sent bool) error {
	switch {
	case !has:
		return fault.New(fault.UnrecognizedClient, "X-Amz-Security-Token: the access key has no session token, and one was sent, which may be of other credentials: "+
			"unset AWS_SESSION_TOKEN, or remove aws_session_token from the profile")
	case !sent:
		return fault.New(fault.UnrecognizedClient, "X-Amz-Security-Token: the access key is valid only with its session token: set AWS_SESSION_TOKEN to the one that came with the key")
	}
	return fault.New(fault.UnrecognizedClient, "X-Amz-Security-Token: the session token does not belong to the access key: use the key, the secret and the token that came together")
}

// sign computes the signature of the canonical text that appendText appends.
func (m *macer) sign(s *signature, appendText func([]byte) []byte) {
	m.text = appendText(m.text[:0])
	sum := sha256.Sum256(m.text)
	text := append(m.text[:0], algorithm+"\n"...)
	text = append(text, s.stamp...)
	text = append(text, '\n')
	text = s.appendScope(text)
	text = append(text, '\n')
	m.text = hex.AppendEncode(text, sum[:])
	m.mac.Reset()
	m.mac.Write(m.text)
	m.sum = hex.AppendEncode(m.sum[:0], m.mac.Sum(m.hash[:0]))
}

// appendScope appends DATE/REGION/SERVICE/aws4_request.
func (s *signature) appendScope(b []byte) []byte {
	for _, part := range []string{s.date, s.region, s.service} {
		b = append(append(b, part...), '/')
	}
	return append(b, terminator...)
}

// checkSkew returns a fault for times that differ from now by more than skew.
func checkSkew(signed, now time.Time, skew time.Duration) error {
	if d := now.Sub(signed); d > skew || d < -skew {
		return fault.New(fault.InvalidSignature, "signed at %s, but it is %s here: clocks may differ by %s",
			signed.Format(timeForm), now.UTC().Format(timeForm), skew)
	}
	return nil
}
