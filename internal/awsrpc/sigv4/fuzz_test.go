package sigv4_test

import (
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/fault"
)

// A header is accepted only if it has the valid signature of the request, and every
// error is a fault.
func FuzzHeader(f *testing.F) {
	good := signed(f, plainKey(), testNow, "POST", "/", "{}")
	f.Add(good.Header.Get("Authorization"), "20261121T013911Z", "a=1&b=2", "/x")
	f.Add("AWS4-HMAC-SHA256 Credential=a/b/c/gamelift/aws4_request, SignedHeaders=host;;host, Signature=", "", "%zz&&==", "//%25")
	f.Fuzz(func(t *testing.T, authorization, date, query, path string) {
		r := httptest.NewRequest("POST", "/", nil)
		r.URL = &url.URL{Path: path, RawQuery: query}
		r.Header.Set("Authorization", authorization)
		r.Header.Set("X-Amz-Date", date)
		_, err := newVerifier("gamelift").Header(r, sigv4.HashPayload([]byte("{}")), testNow)
		if _, ok := fault.As(err); !ok {
			t.Fatalf("got %v: the good signature covers headers that are missing here", err)
		}
	})
}

func FuzzQuery(f *testing.F) {
	f.Add("X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE/20261121/us-east-1/s3/aws4_request" +
		"&X-Amz-Date=20261121T013911Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
	f.Add(gameServerURL().Encode())
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.RawQuery = query
		if _, err := newVerifier("s3").Query(r, sigv4.UnsignedPayload, testNow); err == nil {
			t.Fatalf("%q was accepted as a signed URL", query)
		}
		if _, err := newVerifier("gamelift").GameServer(r.URL.Query(), testNow, time.Hour); err == nil {
			t.Fatalf("%q was accepted from a game server", query)
		}
	})
}

func BenchmarkHeader(b *testing.B) {
	body := make([]byte, 640)
	r := signed(b, plainKey(), testNow, "POST", "/", string(body))
	v := newVerifier("gamelift")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Header(r, sigv4.HashPayload(body), testNow); err != nil {
			b.Fatal(err)
		}
	}
}
