package sigv4

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// appendCanonical appends the text that a request's signature covers.
func appendCanonical(b []byte, r *http.Request, s *signature, payloadHash string, isS3 bool) []byte {
	b = append(b, r.Method...)
	b = append(b, '\n')
	b = appendPath(b, r.URL, isS3)
	b = append(b, '\n')
	b = appendQuery(b, r.URL.RawQuery, s.inQuery)
	b = append(b, '\n')
	for name := range strings.SplitSeq(s.headers, ";") {
		b = append(b, name...)
		b = append(b, ':')
		b = appendHeader(b, r, name)
		b = append(b, '\n')
	}
	b = append(b, '\n')
	b = append(b, s.headers...)
	b = append(b, '\n')
	return append(b, payloadHash...)
}

// appendPath appends the path: escaped once for S3; for all other services, the path as
// received, escaped once more.
func appendPath(b []byte, u *url.URL, isS3 bool) []byte {
	path := u.EscapedPath()
	if isS3 {
		path = u.Path
	}
	if path == "" {
		return append(b, '/')
	}
	return appendEscaped(b, path, "/")
}

// appendQuery appends the parameters sorted by name, then value, except for the
// signature itself if it is one of them.
func appendQuery(b []byte, raw string, signed bool) []byte {
	if raw == "" {
		return b
	}
	var pairs []string
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if pair == "" || signed && name == "X-Amz-Signature" {
			continue
		}
		p := appendEscaped(nil, unescape(name), "")
		p = append(p, '\x00') // sorts a name before every longer name that begins with it
		pairs = append(pairs, string(appendEscaped(p, unescape(value), "")))
	}
	slices.Sort(pairs)
	return append(b, strings.ReplaceAll(strings.Join(pairs, "&"), "\x00", "=")...)
}

// unescape unescapes a parameter, or returns it unchanged if it has invalid escapes.
func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// appendHeader appends a header's values, joined with commas, with runs of spaces
// collapsed. Go's server keeps three headers outside of Request.Header.
func appendHeader(b []byte, r *http.Request, name string) []byte {
	switch name {
	case "host":
		return append(b, r.Host...)
	case "content-length":
		return strconv.AppendInt(b, max(r.ContentLength, 0), 10)
	case "transfer-encoding":
		return append(b, strings.Join(r.TransferEncoding, ",")...)
	}
	for i, v := range r.Header[headerKey(name)] {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCollapsed(b, strings.Trim(v, " "))
	}
	return b
}

// amzHeaders are the keys of headers that most requests sign and net/http does not know,
// by their names in lower case.
var amzHeaders = map[string]string{
	"amz-sdk-invocation-id": "Amz-Sdk-Invocation-Id", "amz-sdk-request": "Amz-Sdk-Request", "smithy-protocol": "Smithy-Protocol",
	"x-amz-content-sha256": "X-Amz-Content-Sha256", "x-amz-date": "X-Amz-Date",
	"x-amz-security-token": "X-Amz-Security-Token", "x-amz-target": "X-Amz-Target",
}

// headerKey is http.CanonicalHeaderKey without an allocation for the headers of AWS.
func headerKey(name string) string {
	if key, ok := amzHeaders[name]; ok {
		return key
	}
	return http.CanonicalHeaderKey(name)
}

// appendCollapsed appends s with every run of spaces as one space.
func appendCollapsed(b []byte, s string) []byte {
	if !strings.Contains(s, "  ") {
		return append(b, s...)
	}
	for i := range len(s) {
		if s[i] != ' ' || s[i-1] != ' ' {
			b = append(b, s[i])
		}
	}
	return b
}

// appendEscaped appends s with every byte escaped as %XX, except the unreserved ones
// (RFC 3986) and those in keep.
func appendEscaped(b []byte, s, keep string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if isUnreserved(c) || strings.IndexByte(keep, c) >= 0 {
			b = append(b, c)
			continue
		}
		b = append(b, '%', digits[c>>4], digits[c&15])
	}
	return b
}

func isUnreserved(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '_' || c == '.' || c == '~'
}
