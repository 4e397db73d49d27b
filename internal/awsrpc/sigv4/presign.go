package sigv4

import (
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Grant describes what a signed URL created by Presign allows.
type Grant struct {
	Method      string // GET, PUT, …
	Base        string // scheme and host, without a trailing slash
	Path        string // not escaped
	AccessKeyID string
	Secret      string
	Region      string
	Service     string
	Life        time.Duration // whole seconds, at most MaxExpiry
}

// Presign returns a signed URL, which Verifier.Query accepts.
func Presign(g Grant, now time.Time) (string, error) {
	base, err := url.Parse(g.Base)
	if err != nil {
		return "", err
	}
	stamp := now.UTC().Format(timeForm)
	s := &signature{
		accessKeyID: g.AccessKeyID, date: stamp[:len(dateForm)], region: g.Region, service: g.Service,
		stamp: stamp, headers: "host", inQuery: true,
	}
	q := url.Values{
		"X-Amz-Algorithm":     {algorithm},
		"X-Amz-Credential":    {s.accessKeyID + "/" + string(s.appendScope(nil))},
		"X-Amz-Date":          {stamp},
		"X-Amz-Expires":       {strconv.Itoa(int(g.Life / time.Second))},
		"X-Amz-SignedHeaders": {"host"},
	}
	u := &url.URL{Scheme: base.Scheme, Host: base.Host, Path: g.Path, RawPath: string(appendEscaped(nil, g.Path, "/")), RawQuery: q.Encode()}
	r := &http.Request{Method: g.Method, URL: u, Host: base.Host}
	m := deriveKey(s, g.Secret).macer(false)
	m.sign(s, func(b []byte) []byte { return appendCanonical(b, r, s, UnsignedPayload, g.Service == "s3") })
	u.RawQuery += "&X-Amz-Signature=" + string(m.sum)
	return u.String(), nil
}
