package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// sign adds an AWS Signature Version 4 for the service gamelift: the headers host,
// content-type and x-amz-* are signed, and the whole body is.
func (c *Client) sign(r *http.Request, body []byte, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", stamp)
	if c.Credentials.SessionToken != "" {
		r.Header.Set("X-Amz-Security-Token", c.Credentials.SessionToken)
	}
	names, headers := signedHeaders(r)
	canonical := strings.Join([]string{
		r.Method, canonicalPath(r.URL), canonicalQuery(r.URL.Query()), headers, names, hash(body),
	}, "\n")
	region := c.Region
	if region == "" {
		region = "us-east-1"
	}
	scope := stamp[:8] + "/" + region + "/gamelift/aws4_request"
	key := []byte("AWS4" + c.Credentials.SecretAccessKey)
	for _, part := range strings.Split(scope, "/") {
		key = mac(key, part)
	}
	toSign := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hash([]byte(canonical))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.Credentials.AccessKeyID+"/"+scope+
		", SignedHeaders="+names+", Signature="+hex.EncodeToString(mac(key, toSign)))
}

// signedHeaders returns the names of the headers to sign, and their canonical lines.
func signedHeaders(r *http.Request) (names, lines string) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	values := map[string]string{"host": host}
	for name, v := range r.Header {
		if name = strings.ToLower(name); name == "content-type" || strings.HasPrefix(name, "x-amz-") {
			values[name] = strings.TrimSpace(strings.Join(v, ","))
		}
	}
	var list []string
	for name := range values {
		list = append(list, name)
	}
	slices.Sort(list)
	for _, name := range list {
		lines += name + ":" + values[name] + "\n"
	}
	return strings.Join(list, ";"), lines
}

func canonicalPath(u *url.URL) string {
	if p := u.EscapedPath(); p != "" {
		return p
	}
	return "/"
}

// canonicalQuery differs from url.Values.Encode only in how it escapes a space.
func canonicalQuery(v url.Values) string { return strings.ReplaceAll(v.Encode(), "+", "%20") }

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
