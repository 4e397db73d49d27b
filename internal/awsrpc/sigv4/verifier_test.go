package sigv4_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/fault"
)

const (
	testKey    = "AKIDEXAMPLE"
	testSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

var testNow = time.Date(2026, 11, 21, 1, 39, 11, 0, time.UTC)

// newVerifier returns a verifier that knows testKey, and "AKIDTOKEN" with a session
// token.
func newVerifier(service string) *sigv4.Verifier {
	return sigv4.New(sigv4.Options{Service: service, Lookup: func(id string) (sigv4.Secret, bool) {
		switch id {
		case testKey:
			return sigv4.Secret{Key: testSecret}, true
		case "AKIDTOKEN":
			return sigv4.Secret{Key: testSecret, SessionToken: "the token+/="}, true
		}
		return sigv4.Secret{}, false
	}})
}

// signed returns a request like the AWS CLI's, signed by AWS's own signer.
func signed(t testing.TB, creds aws.Credentials, at time.Time, method, target, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, "http://127.0.0.1:9080"+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "GameLift.DescribeAlias")
	r.Header.Set("X-Custom", "a   b  c")
	err = v4.NewSigner().SignHTTP(context.Background(), creds, r, sigv4.HashPayload([]byte(body)), "gamelift", "us-east-1", at)
	if err != nil {
		t.Fatal(err)
	}
	return received(t, r, body)
}

// received returns the request as a server reads it from the connection.
func received(t testing.TB, r *http.Request, body string) *http.Request {
	t.Helper()
	got := httptest.NewRequest(r.Method, r.URL.RequestURI(), bytes.NewReader([]byte(body)))
	got.Host = r.URL.Host
	got.Header = r.Header.Clone()
	got.Header.Del("Content-Length")
	return got
}

func plainKey() aws.Credentials {
	return aws.Credentials{AccessKeyID: testKey, SecretAccessKey: testSecret}
}

func TestHeader_SignedByAWS(t *testing.T) {
	const body = `{"AliasId":"alias-é"}`
	token := aws.Credentials{AccessKeyID: "AKIDTOKEN", SecretAccessKey: testSecret, SessionToken: "the token+/="}
	for _, target := range []string{"/", "/a%20b/c+d", "/service/GameLift/operation/DescribeAlias",
		"/?b=2&a=1&a=0&c", "/x?key%20one=v%C3%A9&Key=%2B&k=+&empty=", "/a%2Fb"} {
		for _, creds := range []aws.Credentials{plainKey(), token} {
			r := signed(t, creds, testNow, "POST", target, body)
			id, err := newVerifier("gamelift").Header(r, sigv4.HashPayload([]byte(body)), testNow)
			if err != nil {
				t.Errorf("%s with %s: %v", target, creds.AccessKeyID, err)
				continue
			}
			if want := (sigv4.Identity{AccessKeyID: creds.AccessKeyID, Region: "us-east-1"}); id != want {
				t.Errorf("%s: got %+v, want %+v", target, id, want)
			}
		}
	}
}

// The example of AWS General Reference, "Signature Version 4 signing process".
func TestHeader_PublishedExample(t *testing.T) {
	r := httptest.NewRequest("GET", "/?Action=ListUsers&Version=2010-05-08", nil)
	r.Host = "iam.amazonaws.com"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	r.Header.Set("X-Amz-Date", "20150830T123600Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "+
		"SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7")
	now := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	if _, err := newVerifier("iam").Header(r, sigv4.HashPayload(nil), now); err != nil {
		t.Error(err)
	}
}

