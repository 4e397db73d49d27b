package uploads

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/fault"
)

// receive stages a request's body and checks it against its length and all checksums in
// the request. The caller must settle the content.
func (s *Server) receive(r *request) (*object.Content, *checksums, error) {
	body, err := openBody(r)
	if err != nil {
		return nil, nil, err
	}
	if body.length > s.Objects.MaxSize() {
		return nil, nil, s3Error{http.StatusBadRequest, "EntityTooLarge", "at most " + strconv.FormatInt(s.Objects.MaxSize(), 10) + " bytes are allowed"}
	}
	content, err := s.Objects.Stage(body.reader, body.length, slices.Collect(maps.Values(body.sums.sums))...)
	if err != nil {
		return nil, nil, err
	}
	if err := body.check(r, content); err != nil {
		content.Settle(fault.Invalid("%v", err))
		return nil, nil, err
	}
	return content, body.sums, nil
}

// body is a request's body, without its encoding.
type body struct {
	reader io.Reader
	length int64
	sums   *checksums
	sha256 string // that the content must have; "" if none is given
}

func openBody(r *request) (*body, error) {
	sums, err := checksumsOf(r.Request)
	if err != nil {
		return nil, err
	}
	b := &body{reader: r.Body, length: r.ContentLength, sums: sums}
	switch payload := r.Header.Get("X-Amz-Content-Sha256"); {
	case payload == "" || payload == sigv4.UnsignedPayload:
	case strings.HasPrefix(payload, "STREAMING-"):
		if err := b.unwrap(r, payload); err != nil {
			return nil, err
		}
	default:
		if _, err := hex.DecodeString(payload); err != nil || len(payload) != 64 {
			return nil, errArgument("header x-amz-content-sha256: must be a SHA-256 in hexadecimal or one of its words")
		}
		b.sha256 = strings.ToLower(payload)
	}
	if b.length < 0 {
		return nil, errNoLength
	}
	return b, nil
}

// unwrap decodes a body in aws-chunked form.
func (b *body) unwrap(r *request, payload string) error {
	signed, trailers := r.caller.chunks, true
	switch payload {
	case sigv4.StreamingSigned:
		trailers = false
	case sigv4.StreamingSignedTrailer:
	case sigv4.StreamingUnsignedTrailer:
		signed = nil
	default:
		return errNotImplemented("the payload form " + payload)
	}
	length, err := strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
	if err != nil || length < 0 {
		return errNoLength
	}
	b.length = length
	b.reader = newChunkedReader(r.Body, signed, trailers, b.sums.trailer)
	return nil
}

// check compares staged content with its announced length and hashes.
func (b *body) check(r *request, content *object.Content) error {
	if content.Size != b.length {
		return errShort
	}
	if b.sha256 != "" && content.SHA256 != b.sha256 {
		return errSHA256
	}
	if want := r.Header.Get("Content-Md5"); want != "" {
		sum, _ := hex.DecodeString(content.MD5)
		if base64.StdEncoding.EncodeToString(sum) != want {
			return errDigest
		}
	}
	return b.sums.check()
}
