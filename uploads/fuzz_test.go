package uploads

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzChunked reads arbitrary bytes in aws-chunked form: reading ends, yields no more
// bytes than were sent and the same however they arrive, and any error is the sender's.
func FuzzChunked(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\n\r\n"))
	f.Add([]byte("5;chunk-signature=ab\r\nhello\r\n0;chunk-signature=cd\r\nx-amz-checksum-crc32:AAAA\r\n\r\n"))
	f.Add([]byte("ffffffffffffffff\r\n"))
	f.Add([]byte("0\r\n"))
	f.Add([]byte("-1\r\nx"))
	f.Fuzz(func(t *testing.T, body []byte) {
		read := func(from io.Reader) (string, map[string]string, error) {
			trailers := map[string]string{}
			r := newChunkedReader(from, nil, true, func(name, value string) { trailers[name] = value })
			content, err := io.ReadAll(r)
			return string(content), trailers, err
		}
		content, trailers, err := read(bytes.NewReader(body))
		if len(content) > len(body) || len(trailers) > maxTrailers {
			t.Fatalf("%d bytes and %d trailers of %d bytes", len(content), len(trailers), len(body))
		}
		slow, again, slowErr := read(iotest.OneByteReader(bytes.NewReader(body)))
		if slow != content || fmt.Sprint(again) != fmt.Sprint(trailers) || (err == nil) != (slowErr == nil) {
			t.Fatalf("byte by byte: %q, %v, %v; at once: %q, %v, %v", slow, again, slowErr, content, trailers, err)
		}
		var refused s3Error
		if err != nil && (!errors.As(err, &refused) || refused.status >= 500) {
			t.Fatalf("refused with %v", err)
		}
	})
}

// FuzzRequest routes arbitrary request lines without a panic; a request that needs
// permissions is never taken for the upload of one object.
func FuzzRequest(f *testing.F) {
	f.Add("PUT", "/games/key?uploadId=x&partNumber=1", "x-amz-checksum-crc32")
	f.Add("GET", "/games?list-type=2&prefix=a", "")
	f.Add("POST", "/games/key?uploads", "a,b,,c")
	f.Add("DELETE", "//", "x-amz-checksum-")
	f.Fuzz(func(t *testing.T, method, target, trailer string) {
		r, err := http.NewRequest(method, target, nil)
		if err != nil || !strings.HasPrefix(target, "/") {
			return
		}
		r.Header["X-Amz-Trailer"] = []string{trailer}
		req := &request{Request: r, query: r.URL.Query()}
		req.bucket, req.key = split(r.URL.Path)
		op, err := route(req)
		if err == nil && op.serve == nil || op.audited == "" {
			t.Fatalf("%s %s: %+v (%v)", method, target, op, err)
		}
		if err == nil && op.action == bring && (req.key == "" || method == http.MethodGet && !r.URL.Query().Has("uploadId")) {
			t.Fatalf("%s %s is taken for the bringing of an object", method, target)
		}
		if sums, err := checksumsOf(r); err == nil && len(sums.sums) != len(sums.want) {
			t.Fatal("a checksum is wanted that nothing is written to")
		}
	})
}