func TestHeader_Refusals(t *testing.T) {
	const body = `{"AliasId":"alias-1"}`
	hash := sigv4.HashPayload([]byte(body))
	auth := func(old, new string) func(r *http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), old, new, 1))
		}
	}
	for _, c := range []struct {
		name   string
		change func(r *http.Request)
		hash   string
		kind   fault.Kind
		text   string
	}{
		{"unsigned", func(r *http.Request) { r.Header.Del("Authorization") }, hash, fault.MissingAuthentication, "header Authorization: is required; sign the request with an access key of this server: set AWS_ACCESS_KEY_ID"},
		{"other scheme", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, hash, fault.InvalidSignature, "AWS4-HMAC-SHA256"},
		{"body", func(*http.Request) {}, sigv4.HashPayload([]byte("{}")), fault.InvalidSignature, "does not match"},
		{"unsigned payload", func(*http.Request) {}, sigv4.UnsignedPayload, fault.InvalidSignature, "does not match"},
		{"target", func(r *http.Request) { r.Header.Set("X-Amz-Target", "GameLift.DeleteAlias") }, hash, fault.InvalidSignature, "does not match"},
		{"host", func(r *http.Request) { r.Host = "elsewhere" }, hash, fault.InvalidSignature, "does not match"},
		{"method", func(r *http.Request) { r.Method = "PUT" }, hash, fault.InvalidSignature, "does not match"},
		{"path", func(r *http.Request) { r.URL.Path = "/x" }, hash, fault.InvalidSignature, "does not match"},
		{"length", func(r *http.Request) { r.ContentLength = 5 }, hash, fault.InvalidSignature, "does not match"},
		{"header not signed", func(r *http.Request) { r.Header.Set("X-Amz-Extra", "x") }, hash, fault.InvalidSignature, "must have x-amz-extra"},
		{"header that folds to another's name", func(r *http.Request) {
			r.Header.Set("X-Amz-Sts", "x")
			auth("SignedHeaders=", "SignedHeaders=x-amz-\u017ft\u017f;")(r)
		}, hash, fault.InvalidSignature, "must have x-amz-sts"},
		{"names in upper case", auth("x-amz-date", "X-Amz-Date"), hash, fault.InvalidSignature, "lower case"},
		{"host in upper case", auth("host;", "Host;"), hash, fault.InvalidSignature, "must have host"},
		{"host not signed", auth("host;", ""), hash, fault.InvalidSignature, "must have host"},
		{"unknown key", auth(testKey, "AKIDOTHER"), hash, fault.UnrecognizedClient, "use a key of this one, such as 'muster admin keys create NAME --role ROLE' makes"},
		{"key of another", auth(testKey, "AKIDTOKEN"), hash, fault.UnrecognizedClient, "set AWS_SESSION_TOKEN to the one that came with the key"},
		{"region", auth("us-east-1", "us-east-2"), hash, fault.InvalidSignature, "does not match"},
		{"service", auth("/gamelift/", "/s3/"), hash, fault.InvalidSignature, "service must be gamelift"},
		{"scope date", auth("20261121/", "20261120/"), hash, fault.InvalidSignature, "its date"},
		{"scope end", auth("aws4_request", "aws5"), hash, fault.InvalidSignature, "aws4_request"},
		{"signature digits", auth("Signature=", "Signature=0"), hash, fault.InvalidSignature, "64"},
		{"date form", func(r *http.Request) { r.Header.Set("X-Amz-Date", "today") }, hash, fault.InvalidSignature, "X-Amz-Date"},
		{"token", func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "mine") }, hash, fault.InvalidSignature, "x-amz-security-token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := signed(t, plainKey(), testNow, "POST", "/", body)
			c.change(r)
			_, err := newVerifier("gamelift").Header(r, c.hash, testNow)
			if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %s with %q", err, c.kind, c.text)
			}
		})
	}
}

func TestHeader_Skew(t *testing.T) {
	for minutes, want := range map[int]bool{-6: false, -5: true, -4: true, 0: true, 4: true, 5: true, 6: false} {
		r := signed(t, plainKey(), testNow.Add(time.Duration(minutes)*time.Minute), "POST", "/", "{}")
		_, err := newVerifier("gamelift").Header(r, sigv4.HashPayload([]byte("{}")), testNow)
		if got := err == nil; got != want {
			t.Errorf("%d minutes: %v", minutes, err)
		}
	}
}

// A wrong session token and a wrong signature yield different errors, and so do one that is
// missing and one that is too many.
func TestHeader_WrongToken(t *testing.T) {
	for _, c := range []struct{ key, token, want string }{
		{"AKIDTOKEN", "another", "does not belong to the access key"},
		{"AKIDTOKEN", "", "set AWS_SESSION_TOKEN"},
		{testKey, "another", "unset AWS_SESSION_TOKEN"},
	} {
		creds := aws.Credentials{AccessKeyID: c.key, SecretAccessKey: testSecret, SessionToken: c.token}
		_, err := newVerifier("gamelift").Header(signed(t, creds, testNow, "POST", "/", ""), sigv4.HashPayload(nil), testNow)
		if !fault.Is(err, fault.UnrecognizedClient) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with token %q: %v, want %q", c.key, c.token, err, c.want)
		}
	}
}

// Headers that a content delivery network adds need not be signed.
func TestHeader_AddedOnTheWay(t *testing.T) {
	r := signed(t, plainKey(), testNow, "POST", "/", "")
	r.Header.Set("X-Amz-Cf-Id", "x")
	r.Header.Set("X-Amzn-Trace-Id", "Root=1")
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	if _, err := newVerifier("gamelift").Header(r, sigv4.HashPayload(nil), testNow); err != nil {
		t.Error(err)
	}
}

