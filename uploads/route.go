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

// operation is an operation of S3 that is served.
type operation struct {
	serve   handler
	action  action
	audited auth.Action // its name for the audit log
}

// selector is what selects an operation.
type selector struct {
	method    string
	target    target
	parameter string // of the query; "" if the operation needs none
}

// target is what the path of a request names.
type target int

const (
	toService target = iota
	toBucket
	toObject
)

var operations = map[selector]operation{
	{http.MethodGet, toService, ""}:           {(*Server).listBuckets, manage, auth.ListObjects},
	{http.MethodGet, toBucket, ""}:            {(*Server).listObjects, manage, auth.ListObjects},
	{http.MethodGet, toBucket, "location"}:    {(*Server).bucketLocation, manage, auth.ListObjects},
	{http.MethodHead, toBucket, ""}:           {(*Server).headBucket, manage, auth.ListObjects},
	{http.MethodPut, toBucket, ""}:            {(*Server).createBucket, manage, auth.PutObject},
	{http.MethodDelete, toBucket, ""}:         {(*Server).deleteBucket, manage, auth.DeleteObject},
	{http.MethodPut, toObject, ""}:            {(*Server).putObject, bring, auth.PutObject},
	{http.MethodGet, toObject, ""}:            {(*Server).getObject, manage, auth.GetObject},
	{http.MethodHead, toObject, ""}:           {(*Server).getObject, manage, auth.ListObjects},
	{http.MethodDelete, toObject, ""}:         {(*Server).deleteObject, manage, auth.DeleteObject},
	{http.MethodPost, toObject, "uploads"}:    {(*Server).beginUpload, bring, auth.PutObject},
	{http.MethodPut, toObject, "uploadId"}:    {(*Server).putPart, bring, auth.UploadPart},
	{http.MethodPost, toObject, "uploadId"}:   {(*Server).completeUpload, bring, auth.PutObject},
	{http.MethodDelete, toObject, "uploadId"}: {(*Server).abortUpload, bring, auth.DeleteObject},
	{http.MethodGet, toObject, "uploadId"}:    {(*Server).listParts, bring, auth.ListObjects},
}

// route returns the operation that a request selects, or an error if it selects none, or
// has a parameter or a header that is not supported. The result names the operation for
// the audit log in either case.
func route(r *request) (operation, error) {
	of := selector{r.Method, toObject, ""}
	switch {
	case r.bucket == "":
		of.target = toService
	case r.key == "":
		of.target = toBucket
		if r.query.Has("location") {
			of.parameter = "location"
		}
	case r.query.Has("uploads"):
		of.parameter = "uploads"
	case r.query.Has("uploadId"):
		of.parameter = "uploadId"
	}
	for name := range r.query {
		if !known[name] { // it may select another operation
			return operation{audited: auth.NoFileAction}, errNotImplemented("the parameter " + name)
		}
	}
	op, ok := operations[of]
	if !ok {
		return operation{audited: auth.NoFileAction}, errMethod(r.Method)
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		for _, name := range refusedHeaders {
			if r.Header.Get(name) != "" {
				return op, errNotImplemented("the header " + name)
			}
		}
	}
	return op, nil
}
