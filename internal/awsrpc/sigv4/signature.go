package sigv4

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// signature is a parsed signature.
type signature struct {
	accessKeyID string
	date        string // of the scope: 20061231
	region      string
	service     string
	stamp       string // X-Amz-Date as received
	signed      time.Time
	headers     string // names of the signed headers, lower case, separated by semicolons
	hex         string
	token       string        // session token, "" if none
	expiry      time.Duration // of a signed URL
	inQuery     bool
}

// parseHeader parses: AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=……
func (s *signature) parseHeader(r *http.Request) error {
	value := r.Header.Get("Authorization")
	if value == "" {
		return fault.New(fault.MissingAuthentication, "header Authorization: is required; sign the request with an access key of this server: "+
			"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and do not turn signing off; 'muster admin keys create NAME --role ROLE' makes a key")
	}
	fields, ok := strings.CutPrefix(value, algorithm+" ")
	if !ok {
		return malformed("header Authorization: must begin with " + algorithm)
	}
	var credential, headers string
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "Credential":
			credential = value
		case "SignedHeaders":
			headers = value
		case "Signature":
			s.hex = value
		}
	}
	s.token = r.Header.Get("X-Amz-Security-Token")
	return s.parse(credential, r.Header.Get("X-Amz-Date"), headers)
}

// parseQuery parses the parameters of a signed URL.
func parseQuery(q url.Values) (*signature, error) {
	if q.Get("X-Amz-Signature") == "" {
		return nil, fault.New(fault.MissingAuthentication, "parameter X-Amz-Signature: is required")
	}
	if q.Get("X-Amz-Algorithm") != algorithm {
		return nil, malformed("parameter X-Amz-Algorithm: must be " + algorithm)
	}
	seconds, err := strconv.Atoi(q.Get("X-Amz-Expires"))
	if err != nil || seconds < 1 || seconds > int(MaxExpiry/time.Second) {
		return nil, malformed("parameter X-Amz-Expires: must be 1 to 604800 seconds")
	}
	s := &signature{
		hex:     q.Get("X-Amz-Signature"),
		token:   q.Get("X-Amz-Security-Token"),
		expiry:  time.Duration(seconds) * time.Second,
		inQuery: true,
	}
	return s, s.parse(q.Get("X-Amz-Credential"), q.Get("X-Amz-Date"), q.Get("X-Amz-SignedHeaders"))
}

// parse parses the credential, the time and the list of signed headers, which the form
// of game servers lacks.
func (s *signature) parse(credential, stamp, headers string) error {
	if err := s.parseCredential(credential, stamp); err != nil {
		return err
	}
	s.headers = headers
	if headers != strings.ToLower(headers) || !s.covers("host") {
		return malformed("SignedHeaders: must have host, and be in lower case")
	}
	return nil
}

// covers reports whether a header, whose name is ASCII, is one of the signed headers. A name
// that equals it only by other rules of case than those of ASCII is longer.
func (s *signature) covers(header string) bool {
	for name := range strings.SplitSeq(s.headers, ";") {
		if len(name) == len(header) && strings.EqualFold(name, header) {
			return true
		}
	}
	return false
}

// parseCredential parses KEY/DATE/REGION/SERVICE/aws4_request and the time.
func (s *signature) parseCredential(credential, stamp string) error {
	rest := credential
	for _, part := range []*string{&s.accessKeyID, &s.date, &s.region, &s.service} {
		*part, rest, _ = strings.Cut(rest, "/")
	}
	if rest != terminator || s.accessKeyID == "" {
		return malformed("Credential: must be KEY/DATE/REGION/SERVICE/" + terminator)
	}
	if len(s.accessKeyID) > 128 || len(s.region) > 64 {
		return malformed("Credential: the key must have at most 128 characters and the region 64")
	}
	if len(s.hex) != 64 {
		return malformed("Signature: must have 64 hexadecimal digits")
	}
	signed, err := time.Parse(timeForm, stamp)
	if err != nil {
		return malformed("X-Amz-Date: must look like 20060102T150405Z")
	}
	s.stamp, s.signed = stamp, signed
	if stamp[:len(dateForm)] != s.date {
		return malformed("Credential: its date must be that of X-Amz-Date")
	}
	return nil
}

func (s *signature) checkScope(service string) error {
	if s.service != service {
		return malformed("Credential: its service must be " + service)
	}
	return nil
}

// checkExpiry returns a fault for a URL that has expired, or whose life begins more
// than skew from now.
func (s *signature) checkExpiry(now time.Time, skew time.Duration) error {
	switch {
	case s.signed.Sub(now) > skew:
		return checkSkew(s.signed, now, skew)
	case now.After(s.signed.Add(s.expiry)):
		return fault.New(fault.InvalidSignature, "the signed URL expired at %s", s.signed.Add(s.expiry).Format(timeForm))
	}
	return nil
}

// checkSignedHeaders returns a fault for X-Amz- headers that the signature does not
// cover, since one of them names the operation. Headers added by a content delivery
// network and the client's user agent have no effect and are exempt.
func (s *signature) checkSignedHeaders(h http.Header) error {
	for name := range h {
		if !strings.HasPrefix(name, "X-Amz-") || strings.HasPrefix(name, "X-Amz-Cf-") || name == "X-Amz-User-Agent" {
			continue
		}
		if !s.covers(name) {
			return malformed("SignedHeaders: must have " + strings.ToLower(name))
		}
	}
	return nil
}

func malformed(rule string) error { return fault.New(fault.InvalidSignature, "%s", rule) }