// Derived keys are cached by secret: a secret that is replaced under the same id stops
// working immediately.
func TestHeader_ReplacedSecret(t *testing.T) {
	secret := testSecret
	v := sigv4.New(sigv4.Options{Service: "gamelift", Lookup: func(string) (sigv4.Secret, bool) {
		return sigv4.Secret{Key: secret}, true
	}})
	verify := func() error {
		_, err := v.Header(signed(t, plainKey(), testNow, "POST", "/", ""), sigv4.HashPayload(nil), testNow)
		return err
	}
	for range 2 {
		if err := verify(); err != nil {
			t.Fatal(err)
		}
	}
	secret = "replaced"
	if err := verify(); !fault.Is(err, fault.InvalidSignature) {
		t.Errorf("after the secret was replaced: %v", err)
	}
}

// Requests that are verified at the same time, with keys that are cached, do not affect
// each other's result.
func TestHeader_Concurrent(t *testing.T) {
	v := newVerifier("gamelift")
	token := aws.Credentials{AccessKeyID: "AKIDTOKEN", SecretAccessKey: testSecret, SessionToken: "the token+/="}
	var verifying sync.WaitGroup
	for i := range 8 {
		creds := []aws.Credentials{plainKey(), token}[i%2]
		body := strings.Repeat("x", i*1000)
		good := signed(t, creds, testNow, "POST", "/", body)
		bad := signed(t, creds, testNow, "POST", "/", body+"y")
		verifying.Go(func() {
			for range 200 {
				if _, err := v.Header(good, sigv4.HashPayload([]byte(body)), testNow); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
				if _, err := v.Header(bad, sigv4.HashPayload([]byte(body)), testNow); !fault.Is(err, fault.InvalidSignature) {
					t.Errorf("request %d, of another body: %v", i, err)
				}
			}
		})
	}
	verifying.Wait()
}

// The example of the Amazon S3 API reference, "Authenticating Requests: Using
// Query Parameters".
func TestQuery_PublishedExample(t *testing.T) {
	r := httptest.NewRequest("GET", "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"+
		"&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z"+
		"&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"+
		"&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404", nil)
	r.Host = "examplebucket.s3.amazonaws.com"
	v := sigv4.New(sigv4.Options{Service: "s3", Lookup: func(string) (sigv4.Secret, bool) {
		return sigv4.Secret{Key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}, true
	}})
	start := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]bool{
		-6 * time.Minute: false, -5 * time.Minute: true, 0: true, 24 * time.Hour: true, 24*time.Hour + time.Second: false,
	} {
		if _, err := v.Query(r, sigv4.UnsignedPayload, start.Add(after)); (err == nil) != want {
			t.Errorf("%v after signing: %v", after, err)
		}
	}
}

func TestQuery_SignedByAWS(t *testing.T) {
	creds := aws.Credentials{AccessKeyID: "AKIDTOKEN", SecretAccessKey: testSecret, SessionToken: "the token+/="}
	for _, target := range []string{"/bucket/key.zip", "/bucket/a%20b/c%2Bd/%C3%A9", "/bucket/key?versionId=a%20b&acl"} {
		u, err := url.Parse("http://127.0.0.1:9080" + target)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("X-Amz-Expires", "900")
		u.RawQuery = q.Encode()
		r, _ := http.NewRequest("PUT", u.String(), nil)
		signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
		uri, _, err := signer.PresignHTTP(context.Background(), creds, r, sigv4.UnsignedPayload, "s3", "us-east-1", testNow)
		if err != nil {
			t.Fatal(err)
		}
		got := httptest.NewRequest("PUT", strings.TrimPrefix(uri, "http://127.0.0.1:9080"), nil)
		got.Host = "127.0.0.1:9080"
		if _, err := newVerifier("s3").Query(got, sigv4.UnsignedPayload, testNow.Add(14*time.Minute)); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		got.Method = "GET"
		if _, err := newVerifier("s3").Query(got, sigv4.UnsignedPayload, testNow); !fault.Is(err, fault.InvalidSignature) {
			t.Errorf("another method: %v", err)
		}
	}
}

func TestQuery_Refusals(t *testing.T) {
	const good = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE/20261121/us-east-1/s3/aws4_request" +
		"&X-Amz-Date=20261121T013911Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
	for name, query := range map[string]string{
		"wrong":        good,
		"no signature": strings.Replace(good, "X-Amz-Signature", "X", 1),
		"algorithm":    strings.Replace(good, "HMAC", "RSA", 1),
		"no expiry":    strings.Replace(good, "X-Amz-Expires=900&", "", 1),
		"long expiry":  strings.Replace(good, "900", "604801", 1),
		"no host":      strings.Replace(good, "=host", "=date", 1),
	} {
		_, err := newVerifier("s3").Query(httptest.NewRequest("GET", "/b/k?"+query, nil), sigv4.UnsignedPayload, testNow)
		if _, ok := fault.As(err); !ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
