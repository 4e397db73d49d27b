package sigv4_test

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/fault"
)

// exampleVerifier returns a verifier with the key of the examples in the Amazon S3 API
// reference.
func exampleVerifier() *sigv4.Verifier {
	return sigv4.New(sigv4.Options{Service: "s3", Lookup: func(id string) (sigv4.Secret, bool) {
		return sigv4.Secret{Key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}, id == "AKIAIOSFODNN7EXAMPLE"
	}})
}

// The example of the Amazon S3 API reference, "Signature Calculations for the
// Authorization Header: Transferring Payload in Multiple Chunks".
func TestChunks_PublishedExample(t *testing.T) {
	r := httptest.NewRequest("PUT", "/examplebucket/chunkObject.txt", nil)
	r.Host = "s3.amazonaws.com"
	r.ContentLength = 66824
	for name, value := range map[string]string{
		"X-Amz-Date": "20130524T000000Z", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY",
		"X-Amz-Content-Sha256": sigv4.StreamingSigned, "Content-Encoding": "aws-chunked",
		"X-Amz-Decoded-Content-Length": "66560",
		"Authorization": "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request," +
			"SignedHeaders=content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class," +
			"Signature=4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
	} {
		r.Header.Set(name, value)
	}
	now := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	_, chunks, err := exampleVerifier().Stream(r, sigv4.StreamingSigned, now)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		data      string
		signature string
	}{
		{strings.Repeat("a", 65536), "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"},
		{strings.Repeat("a", 1024), "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"},
		{"", "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"},
	} {
		sum := sha256.Sum256([]byte(c.data))
		if !chunks.Chunk(sum[:], c.signature) {
			t.Errorf("chunk %d: its published signature is refused", i+1)
		}
	}
	sum := sha256.Sum256(nil)
	if chunks.Chunk(sum[:], "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9") {
		t.Error("a chunk repeated is accepted")
	}
}

func TestStream_Refusals(t *testing.T) {
	r := httptest.NewRequest("PUT", "/b/k", bytes.NewReader(nil))
	if _, _, err := exampleVerifier().Stream(r, sigv4.StreamingSigned, time.Now()); !fault.Is(err, fault.MissingAuthentication) {
		t.Errorf("no signature: %v", err)
	}
}

func TestPresign(t *testing.T) {
	now := time.Date(2026, 11, 21, 1, 39, 11, 0, time.UTC)
	for _, path := range []string{"/muster_logs/fleet-1/host/gsess-1.zip", "/b/a b/c+d/é%/~x", "/b/q?r#s"} {
		text, err := sigv4.Presign(sigv4.Grant{
			Method: "GET", Base: "http://127.0.0.1:9080", Path: path, AccessKeyID: "AKIAIOSFODNN7EXAMPLE",
			Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "us-east-1", Service: "s3", Life: 15 * time.Minute,
		}, now)
		if err != nil {
			t.Fatal(err)
		}
		verify := func(method, url string, at time.Time) error {
			sent, err := http.NewRequest(method, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := httptest.NewRequest(method, sent.URL.RequestURI(), nil)
			got.Host = sent.Host
			if got.URL.Path != path && !strings.Contains(url, "other") {
				t.Errorf("%s arrives as %s", path, got.URL.Path)
			}
			_, err = exampleVerifier().Query(got, sigv4.UnsignedPayload, at)
			return err
		}
		if err := verify("GET", text, now.Add(14*time.Minute)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := verify("GET", text, now.Add(16*time.Minute)); !fault.Is(err, fault.InvalidSignature) {
			t.Errorf("past its life: %v", err)
		}
		if err := verify("PUT", text, now); !fault.Is(err, fault.InvalidSignature) {
			t.Errorf("another method: %v", err)
		}
		if err := verify("GET", strings.Replace(text, "/b/", "/other/", 1), now); strings.Contains(path, "/b/") && !fault.Is(err, fault.InvalidSignature) {
			t.Errorf("another path: %v", err)
		}
	}
}
