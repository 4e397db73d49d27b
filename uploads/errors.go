package uploads

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
)

// s3Error is an error of S3 (Amazon S3 API reference, "Error responses").
type s3Error struct {
	status  int
	code    string
	message string
}

// Error returns the code and the message.
func (e s3Error) Error() string { return e.code + ": " + e.message }

func errAccess(text string) error { return s3Error{http.StatusForbidden, "AccessDenied", text} }
func errArgument(text string) error {
	return s3Error{http.StatusBadRequest, "InvalidArgument", text}
}
func errMethod(method string) error {
	return s3Error{http.StatusMethodNotAllowed, "MethodNotAllowed", method + " is not allowed on this resource"}
}
func errNotImplemented(what string) error {
	return s3Error{http.StatusNotImplemented, "NotImplemented", what + " stands for something that Muster's store does not do"}
}

var (
	errNoKey     = s3Error{http.StatusNotFound, "NoSuchKey", "there is no such object"}
	errNoBucket  = s3Error{http.StatusNotFound, "NoSuchBucket", "there is no such bucket"}
	errNoUpload  = s3Error{http.StatusNotFound, "NoSuchUpload", "there is no such upload; it was completed or aborted, or ran out of time"}
	errNoLength  = s3Error{http.StatusLengthRequired, "MissingContentLength", "the length of the content must be told"}
	errDigest    = s3Error{http.StatusBadRequest, "BadDigest", "the content does not have the checksum that came with it"}
	errSHA256    = s3Error{http.StatusBadRequest, "XAmzContentSHA256Mismatch", "the content does not have the SHA-256 of x-amz-content-sha256"}
	errShort     = s3Error{http.StatusBadRequest, "IncompleteBody", "the content has fewer or more bytes than were told"}
	errSignature = s3Error{http.StatusForbidden, "SignatureDoesNotMatch", "the signature of a part of the content does not match"}
	errXML       = s3Error{http.StatusBadRequest, "MalformedXML", "the body is not the XML that was expected"}
)

// faults maps kinds of faults to errors of S3.
var faults = map[fault.Kind]s3Error{
	fault.AccessDenied:          {status: http.StatusForbidden, code: "AccessDenied"},
	fault.Conflict:              {status: http.StatusConflict, code: "OperationAborted"},
	fault.InvalidRequest:        {status: http.StatusBadRequest, code: "InvalidRequest"},
	fault.InvalidSignature:      {status: http.StatusForbidden, code: "SignatureDoesNotMatch"},
	fault.LimitExceeded:         {status: http.StatusInsufficientStorage, code: "InsufficientStorage"},
	fault.MissingAuthentication: {status: http.StatusForbidden, code: "AccessDenied"},
	fault.NotFound:              {status: http.StatusNotFound, code: "NoSuchKey"},
	fault.Throttling:            {status: http.StatusServiceUnavailable, code: "SlowDown"},
	fault.UnrecognizedClient:    {status: http.StatusForbidden, code: "InvalidAccessKeyId"},
}

// inS3 returns an error as one of S3; internal is true for errors that must only be
// logged.
func inS3(err error) (e s3Error, internal bool) {
	if e, ok := errors.AsType[s3Error](err); ok {
		return e, false
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errShort, false
	case errors.Is(err, os.ErrDeadlineExceeded):
		return s3Error{http.StatusBadRequest, "RequestTimeout", "nothing came for too long"}, false
	}
	if f, ok := fault.As(err); ok {
		if e, ok := faults[f.Kind]; ok {
			e.message = f.Message
			return e, false
		}
	}
	return s3Error{http.StatusInternalServerError, "InternalError", "something went wrong here; the server's log says what"}, true
}

// writeError responds with an error and returns its status.
func (s *Server) writeError(r *request, id string, err error) int {
	e, internal := inS3(err)
	switch {
	case internal && r.Context().Err() != nil:
		return e.status // the caller has disconnected
	case internal:
		s.Logger.Error("file request failed", "method", r.Method, "bucket", r.bucket, "key", r.key, "request_id", id, "error", err)
	}
	body := struct {
		XMLName   xml.Name `xml:"Error"`
		Code      string
		Message   string
		Resource  string
		RequestID string `xml:"RequestId"`
	}{Code: e.code, Message: e.message, Resource: r.URL.Path, RequestID: id}
	if r.ContentLength != 0 {
		r.w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	limit.Advise(r.w.Header(), err)
	writeXML(r, e.status, body)
	return e.status
}

// writeXML responds with a document.
func writeXML(r *request, status int, body any) {
	r.w.Header().Set("Content-Type", "application/xml")
	r.w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	r.w.Write([]byte(xml.Header))
	xml.NewEncoder(r.w).Encode(body)
}
