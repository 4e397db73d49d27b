package uploads

import (
	"net/http"

	"github.com/musterhq/muster/auth"
)

// action is the kind of permission that a request needs.
type action int

const (
	manage action = iota // buckets, lists, reading, deleting
	bring                // uploading the bytes of one object
)

// known are the parameters of the query that are supported: those that select another
// operation than the method alone, and those that modify one.
var known = map[string]bool{
	"uploads": true, "uploadId": true, "partNumber": true, "x-id": true,
	"list-type": true, "prefix": true, "delimiter": true, "max-keys": true, "continuation-token": true,
	"start-after": true, "marker": true, "encoding-type": true, "fetch-owner": true, "location": true,
	"max-parts": true, "part-number-marker": true,
	"X-Amz-Algorithm": true, "X-Amz-Credential": true, "X-Amz-Date": true, "X-Amz-Expires": true,
	"X-Amz-SignedHeaders": true, "X-Amz-Signature": true, "X-Amz-Security-Token": true,
	"X-Amz-Content-Sha256": true,
	// presigned URLs of AWS's newer SDKs have these:
	"x-amz-checksum-mode": true, "x-amz-sdk-checksum-algorithm": true, "x-amz-checksum-crc32": true,
}

// refusedHeaders request features that must not be ignored and are not supported.
var refusedHeaders = []string{
	"X-Amz-Copy-Source", "If-Match", "If-None-Match", "X-Amz-Server-Side-Encryption",
	"X-Amz-Server-Side-Encryption-Customer-Algorithm", "X-Amz-Object-Lock-Mode", "X-Amz-Website-Redirect-Location",
	"X-Amz-Tagging", "X-Amz-Write-Offset-Bytes",
}

// route returns the handler of a request and the action that it requires.
func route(r *request) (handler, action, error) {
	for name := range r.query {
		if !known[name] {
			return nil, 0, errNotImplemented("the parameter " + name)
		}
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		for _, name := range refusedHeaders {
			if r.Header.Get(name) != "" {
				return nil, 0, errNotImplemented("the header " + name)
			}
		}
	}
	do, what := operation(r)
	if do == nil {
		return nil, 0, errMethod(r.Method)
	}
	return do, what, nil
}

func operation(r *request) (handler, action) {
	has := func(name string) bool { _, ok := r.query[name]; return ok }
	switch {
	case r.bucket == "":
		return pick(r.Method, map[string]handler{http.MethodGet: (*Server).listBuckets}), manage
	case r.key == "" && has("location"):
		return pick(r.Method, map[string]handler{http.MethodGet: (*Server).bucketLocation}), manage
	case r.key == "":
		return pick(r.Method, map[string]handler{
			http.MethodGet: (*Server).listObjects, http.MethodHead: (*Server).headBucket,
			http.MethodPut: (*Server).createBucket, http.MethodDelete: (*Server).deleteBucket,
		}), manage
	case has("uploads"):
		return pick(r.Method, map[string]handler{http.MethodPost: (*Server).beginUpload}), bring
	case has("uploadId"):
		return pick(r.Method, map[string]handler{
			http.MethodPut: (*Server).putPart, http.MethodPost: (*Server).completeUpload,
			http.MethodDelete: (*Server).abortUpload, http.MethodGet: (*Server).listParts,
		}), bring
	case r.Method == http.MethodPut:
		return (*Server).putObject, bring
	}
	return pick(r.Method, map[string]handler{
		http.MethodGet: (*Server).getObject, http.MethodHead: (*Server).getObject, http.MethodDelete: (*Server).deleteObject,
	}), manage
}

func pick(method string, handlers map[string]handler) handler { return handlers[method] }

// actionOf returns the action of a request for the audit log, with S3's name.
func actionOf(r *request) auth.Action {
	switch {
	case r.Method == http.MethodGet && r.key != "" && !r.URL.Query().Has("uploadId"):
		return auth.GetObject
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return auth.ListObjects
	case r.Method == http.MethodPut && r.URL.Query().Has("partNumber"):
		return auth.UploadPart
	case r.Method == http.MethodDelete:
		return auth.DeleteObject
	}
	return auth.PutObject
}
